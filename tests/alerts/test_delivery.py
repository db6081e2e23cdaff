"""Reports of the carrier, in any order and as often as they like: statuses, money, and what is learned (cases, 1-5)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from accounts.models import Account, Holder
from alerts import delivery
from alerts.carriers.base import Report, Sent
from alerts.models import Alert, Attempt, CarrierEvent
from tests.alerts.rows import (
    ACKNOWLEDGE,
    ESCALATE,
    NOON,
    Step,
    attempts_of,
    first_of,
    make_alert,
    make_number,
    money_of,
)
from tests.carrier import FakeCarrier

pytestmark = pytest.mark.django_db
SID = f"SM{1:032x}"
CALL_SID = f"CA{1:032x}"
LATER = NOON + timedelta(seconds=5)


def start(account: Account, *steps: Step, carrier: FakeCarrier | None = None, **plan: Any) -> Alert:
    """An alert whose first attempt has been handed over at noon."""
    alert = make_alert(make_number(account), steps or (Step(0, "sms"),), **plan)
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=carrier or FakeCarrier())
    return alert


def hear(
    attempt: Attempt,
    status: str,
    at: datetime = LATER,
    *,
    sid: str | None = None,
    error: int | None = None,
    sip: int | None = None,
    sequence: int | None = None,
    duration_s: int | None = None,
) -> bool:
    """The carrier says this about the attempt."""
    report = Report(
        source="callback",
        sid=attempt.carrier_sid if sid is None else sid,
        status=status,
        error_code=error,
        sip_code=sip,
        sequence=sequence,
        duration_s=duration_s,
    )
    return delivery.record(str(attempt.ref), report, now=at)


def test_an_accepted_message_is_on_its_way_and_its_alert_is_sent(account: Account) -> None:
    alert = start(account)
    attempt = first_of(alert)
    alert.refresh_from_db()
    assert (attempt.status, attempt.carrier_sid, attempt.sent_at) == ("sending", SID, NOON)
    assert alert.status == "sent"
    assert money_of(account) == (1000, 7)


def test_case_01_older_reports_after_delivered_move_nothing_and_charge_once(account: Account) -> None:
    alert = start(account)
    for status in ("delivered", "sent", "queued"):
        hear(first_of(alert), status)
    attempt = first_of(alert)
    alert.refresh_from_db()
    assert (attempt.status, attempt.delivered_at, attempt.charged_cents) == ("delivered", LATER, 7)
    assert (alert.status, alert.ended_at) == ("delivered", LATER)
    assert money_of(account) == (993, 0)
    assert CarrierEvent.objects.filter(attempt=attempt, is_flagged=True).count() == 0


def test_case_02_a_delivery_heard_before_the_answer_stays_delivered_after_it(account: Account) -> None:
    def report_first(outgoing: object) -> Sent:
        attempt = Attempt.objects.get()
        assert hear(attempt, "delivered", NOON, sid=SID)
        return Sent(SID, "queued")

    alert = start(account, carrier=FakeCarrier(answers=[report_first]))
    attempt = first_of(alert)
    assert (attempt.status, attempt.carrier_sid, attempt.due_at) == ("delivered", SID, None)
    assert money_of(account) == (993, 0)


def test_case_03_a_repeated_report_is_taken_once(account: Account) -> None:
    alert = start(account)
    assert hear(first_of(alert), "sent")
    moved = [hear(first_of(alert), "delivered", LATER + timedelta(seconds=n)) for n in range(4)]
    assert moved == [True, False, False, False]
    events = CarrierEvent.objects.filter(attempt=first_of(alert), kind="callback")
    assert sorted(events.values_list("status", "moved")) == [("delivered", True), ("sent", True)]
    assert money_of(account) == (993, 0)


def test_case_04_read_before_delivered_stays_read_and_counts_as_delivered(account: Account) -> None:
    alert = start(account, Step(0, "whatsapp"))
    for status in ("sent", "read", "delivered"):
        hear(first_of(alert), status)
    attempt = first_of(alert)
    alert.refresh_from_db()
    assert (attempt.status, attempt.delivered_at, attempt.charged_cents) == ("read", LATER, 5)
    assert alert.status == "delivered"
    assert Holder.objects.get().whatsapp == "yes"


@pytest.mark.parametrize("status", ["scheduled", "partially_delivered", "accepted", "receiving", "foo", ""])
def test_case_05_unknown_words_are_only_recorded(account: Account, status: str) -> None:
    alert = start(account)
    before = Attempt.objects.values().get()
    assert hear(first_of(alert), status) is False
    assert Attempt.objects.values().get() == before
    assert CarrierEvent.objects.get(kind="callback").status == status


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [("canceled", None, "R15"), ("failed", 39999, "R15"), ("undelivered", 30003, "R01"), ("failed", 30036, "R14")],
)
def test_case_05_a_failure_is_read_by_its_code_and_released(
    account: Account, status: str, error: int | None, reason: str
) -> None:
    alert = start(account)
    hear(first_of(alert), status, error=error)
    attempt = first_of(alert)
    alert.refresh_from_db()
    assert (attempt.status, attempt.failure_code, attempt.failure_reason) == ("failed", "DELIVERY_FAILED", reason)
    assert (alert.status, alert.failure_code, alert.failure_reason) == ("failed", "DELIVERY_FAILED", reason)
    assert (attempt.settlement, money_of(account)) == ("released", (1000, 0))


def test_a_failure_after_a_delivery_is_flagged_and_moves_no_money(account: Account) -> None:
    alert = start(account)
    hear(first_of(alert), "delivered")
    assert hear(first_of(alert), "undelivered", error=30003) is False
    attempt = first_of(alert)
    assert (attempt.status, attempt.flagged_at, money_of(account)) == ("delivered", LATER, (993, 0))
    assert CarrierEvent.objects.get(status="undelivered").is_flagged


def test_a_delivery_after_a_failure_is_flagged_and_not_charged(account: Account) -> None:
    alert = start(account)
    hear(first_of(alert), "failed", error=30008)
    assert hear(first_of(alert), "delivered") is False
    attempt = first_of(alert)
    assert (attempt.status, attempt.flagged_at is None, money_of(account)) == ("failed", False, (1000, 0))


def test_a_report_with_another_id_is_flagged_and_moves_nothing(account: Account) -> None:
    alert = start(account)
    assert hear(first_of(alert), "delivered", sid=f"SM{99:032x}") is False
    attempt = first_of(alert)
    assert (attempt.status, attempt.carrier_sid) == ("sending", SID)
    assert CarrierEvent.objects.get(kind="callback").is_flagged


def test_a_report_about_nothing_of_ours_is_kept_and_flagged() -> None:
    report = Report(source="callback", sid=SID, status="delivered")
    for _ in range(2):
        assert delivery.record("00000000-0000-4000-8000-000000000000", report, now=NOON) is False
    event = CarrierEvent.objects.get()
    assert (event.attempt, event.is_flagged) == (None, True)


# --- calls


@pytest.mark.parametrize(
    ("report", "status", "reason", "charged", "settlement"),
    [
        ({"status": "no-answer"}, "no_answer", "", 4, "reduced"),
        ({"status": "busy"}, "busy", "R08", 4, "reduced"),
        ({"status": "failed", "sip": 480}, "no_answer", "", 4, "reduced"),
        ({"status": "failed", "sip": 404}, "failed", "R02", 0, "released"),
        ({"status": "failed", "sip": 503}, "failed", "R09", 0, "released"),
        ({"status": "canceled"}, "failed", "R15", 0, "released"),
        ({"status": "completed", "duration_s": 0}, "no_answer", "", 4, "reduced"),
        ({"status": "completed", "duration_s": 9}, "answered", "", 12, "charged"),
    ],
)
def test_case_13_how_a_call_ends(
    account: Account, report: dict[str, Any], status: str, reason: str, charged: int, settlement: str
) -> None:
    alert = start(account, Step(0, "call"))
    hear(first_of(alert), **report, sequence=3)
    attempt = first_of(alert)
    assert (attempt.status, attempt.failure_reason) == (status, reason)
    assert (attempt.charged_cents, attempt.settlement) == (charged, settlement)
    assert attempt.outcome == ("not_picked_up" if settlement == "reduced" else "")
    assert money_of(account) == (1000 - charged, 0)
    assert Holder.objects.get().live_call == ""


def test_case_13_completed_without_a_second_counts_as_answered_once_an_answer_was_seen(account: Account) -> None:
    alert = start(account, Step(0, "call"))
    delivery.record(str(first_of(alert).ref), Report(source="voice", sid=CALL_SID, status="in-progress"), now=NOON)
    hear(first_of(alert), "completed", duration_s=0, sequence=3)
    attempt = first_of(alert)
    assert (attempt.status, attempt.answered_at, attempt.ended_at) == ("answered", NOON, LATER)
    assert money_of(account) == (988, 0)


def test_a_direct_call_nobody_picks_up_fails_without_a_reason(account: Account) -> None:
    alert = start(account, Step(0, "call"))
    hear(first_of(alert), "no-answer", sequence=2)
    alert.refresh_from_db()
    assert (alert.status, alert.failure_code, alert.failure_reason) == ("failed", "NOT_ANSWERED", "")


@pytest.mark.parametrize("first", ["initiated", "ringing"])
@pytest.mark.parametrize(
    ("word", "status", "charged"), [("completed", "answered", 12), ("busy", "busy", 4), ("no-answer", "no_answer", 4)]
)
def test_the_end_of_a_call_counts_even_when_its_sequence_number_comes_late(
    account: Account, first: str, word: str, status: str, charged: int
) -> None:
    alert = start(account, Step(0, "call"))
    hear(first_of(alert), first, sequence=3)
    hear(first_of(alert), word, sequence=2, duration_s=8 if word == "completed" else None)
    attempt = first_of(alert)
    assert (attempt.status, attempt.charged_cents, attempt.due_at) == (status, charged, None)
    assert money_of(account)[1] == 0


def test_case_14_call_events_backwards_read_as_answered_and_charge_once(account: Account) -> None:
    alert = start(account, Step(0, "call"))
    for status, sequence in (("completed", 3), ("in-progress", 2), ("ringing", 1), ("initiated", 0)):
        hear(first_of(alert), status, sequence=sequence, duration_s=8 if sequence == 3 else None)
    attempt = first_of(alert)
    assert (attempt.status, attempt.last_sequence, attempt.charged_cents) == ("answered", 3, 12)
    assert CarrierEvent.objects.filter(is_flagged=True).count() == 0
    assert money_of(account) == (988, 0)


# --- SMS without receipts, deadlines


def test_an_sms_without_a_receipt_counts_after_ten_minutes(account: Account) -> None:
    alert = start(account)
    hear(first_of(alert), "sent")
    carrier = FakeCarrier(has={SID: Report(source="asked", sid=SID, status="sent")})
    soon, due = LATER + timedelta(seconds=599), LATER + timedelta(minutes=10)
    assert delivery.send_attempt(first_of(alert).pk, soon, carrier=carrier) is False
    assert delivery.send_attempt(first_of(alert).pk, due, carrier=carrier) is True
    attempt = first_of(alert)
    alert.refresh_from_db()
    assert (attempt.status, attempt.delivered_at, attempt.charged_cents) == ("delivered_unconfirmed", None, 7)
    assert (alert.status, money_of(account)) == ("delivered", (993, 0))
    assert carrier.asked == [f"fetch {SID}"]


@pytest.mark.parametrize(("hours", "balance", "status"), [(72, 1000, "failed"), (73, 993, "delivered_unconfirmed")])
def test_a_failure_within_72_hours_gives_the_money_back(
    account: Account, hours: int, balance: int, status: str
) -> None:
    alert = start(account)
    hear(first_of(alert), "sent")
    counted = LATER + timedelta(minutes=10)
    delivery.send_attempt(first_of(alert).pk, counted, carrier=FakeCarrier())
    hear(first_of(alert), "undelivered", counted + timedelta(hours=hours), error=30003)
    attempt = first_of(alert)
    assert (attempt.status, attempt.charged_cents) == (status, 1000 - balance)
    assert money_of(account) == (balance, 0)


def test_a_message_not_delivered_by_the_deadline_fails_and_a_late_delivery_is_not_charged(account: Account) -> None:
    alert = start(account, Step(0, "whatsapp"))
    hear(first_of(alert), "sent")
    carrier = FakeCarrier(has={SID: Report(source="asked", sid=SID, status="sent")})
    delivery.send_attempt(first_of(alert).pk, alert.expires_at, carrier=carrier)
    attempt = first_of(alert)
    alert.refresh_from_db()
    assert (attempt.status, attempt.failure_reason, attempt.settlement) == ("failed", "R14", "released")
    assert (alert.status, alert.failure_reason) == ("failed", "R14")
    hear(attempt, "delivered", alert.expires_at + timedelta(hours=1))
    attempt = first_of(alert)
    assert (attempt.status, attempt.flagged_at, money_of(account)) == ("failed", None, (1000, 0))
    assert CarrierEvent.objects.get(status="delivered").moved is False


def test_a_lost_delivery_report_is_found_by_asking(account: Account) -> None:
    alert = start(account, Step(0, "whatsapp"))
    due = first_of(alert).due_at
    assert due == NOON + timedelta(seconds=30)
    carrier = FakeCarrier(has={SID: Report(source="asked", sid=SID, status="delivered")})
    delivery.send_attempt(first_of(alert).pk, due, carrier=carrier)
    alert.refresh_from_db()
    assert (first_of(alert).status, alert.status, money_of(account)) == ("delivered", "delivered", (995, 0))


def test_questions_get_rarer_and_end_at_the_deadline(account: Account) -> None:
    alert = start(account, Step(0, "whatsapp"))
    carrier = FakeCarrier(has={SID: Report(source="asked", sid=SID, status="sent")})
    asked_after_s = []
    while (due := first_of(alert).due_at) is not None:
        asked_after_s.append(int((due - NOON).total_seconds()))
        delivery.send_attempt(first_of(alert).pk, due, carrier=carrier)
    assert asked_after_s == [30, 60, 120, 240, 480, 960, 1860, 2760, 3660, 4500]
    assert first_of(alert).failure_reason == "R14"


# --- what is learned, and what follows


def test_a_number_not_on_whatsapp_gets_one_sms_and_is_remembered(account: Account) -> None:
    alert = start(account, Step(0, "whatsapp"), workflow_key="inform", has_sms_fallback=True, max_attempts=2)
    hear(first_of(alert), "undelivered", error=63024)
    failed, fallback = attempts_of(alert)
    assert (failed.status, failed.failure_reason, failed.settlement) == ("failed", "R04", "released")
    assert (fallback.kind, fallback.channel, fallback.status, fallback.due_at) == (
        "fallback",
        "sms",
        "scheduled",
        LATER,
    )
    assert (fallback.seq, fallback.price_cents, fallback.held_at) == (2, 7, None)
    assert Holder.objects.get().whatsapp == "no"
    carrier = FakeCarrier()
    delivery.send_attempt(fallback.pk, LATER, carrier=carrier)
    assert [one.channel for one in carrier.requests] == ["sms"]
    assert money_of(account) == (1000, 7)


def test_no_fallback_for_a_text_that_does_not_fit(account: Account) -> None:
    alert = start(
        account, Step(0, "whatsapp"), workflow_key="inform", has_sms_fallback=True, max_attempts=2, message="é" * 99
    )
    hear(first_of(alert), "failed", error=63024)
    alert.refresh_from_db()
    assert [one.status for one in attempts_of(alert)] == ["failed"]
    assert (alert.status, alert.failure_reason) == ("failed", "R04")


def test_a_block_on_whatsapp_pauses_it_for_the_number_alone(account: Account) -> None:
    alert = start(account, Step(0, "whatsapp"), workflow_key="inform", has_sms_fallback=True, max_attempts=2)
    hear(first_of(alert), "failed", error=63033)
    holder = Holder.objects.get()
    assert (holder.whatsapp_paused_at, holder.opted_out_at) == (LATER, None)
    assert [one.kind for one in attempts_of(alert)] == ["message", "fallback"]


def test_an_invalid_number_is_flagged_for_staff(account: Account) -> None:
    alert = start(account)
    hear(first_of(alert), "failed", error=30005)
    assert Holder.objects.get().flagged_at == LATER
    assert first_of(alert).failure_reason == "R02"


def test_a_text_blocked_as_spam_is_charged_when_the_alert_says_so(account: Account) -> None:
    alert = start(account)
    Alert.objects.filter(pk=alert.pk).update(charges_spam_blocks=True)
    hear(first_of(alert), "undelivered", error=30007)
    attempt = first_of(alert)
    assert (attempt.status, attempt.failure_reason, attempt.settlement) == ("failed", "R06", "charged")
    assert money_of(account) == (993, 0)


def test_a_delivered_step_waits_for_the_acknowledgement_and_later_steps_stay(account: Account) -> None:
    alert = start(account, *ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40)
    hear(first_of(alert), "delivered")
    alert.refresh_from_db()
    assert (alert.status, alert.ended_at) == ("delivered", None)
    assert [one.status for one in attempts_of(alert)] == ["delivered", "scheduled", "scheduled"]


def test_the_first_delivery_ends_an_alert_that_asks_for_nothing(account: Account) -> None:
    alert = start(account, *ESCALATE, workflow_key="escalate", requires_ack=False, deadline_min=12)
    hear(first_of(alert), "delivered")
    alert.refresh_from_db()
    assert (alert.status, alert.ended_at) == ("delivered", LATER)
    assert [(one.status, one.failure_code) for one in attempts_of(alert)[1:]] == [("skipped", "SUPERSEDED")] * 3
    assert money_of(account) == (995, 0)


def test_the_deadline_expires_what_was_delivered_and_not_acknowledged(account: Account) -> None:
    alert = start(account, *ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40)
    hear(first_of(alert), "delivered")
    assert delivery.expire(alert.pk, alert.expires_at - timedelta(seconds=1)) is False
    assert delivery.expire(alert.pk, alert.expires_at) is True
    assert delivery.expire(alert.pk, alert.expires_at) is False
    alert.refresh_from_db()
    assert (alert.status, alert.failure_code) == ("expired", "")
    assert [(one.status, one.failure_code) for one in attempts_of(alert)[1:]] == [("skipped", "DEADLINE_PASSED")] * 2


def test_the_same_report_twice_has_one_fingerprint_and_news_another() -> None:
    report = Report(source="callback", sid=SID, status="sent")
    assert report.fingerprint("a") == replace(report, source="asked").fingerprint("a")
    assert len({report.fingerprint("a"), report.fingerprint("b"), replace(report, status="read").fingerprint("a")}) == 3
