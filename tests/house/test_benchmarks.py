"""The benchmark measures what it says: it runs, every request does its work, and its plain SQL writes the same rows."""

import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from accounts.models import Account, Connection, LedgerEntry
from alerts.models import Alert, Attempt, IdempotencyKey
from benchmarks import plain_sql
from benchmarks.samples import Row, Sample, table
from benchmarks.seeding import Agent
from tests.factories import NOW, AccountFactory

QUERIES = {
    "bare SDK, no-op": None,
    "get_alert_status": 3,
    "get_setup_status": 6,
    "start_workflow inform": 14,
    "start_workflow escalate": 14,
    "its writes as SQL, inform": None,
    "its writes as SQL, escalate": None,
}


@pytest.mark.slow
def test_a_short_run_prints_a_row_for_everything_and_no_request_fails() -> None:
    command = [sys.executable, "-m", "benchmarks", "--seconds", "0.3", "--rounds", "1", "--clients", "4"]
    run = subprocess.run(
        [*command, "--accounts", "4"], cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    rows = {line[:32].strip(): line[32:].split() for line in run.stdout.splitlines()[3:]}
    assert list(rows) == list(QUERIES)
    for label, (per_s, _, _, failed, *rest) in rows.items():
        assert int(per_s) > 0, label
        assert failed == "0", label
        if QUERIES[label] is not None:
            assert rest[0] == str(QUERIES[label]), label


@pytest.mark.django_db
def test_plain_sql_writes_the_rows_of_the_call_again_for_the_same_account(load_rates: None) -> None:
    account = AccountFactory(number="+12025550143", balance_cents=10_000)
    link = Connection.objects.create(account=account, client_id="bench", name="Bench", created_at=NOW)
    plain_sql.number_apart()
    recorded = plain_sql.record(Agent(account.pk, link.pk, "unused"), "escalate")
    reserved_cents = Account.objects.get().reserved_cents
    assert reserved_cents > 0
    for _ in range(2):
        with connection.cursor() as cursor:
            plain_sql.play(cursor, recorded)
    assert rows_of(account) == {Alert: 3, Attempt: 12, IdempotencyKey: 3}
    assert [alert.attempts.count() for alert in Alert.objects.all()] == [4, 4, 4]
    assert Account.objects.get().reserved_cents == 3 * reserved_cents
    refs = {attempt.ledger_ref for attempt in Attempt.objects.filter(held_at__isnull=False)}
    assert set(LedgerEntry.objects.filter(kind="hold").values_list("ref", flat=True)) == refs
    assert len(refs) == 6


def rows_of(account: Account) -> dict[Any, int]:
    """How many rows of each kind the account has."""
    return {model: model.objects.filter(account=account).count() for model in (Alert, Attempt, IdempotencyKey)}


def test_percentiles_and_parts_are_exact() -> None:
    ours = Sample([number / 1000 for number in range(100, 0, -1)], 10.0, failed=2)
    whole = Sample([0.001] * 400, 10.0)
    assert (ours.per_s, ours.percentile_ms(0.5), ours.percentile_ms(0.99)) == (10.0, 50.0, 99.0)
    _, line = table([Row("ours", ours, sql=whole, queries=14)], whole)
    assert line.split() == ["ours", "10", "50.0", "99.0", "2", "14", "0.250", "0.250"]
    whole.add(Sample([0.002] * 200, 5.0, failed=1))
    assert (whole.per_s, whole.failed) == (40.0, 1)
