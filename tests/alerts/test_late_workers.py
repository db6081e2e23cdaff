"""A worker that stops in the middle: what it left is finished by others, and what it held it sends no more."""

from datetime import datetime, timedelta

import pytest

from accounts.models import Account, Letter, Number
from alerts import delivery, outbox
from alerts.carriers.base import Refused, Report, Throttled
from alerts.claiming import claim
from alerts.models import Alert
from tests.alerts.rows import NOON, Step, attempts_of, first_of, make_account, make_alert, make_number, money_of
from tests.carrier import FakeCarrier

pytestmark = pytest.mark.django_db
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
STOPPED = Refused(21610, 400)


def wake_up_at(moment: datetime, attempt_pk: int, carrier: FakeCarrier) -> None:
    """Claim at noon, and come to the request only then."""
    outgoing = claim(attempt_pk, NOON)
    assert outgoing is not None
    outbox.sweep(moment, carrier=carrier)
    delivery.send(outgoing, carrier=carrier, clock=lambda: moment)


def test_a_worker_that_slept_for_a_minute_leaves_the_sending_to_others(account: Account, number: Number) -> None:
    alert, carrier = make_alert(number), FakeCarrier()
    wake_up_at(NOON + 61 * SECOND, first_of(alert).pk, carrier)
    assert (carrier.requests, first_of(alert).status) == ([], "scheduled")
    outbox.sweep(NOON + 62 * SECOND, carrier=carrier)
    assert [one.ref for one in carrier.requests] == [str(first_of(alert).ref)]
    assert money_of(account) == (1000, 7)


def test_what_was_given_up_is_not_sent_by_whoever_wakes_up(account: Account, number: Number) -> None:
    alert, carrier = make_alert(number), FakeCarrier()
    wake_up_at(NOON + 3 * MINUTE, first_of(alert).pk, carrier)
    alert.refresh_from_db()
    assert (carrier.requests, first_of(alert).status, alert.status) == ([], "failed", "failed")
    assert money_of(account) == (1000, 0)


def test_a_call_that_was_slept_over_goes_later_and_the_line_is_free_for_it(number: Number) -> None:
    alert, carrier = make_alert(number, [Step(0, "call")]), FakeCarrier()
    wake_up_at(NOON + 61 * SECOND, first_of(alert).pk, carrier)
    number.holder.refresh_from_db()
    assert (number.holder.live_call, carrier.requests) == ("", [])
    outbox.sweep(NOON + 62 * SECOND, carrier=carrier)
    assert len(carrier.requests) == 1


def test_a_carrier_that_is_busy_for_hours_is_not_asked_every_second(account: Account, number: Number) -> None:
    alert = make_alert(number, deadline_min=60)
    carrier = FakeCarrier(answers=[Throttled(1) for _ in range(2000)])
    waits = []
    for _ in range(9):
        at = first_of(alert).due_at or NOON
        outbox.sweep(at, carrier=carrier)
        waits.append((first_of(alert).due_at or NOON) - at)
    assert [wait.total_seconds() for wait in waits] == [2, 2, 4, 8, 16, 32, 60, 60, 60]
    outbox.sweep(alert.expires_at, carrier=carrier)
    alert.refresh_from_db()
    assert (alert.status, alert.failure_code, len(carrier.requests)) == ("failed", "DEADLINE_PASSED", 9)
    assert money_of(account) == (1000, 0)


def break_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next stop dies before it has done anything."""

    def die(*args: object, **kwargs: object) -> bool:
        raise SystemExit

    monkeypatch.setattr(delivery, "opt_out", die)


def two_alerts(number: Number) -> tuple[Alert, Alert]:
    """One here, and one of another account to the same number with a step to come."""
    here = make_alert(number, [Step(0, "sms"), Step(5, "sms")], workflow_key="inform")
    there = make_alert(make_number(make_account()), [Step(9, "sms")], workflow_key="inform")
    return here, there


@pytest.mark.parametrize("how", ["answer", "callback"])
def test_a_stop_that_the_carrier_told_of_is_finished_though_the_worker_died(
    account: Account, number: Number, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    here, there = two_alerts(number)
    attempt, carrier = first_of(here), FakeCarrier(answers=[STOPPED] if how == "answer" else [])
    report = Report(source="callback", sid=f"SM{1:032x}", status="undelivered", error_code=21610)

    def hear() -> None:
        delivery.send_attempt(attempt.pk, NOON, carrier=carrier)
        delivery.record(str(attempt.ref), report, now=NOON)

    with monkeypatch.context() as patched:
        break_off(patched)
        with pytest.raises(SystemExit):
            hear()
    for alert in (here, there):
        alert.refresh_from_db()
        assert alert.ended_at is None
    outbox.sweep(NOON + 30 * SECOND, carrier=carrier)
    for alert in (here, there):
        alert.refresh_from_db()
        assert (alert.status, alert.failure_code) == ("failed", "RECIPIENT_OPTED_OUT")
    number.holder.refresh_from_db()
    assert (number.holder.opted_out_at, number.holder.opted_out_via) == (NOON + 30 * SECOND, "carrier")
    assert Letter.objects.filter(account=account, kind="opted_out").count() == 1
    assert [one.due_at for alert in (here, there) for one in attempts_of(alert)] == [None, None, None]
    assert (len(carrier.requests), money_of(account)) == (1, (1000, 0))


def test_a_stop_that_was_done_leaves_nothing_due(number: Number) -> None:
    here, _ = two_alerts(number)
    carrier = FakeCarrier(answers=[STOPPED])
    delivery.send_attempt(first_of(here).pk, NOON, carrier=carrier)
    assert [(one.status, one.due_at) for one in attempts_of(here)] == [("failed", None), ("skipped", None)]
    assert outbox.due_ids(NOON + MINUTE) == []
    assert Letter.objects.filter(kind="opted_out").count() == 2
