"""Real threads, real commits: many workers over one queue, and whatever may race the end of an alert."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.locking import locked
from accounts.models import Account, Holder, LedgerEntry
from alerts import acks, closing, delivery, outbox
from alerts.carriers.base import Report, Sent
from alerts.claiming import claim
from alerts.models import Alert, Attempt, CarrierEvent
from alerts.waking import wake
from tests.alerts.rows import (
    ACKNOWLEDGE,
    NOON,
    Step,
    attempts_of,
    first_of,
    make_account,
    make_alert,
    make_number,
    make_rates,
    money_of,
)
from tests.carrier import FakeCarrier

pytestmark = pytest.mark.django_db(transaction=True)
LATER = NOON + timedelta(seconds=30)


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """What each action gave, all started together, each with a connection of its own. Any error fails the test."""
    barrier = Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        try:
            barrier.wait(timeout=20)
            return action()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


@pytest.fixture
def account() -> Account:
    make_rates()
    return make_account(balance_cents=10_000)


def test_eight_workers_over_fifty_due_attempts_send_each_once(account: Account) -> None:
    other = make_account(balance_cents=10_000)
    numbers = [make_number(account), make_number(other, "+12025550144", name="Bo")]
    for index in range(50):
        make_alert(numbers[index % 2])
    carrier = FakeCarrier()

    def work() -> int:
        return outbox.sweep(NOON, carrier=carrier).failed

    assert at_once(*[work] * 8) == [0] * 8
    sent = Counter(outgoing.ref for outgoing in carrier.requests)
    assert sent == {str(ref): 1 for ref in Attempt.objects.values_list("ref", flat=True)}
    assert set(Attempt.objects.values_list("status", "tries")) == {("sending", 1)}
    assert (money_of(account), money_of(other)) == ((10_000, 175), (10_000, 175))


def test_case_10_one_step_claimed_by_eight_at_once_goes_to_one(account: Account) -> None:
    alert = make_alert(make_number(account))
    claimed = at_once(*[lambda: claim(first_of(alert).pk, NOON)] * 8)
    assert len([outgoing for outgoing in claimed if outgoing is not None]) == 1
    assert first_of(alert).tries == 1


def test_case_11_a_worker_that_starts_before_the_commit_sends_after_it(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    nudged: list[tuple[str, tuple[int | str, ...]]] = []
    monkeypatch.setattr("breakpass.nudge._post", lambda task, args: nudged.append((task, args)))
    number, carrier = make_number(account), FakeCarrier()
    with transaction.atomic():
        attempt = first_of(make_alert(number))
        wake([attempt.pk])
        assert at_once(lambda: delivery.send_attempt(attempt.pk, NOON, carrier=carrier)) == [False]
        assert nudged == []
    assert nudged == [("alerts.send_attempt", (attempt.pk,))]
    delivery.send_attempt(attempt.pk, NOON, carrier=carrier)
    assert [outgoing.ref for outgoing in carrier.requests] == [str(attempt.ref)]


def test_case_11_a_request_that_was_rolled_back_sends_nothing(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    nudged: list[Any] = []
    monkeypatch.setattr("breakpass.nudge._post", lambda task, args: nudged.append(args))
    number, carrier = make_number(account), FakeCarrier()

    def ask_and_fail() -> None:
        with transaction.atomic():
            wake([first_of(make_alert(number)).pk])
            raise RuntimeError("undone")

    with pytest.raises(RuntimeError, match="undone"):
        ask_and_fail()
    outbox.sweep(NOON, carrier=carrier)
    assert (nudged, carrier.requests) == ([], [])
    assert money_of(account) == (10_000, 0)


def test_one_report_eight_times_at_once_is_taken_once(account: Account) -> None:
    alert = make_alert(make_number(account))
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier())
    ref = str(first_of(alert).ref)
    report = Report(source="callback", sid=f"SM{1:032x}", status="delivered")
    moved = at_once(*[lambda: delivery.record(ref, report, now=LATER)] * 8)
    assert Counter(moved) == {True: 1, False: 7}
    assert CarrierEvent.objects.filter(kind="callback").count() == 1
    assert LedgerEntry.objects.filter(kind="capture").count() == 1
    assert money_of(account) == (9_993, 0)


def test_an_acknowledgement_a_cancel_a_stop_a_deadline_and_a_report_leave_one_end(account: Account) -> None:
    for _ in range(5):
        number = make_number(account, f"+1202555{1000 + Holder.objects.count()}", name="Cy")
        alert = make_alert(number, ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40)
        delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier(finds=[]))
        sid, ref = first_of(alert).carrier_sid, str(first_of(alert).ref)
        Attempt.objects.filter(alert=alert).update(carrier_sid="")
        deadline = alert.expires_at

        def cancel(alert: Alert = alert) -> bool:
            with locked(alert.account_id) as row:
                mine = Alert.objects.get(pk=alert.pk)
                return closing.close(row, mine, to="cancelled", now=LATER, cancelled_at=LATER, cancelled_by="agent")

        def press(alert: Alert = alert) -> str:
            return acks.acknowledge(Alert.objects.get(pk=alert.pk), via="portal", now=LATER)

        def hear(ref: str = ref, sid: str = f"{sid}{number.pk}") -> bool:
            return delivery.record(ref, Report(source="callback", sid=sid, status="delivered"), now=LATER)

        def stop(holder_id: int = number.holder_id) -> None:
            acks.opt_out(holder_id, via="sms", now=LATER)

        def expire(alert: Alert = alert, at: Any = deadline) -> bool:
            return delivery.expire(alert.pk, at)

        at_once(cancel, press, hear, stop, expire)
        alert.refresh_from_db()
        assert alert.status in {"cancelled", "acknowledged", "failed", "expired"}
        assert [one.status for one in attempts_of(alert)[1:]] == ["skipped", "skipped"]
        assert first_of(alert).status in {"delivered", "failed"}
    account.refresh_from_db()
    charged = sum(Attempt.objects.values_list("charged_cents", flat=True))
    assert (account.balance_cents, account.reserved_cents) == (10_000 - charged, 0)
    holds = LedgerEntry.objects.filter(kind="hold")
    assert holds.filter(settlement=None).count() == 0


def test_a_stop_across_accounts_and_claims_on_them_never_wait_for_each_other(account: Account) -> None:
    accounts = [account, *(make_account() for _ in range(3))]
    alerts = []
    for each in accounts:
        number = make_number(each)
        alerts += [make_alert(number, [Step(0, "call")]) for _ in range(3)]
    carrier = FakeCarrier()

    def work() -> int:
        return outbox.sweep(NOON, carrier=carrier).failed

    def stop() -> int:
        acks.opt_out(alerts[0].holder_id, via="sms", now=LATER)
        return 0

    assert at_once(work, work, stop, work, stop, work) == [0] * 6
    # One live call at a time, so at most one went before the stop.
    assert len(carrier.requests) <= 1
    left = Alert.objects.filter(ended_at=None)
    assert all(first_of(alert).status in {"sending"} for alert in left)
    assert set(Attempt.objects.values_list("status", flat=True)) <= {"skipped", "sending"}


def test_a_report_that_meets_its_own_answer_waits_for_it_and_both_count(account: Account) -> None:
    alert = make_alert(make_number(account))
    heard, ref, sid = Event(), str(first_of(alert).ref), f"SM{1:032x}"

    def hear() -> None:
        try:
            delivery.record(ref, Report(source="callback", sid=sid, status="delivered"), now=LATER)
            heard.set()
        finally:
            connection.close()

    def answer(outgoing: Any) -> Any:
        Thread(target=hear).start()
        assert heard.wait(timeout=20)
        return Sent(sid, "queued")

    delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier(answers=[answer]))
    assert (first_of(alert).status, money_of(account)) == ("delivered", (9_993, 0))
