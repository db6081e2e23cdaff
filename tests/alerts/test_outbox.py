"""What is due, who gets to send it, what is in the way, and the sweep that makes sure (cases, 8-12)."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Account, Holder, Number, Pause
from alerts import delivery, outbox
from alerts.carriers.base import Outgoing, Refused, Report, Sent, Throttled, Unknown, Unreachable
from alerts.claiming import claim
from alerts.models import Alert, Attempt, CarrierCall
from tests.alerts.rows import (
    ESCALATE,
    NOON,
    OWNER,
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

pytestmark = pytest.mark.django_db
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def skipped(alert: Alert) -> list[tuple[str, str]]:
    return [(one.status, one.failure_code) for one in attempts_of(alert)]


# --- the claim


def test_a_claim_commits_the_attempt_as_sending_and_gives_its_request(number: Number) -> None:
    alert = make_alert(number, [Step(0, "sms")], requires_ack=True, deadline_min=60)
    outgoing = claim(first_of(alert).pk, NOON)
    attempt = first_of(alert)
    assert (attempt.status, attempt.claimed_at, attempt.tries) == ("sending", NOON, 1)
    assert attempt.due_at == NOON + timedelta(seconds=30)
    assert outgoing is not None
    assert outgoing.text == (
        f"Checkout is failing. http://127.0.0.1:8000/a/{alert.ack_token}\n\n"
        "This is an automated BreakPass alert. Reply STOP to opt out."
    )
    assert (outgoing.to, outgoing.sender, outgoing.validity_s) == (OWNER, "us_ca", 3600)
    assert outgoing.status_url == f"http://127.0.0.1:8000/webhooks/twilio/status/{attempt.ref}#rc=3&rp=all"


def test_a_request_shows_no_digits_and_no_words(number: Number) -> None:
    alert = make_alert(number)
    shown = repr(claim(first_of(alert).pk, NOON))
    assert OWNER not in shown
    assert "Checkout" not in shown


def test_whatsapp_goes_by_template_with_the_alerts_own_token(number: Number) -> None:
    alert = make_alert(number, [Step(0, "whatsapp")], requires_ack=True)
    outgoing = claim(first_of(alert).pk, NOON)
    assert outgoing is not None
    assert (outgoing.template, outgoing.text) == ("alert_ack", "")
    assert outgoing.variables == {"1": "Checkout monitor", "2": "Checkout is failing.", "3": alert.ack_token}


def test_a_workflow_call_rings_25_seconds_and_takes_the_line(number: Number) -> None:
    alert = make_alert(number, [Step(0, "call")], workflow_key="escalate")
    outgoing = claim(first_of(alert).pk, NOON)
    holder = Holder.objects.get()
    assert outgoing is not None
    assert (outgoing.ring_s, outgoing.limit_s) == (25, 55)
    assert (holder.live_call, holder.live_call_until) == (str(first_of(alert).ref), NOON + timedelta(seconds=95))


def test_what_is_not_due_is_not_claimed(number: Number) -> None:
    alert = make_alert(number, [Step(0, "sms"), Step(10, "sms")], workflow_key="acknowledge")
    later = attempts_of(alert)[1]
    assert claim(later.pk, NOON + 10 * MINUTE - SECOND) is None
    assert claim(0, NOON) is None
    assert attempts_of(alert)[1].status == "scheduled"


def test_case_10_three_tasks_at_once_and_one_two_hours_late_send_once(number: Number) -> None:
    alert = make_alert(number)
    carrier = FakeCarrier()
    for _ in range(3):
        delivery.send_attempt(first_of(alert).pk, NOON, carrier=carrier)
    delivery.send_attempt(first_of(alert).pk, NOON + timedelta(hours=2), carrier=carrier)
    assert len(carrier.requests) == 1


def test_a_later_step_holds_its_money_when_it_is_due(account: Account, number: Number) -> None:
    alert = make_alert(number, [Step(0, "sms"), Step(10, "sms")], workflow_key="acknowledge", requires_ack=True)
    assert money_of(account) == (1000, 7)
    claim(attempts_of(alert)[1].pk, NOON + 10 * MINUTE)
    assert attempts_of(alert)[1].held_at == NOON + 10 * MINUTE
    assert money_of(account) == (1000, 14)


def test_a_step_the_balance_cannot_cover_is_skipped_and_fails_the_alert() -> None:
    make_rates()
    account = make_account(balance_cents=10)
    steps = [Step(0, "sms"), Step(10, "sms"), Step(30, "sms")]
    alert = make_alert(make_number(account), steps, workflow_key="acknowledge", requires_ack=True)
    carrier = FakeCarrier()
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=carrier)
    delivery.send_attempt(attempts_of(alert)[1].pk, NOON + 10 * MINUTE, carrier=carrier)
    alert.refresh_from_db()
    assert (alert.status, alert.failure_code) == ("failed", "INSUFFICIENT_BALANCE")
    assert skipped(alert)[1:] == [("skipped", "INSUFFICIENT_BALANCE")] * 2
    assert len(carrier.requests) == 1
    assert money_of(account) == (10, 7)


# --- what is in the way


def test_after_an_opt_out_nothing_goes_and_the_alert_is_over(account: Account, number: Number) -> None:
    alert = make_alert(number, ESCALATE, workflow_key="escalate", requires_ack=True, deadline_min=12)
    Holder.objects.update(opted_out_at=NOON, opted_out_via="sms")
    assert claim(first_of(alert).pk, NOON) is None
    alert.refresh_from_db()
    assert (alert.status, alert.failure_code, alert.failure_reason) == ("failed", "RECIPIENT_OPTED_OUT", "R05")
    assert skipped(alert) == [("skipped", "RECIPIENT_OPTED_OUT")] * 4
    assert money_of(account) == (1000, 0)


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"status": "suspended"}, "ACCOUNT_SUSPENDED"), ({"is_paused_until_verified": True}, "ACCOUNT_SUSPENDED")],
)
def test_a_suspended_account_sends_nothing(
    account: Account, number: Number, fields: dict[str, object], code: str
) -> None:
    alert = make_alert(number)
    Account.objects.update(**fields)
    assert claim(first_of(alert).pk, NOON) is None
    alert.refresh_from_db()
    assert (skipped(alert), alert.status, alert.failure_code) == ([("skipped", code)], "failed", code)
    assert money_of(account) == (1000, 0)


@pytest.mark.parametrize(
    ("flag", "countries", "is_stopped"),
    [
        ("all", "", True),
        ("sms", "", True),
        ("call", "", False),
        ("destination", "CA US", True),
        ("destination", "CA", False),
        ("account", "", True),
    ],
)
def test_a_pause_skips_what_it_names(
    account: Account, number: Number, flag: str, countries: str, is_stopped: bool
) -> None:
    alert = make_alert(number)
    Pause.objects.create(
        flag=flag, countries=countries, account=account if flag == "account" else None, reason="test", created_at=NOON
    )
    assert (claim(first_of(alert).pk, NOON) is None) is is_stopped
    assert skipped(alert) == [("skipped", "SERVICE_PAUSED") if is_stopped else ("sending", "")]


def test_another_accounts_pause_or_a_lifted_one_stops_nothing(number: Number) -> None:
    alert = make_alert(number)
    Pause.objects.create(flag="account", account=make_account(), reason="test", created_at=NOON)
    Pause.objects.create(flag="all", reason="test", created_at=NOON, lifted_at=NOON)
    assert claim(first_of(alert).pk, NOON) is not None


def test_a_removed_number_is_not_reached(account: Account, number: Number) -> None:
    alert = make_alert(number)
    number.delete()
    assert claim(first_of(alert).pk, NOON) is None
    assert skipped(alert) == [("skipped", "CHANNEL_UNAVAILABLE")]
    assert money_of(account) == (1000, 0)


def test_a_call_waits_for_the_line_and_goes_at_once_when_it_is_free(account: Account, number: Number) -> None:
    alert = make_alert(number, [Step(0, "call"), Step(1, "call")], workflow_key="escalate", requires_ack=True)
    carrier = FakeCarrier()
    first, second = attempts_of(alert)
    delivery.send_attempt(first.pk, NOON, carrier=carrier)
    at = NOON + MINUTE
    delivery.send_attempt(second.pk, at, carrier=carrier)
    assert (attempts_of(alert)[1].status, attempts_of(alert)[1].due_at) == ("scheduled", NOON + timedelta(seconds=95))
    assert len(carrier.requests) == 1
    ended = at + 10 * SECOND
    report = Report(source="callback", sid=f"CA{1:032x}", status="completed", sequence=3, duration_s=40)
    delivery.record(str(first.ref), report, now=ended)
    assert attempts_of(alert)[1].due_at == ended
    delivery.send_attempt(second.pk, ended, carrier=carrier)
    assert len(carrier.requests) == 2


def test_a_waiting_call_of_another_account_is_woken_too(account: Account, number: Number) -> None:
    other = make_alert(make_number(make_account()), [Step(0, "call")])
    mine = make_alert(number, [Step(0, "call")])
    delivery.send_attempt(first_of(mine).pk, NOON, carrier=FakeCarrier())
    assert claim(first_of(other).pk, NOON + SECOND) is None
    report = Report(source="callback", sid=f"CA{1:032x}", status="no-answer", sequence=2)
    delivery.record(str(first_of(mine).ref), report, now=NOON + 30 * SECOND)
    assert first_of(other).due_at == NOON + 30 * SECOND
    assert claim(first_of(other).pk, NOON + 30 * SECOND) is not None


def test_a_lost_call_report_frees_the_line_after_its_longest_time(number: Number) -> None:
    alert = make_alert(number, [Step(0, "call"), Step(1, "call")], workflow_key="escalate", requires_ack=True)
    claim(first_of(alert).pk, NOON)
    assert claim(attempts_of(alert)[1].pk, NOON + 94 * SECOND) is None
    assert claim(attempts_of(alert)[1].pk, NOON + 95 * SECOND) is not None


@pytest.mark.parametrize("learned", [{"whatsapp": "no"}, {"whatsapp_paused_at": NOON}])
def test_a_workflows_message_goes_by_sms_once_whatsapp_is_known_to_be_gone(
    account: Account, number: Number, learned: dict[str, object]
) -> None:
    alert = make_alert(
        number, [Step(0, "whatsapp"), Step(10, "whatsapp")], workflow_key="acknowledge", requires_ack=True
    )
    claim(first_of(alert).pk, NOON)
    Holder.objects.update(**learned)
    outgoing = claim(attempts_of(alert)[1].pk, NOON + 10 * MINUTE)
    moved = attempts_of(alert)[1]
    assert outgoing is not None
    assert (outgoing.channel, moved.channel, moved.price_cents) == ("sms", "sms", 7)
    assert money_of(account) == (1000, 12)


def test_a_moved_message_costs_no_more_than_what_was_held(account: Account, number: Number) -> None:
    alert = make_alert(number, [Step(0, "whatsapp")], workflow_key="inform")
    Holder.objects.update(whatsapp="no")
    assert claim(first_of(alert).pk, NOON) is not None
    assert (first_of(alert).channel, first_of(alert).price_cents) == ("sms", 5)
    assert money_of(account) == (1000, 5)


def test_a_moved_message_that_does_not_fit_is_skipped(number: Number) -> None:
    alert = make_alert(number, [Step(0, "whatsapp")], workflow_key="inform", message="x" * 99)
    Holder.objects.update(whatsapp="no")
    assert claim(first_of(alert).pk, NOON) is None
    assert skipped(alert) == [("skipped", "TEXT_TOO_LONG")]


def test_a_direct_whatsapp_message_never_turns_into_an_sms(number: Number) -> None:
    alert = make_alert(number, [Step(0, "whatsapp")])
    Holder.objects.update(whatsapp="no")
    assert claim(first_of(alert).pk, NOON) is None
    assert skipped(alert) == [("skipped", "CHANNEL_UNAVAILABLE")]


def test_a_channel_that_cannot_work_is_not_tried_again_in_the_alert(number: Number) -> None:
    steps = [Step(0, "call"), Step(1, "call"), Step(2, "sms")]
    alert = make_alert(number, steps, workflow_key="escalate", requires_ack=True)
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier(answers=[Refused(13224, 400)]))
    assert claim(attempts_of(alert)[1].pk, NOON + MINUTE) is None
    assert skipped(alert) == [("failed", "DELIVERY_FAILED"), ("skipped", "CHANNEL_UNAVAILABLE"), ("scheduled", "")]


def test_after_an_outage_steps_of_one_kind_collapse_to_the_latest(account: Account, number: Number) -> None:
    alert = make_alert(number, ESCALATE, workflow_key="escalate", requires_ack=True, deadline_min=12)
    carrier = FakeCarrier()
    outbox.sweep(NOON + 5 * MINUTE, carrier=carrier)
    assert [one.channel for one in carrier.requests] == ["whatsapp", "call"]
    assert skipped(alert) == [("sending", ""), ("skipped", "SUPERSEDED"), ("skipped", "SUPERSEDED"), ("sending", "")]
    assert money_of(account) == (1000, 17)


def test_after_an_outage_longer_than_the_alert_nothing_goes(account: Account, number: Number) -> None:
    alert = make_alert(number, ESCALATE, workflow_key="escalate", requires_ack=True, deadline_min=12)
    carrier = FakeCarrier()
    outbox.sweep(NOON + timedelta(hours=3), carrier=carrier)
    alert.refresh_from_db()
    assert carrier.requests == []
    assert (alert.status, alert.failure_code, alert.failure_reason) == ("failed", "DEADLINE_PASSED", "R14")
    assert skipped(alert) == [("skipped", "DEADLINE_PASSED")] * 4
    assert money_of(account) == (1000, 0)


# --- answers


def test_case_08_a_refusal_is_final(account: Account, number: Number) -> None:
    alert = make_alert(number)
    carrier = FakeCarrier(answers=[Refused(21211, 400)])
    for minute in range(5):
        outbox.sweep(NOON + minute * MINUTE, carrier=carrier)
    attempt = first_of(alert)
    assert len(carrier.requests) == 1
    assert (attempt.status, attempt.failure_code, attempt.failure_reason) == ("failed", "DELIVERY_FAILED", "R02")
    assert money_of(account) == (1000, 0)
    assert CarrierCall.objects.get().succeeded is True


def test_case_09_a_throttled_send_waits_as_told_and_holds_nothing_up(account: Account, number: Number) -> None:
    first, second = make_alert(number), make_alert(number)
    carrier = FakeCarrier(answers=[Throttled(2), Sent(f"SM{2:032x}", "queued"), Throttled(2)])
    outbox.sweep(NOON, carrier=carrier)
    assert [first_of(first).status, first_of(second).status] == ["scheduled", "sending"]
    outbox.sweep(NOON + 2 * SECOND - timedelta(milliseconds=1), carrier=carrier)
    assert len(carrier.requests) == 2
    outbox.sweep(NOON + 2 * SECOND, carrier=carrier)
    outbox.sweep(NOON + 3 * SECOND, carrier=carrier)
    assert len(carrier.requests) == 3
    outbox.sweep(NOON + 4 * SECOND, carrier=carrier)
    assert (first_of(first).status, first_of(first).tries, len(carrier.requests)) == ("sending", 3, 4)
    assert money_of(account) == (1000, 14)


def test_no_connection_is_tried_again_with_patience(number: Number) -> None:
    alert = make_alert(number)
    carrier = FakeCarrier(answers=[Unreachable() for _ in range(4)])
    waits = []
    at = NOON
    for _ in range(4):
        delivery.send_attempt(first_of(alert).pk, at, carrier=carrier)
        due = first_of(alert).due_at
        assert due is not None
        waits.append(int((due - at).total_seconds()))
        at = due
    assert waits == [2, 4, 8, 16]
    assert first_of(alert).status == "scheduled"
    assert set(CarrierCall.objects.values_list("succeeded", flat=True)) == {False}


def test_a_throttled_send_whose_alert_ended_meanwhile_is_skipped(account: Account, number: Number) -> None:
    alert = make_alert(number)

    def end_meanwhile(outgoing: Outgoing) -> Sent:
        Alert.objects.filter(pk=alert.pk).update(status="cancelled", ended_at=NOON, cancelled_at=NOON)
        raise Throttled(2)

    delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier(answers=[end_meanwhile]))
    assert skipped(alert) == [("skipped", "CANCELLED")]
    assert money_of(account) == (1000, 0)


def test_a_report_about_a_throttled_send_keeps_it_from_going_again(account: Account, number: Number) -> None:
    alert = make_alert(number)
    carrier = FakeCarrier(answers=[Throttled(2)])
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=carrier)
    report = Report(source="callback", sid=f"SM{7:032x}", status="delivered")
    delivery.record(str(first_of(alert).ref), report, now=NOON + SECOND)
    outbox.sweep(NOON + 10 * SECOND, carrier=carrier)
    assert (first_of(alert).status, len(carrier.requests), money_of(account)) == ("delivered", 1, (993, 0))


def test_case_12_a_lost_answer_is_adopted_from_what_the_carrier_has(account: Account, number: Number) -> None:
    alert = make_alert(number)
    sid = f"SM{5:032x}"
    carrier = FakeCarrier(answers=[Unknown()], finds=[Report(source="asked", sid=sid, status="delivered")])
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=carrier)
    assert first_of(alert).due_at == NOON + 5 * SECOND
    outbox.sweep(NOON + 5 * SECOND, carrier=carrier)
    attempt = first_of(alert)
    assert (attempt.status, attempt.carrier_sid, len(carrier.requests)) == ("delivered", sid, 1)
    assert money_of(account) == (993, 0)


def test_case_12_a_worker_that_died_before_the_post_leaves_nothing_behind(account: Account, number: Number) -> None:
    alert = make_alert(number)
    assert claim(first_of(alert).pk, NOON) is not None
    carrier = FakeCarrier()
    for at in range(0, 121, 1):
        outbox.sweep(NOON + at * SECOND, carrier=carrier)
    attempt = first_of(alert)
    assert carrier.requests == []
    assert (attempt.status, attempt.failure_code, attempt.failure_reason) == ("failed", "PROVIDER_ERROR", "R13")
    assert (attempt.due_at, money_of(account)) == (None, (1000, 0))


def test_an_answer_after_giving_up_is_flagged_and_moves_no_money(account: Account, number: Number) -> None:
    alert = make_alert(number)

    def answer_late(outgoing: Outgoing) -> Sent:
        outbox.sweep(NOON + 2 * MINUTE, carrier=FakeCarrier())
        return Sent(f"SM{1:032x}", "queued")

    delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier(answers=[answer_late]))
    attempt = first_of(alert)
    assert (attempt.status, attempt.carrier_sid, attempt.flagged_at) == ("failed", f"SM{1:032x}", NOON)
    assert money_of(account) == (1000, 0)


def test_case_12_what_another_attempt_has_is_not_adopted(number: Number) -> None:
    sent, lost = make_alert(number), make_alert(number)
    sid = f"SM{1:032x}"
    carrier = FakeCarrier(finds=[Report(source="asked", sid=sid, status="delivered")])
    delivery.send_attempt(first_of(sent).pk, NOON, carrier=carrier)
    claim(first_of(lost).pk, NOON)
    delivery.send_attempt(first_of(lost).pk, NOON + 30 * SECOND, carrier=carrier)
    assert (first_of(lost).status, first_of(lost).carrier_sid) == ("sending", "")


def test_an_unknown_outcome_that_cannot_be_cleared_up_ends_with_the_alert(account: Account, number: Number) -> None:
    alert = make_alert(number)
    carrier = FakeCarrier(answers=[Unknown()], finds=Unreachable())
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=carrier)
    outbox.sweep(NOON + 10 * MINUTE, carrier=carrier)
    assert first_of(alert).status == "sending"
    outbox.sweep(alert.expires_at, carrier=carrier)
    attempt = first_of(alert)
    assert (attempt.status, attempt.failure_code, attempt.failure_reason) == ("failed", "PROVIDER_ERROR", "R13")
    assert (attempt.flagged_at, money_of(account)) == (alert.expires_at, (1000, 0))


def test_an_unknown_whatsapp_outcome_sends_no_second_text(number: Number) -> None:
    alert = make_alert(number, [Step(0, "whatsapp")], workflow_key="inform", has_sms_fallback=True, max_attempts=2)
    claim(first_of(alert).pk, NOON)
    outbox.sweep(NOON + 3 * MINUTE, carrier=FakeCarrier())
    assert skipped(alert) == [("failed", "PROVIDER_ERROR")]


def test_a_lost_call_is_given_up_and_its_line_freed(account: Account, number: Number) -> None:
    alert = make_alert(number, [Step(0, "call")])
    claim(first_of(alert).pk, NOON)
    outbox.sweep(NOON + 3 * MINUTE, carrier=FakeCarrier())
    assert skipped(alert) == [("failed", "PROVIDER_ERROR")]
    assert (Holder.objects.get().live_call, money_of(account)) == ("", (1000, 0))


def test_an_answered_call_whose_end_was_lost_ends_by_itself(account: Account, number: Number) -> None:
    alert = make_alert(number, [Step(0, "call")], requires_ack=True)
    carrier = FakeCarrier()
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=carrier)
    report = Report(source="callback", sid=f"CA{1:032x}", status="in-progress", sequence=2)
    delivery.record(str(first_of(alert).ref), report, now=NOON + 9 * SECOND)
    at = NOON + 110 * SECOND
    assert first_of(alert).due_at == at
    outbox.sweep(at, carrier=carrier)
    attempt = first_of(alert)
    assert (attempt.status, attempt.ended_at, attempt.due_at) == ("answered", at, None)
    assert Holder.objects.get().live_call == ""


# --- the sweep


def test_a_sweep_sends_what_is_due_and_ends_what_is_over(account: Account, number: Number) -> None:
    due = make_alert(number)
    late = make_alert(number, created_at=NOON - timedelta(hours=2))
    later = make_alert(number, created_at=NOON + MINUTE)
    carrier = FakeCarrier()
    report = outbox.sweep(NOON, carrier=carrier)
    assert (report.failed, len(carrier.requests)) == (0, 1)
    late.refresh_from_db()
    assert (first_of(due).status, late.status, first_of(later).status) == ("sending", "failed", "scheduled")


def test_one_bad_row_does_not_stop_the_rest(number: Number, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = make_alert(number), make_alert(number)
    send = delivery.send_attempt

    def send_or_raise(attempt_id: int, *args: Any, **kwargs: Any) -> bool:
        if attempt_id == first_of(bad).pk:
            raise RuntimeError("+12025550123 and words")
        return send(attempt_id, *args, **kwargs)

    monkeypatch.setattr(delivery, "send_attempt", send_or_raise)
    report = outbox.sweep(NOON, carrier=FakeCarrier())
    assert (report.attempts, report.failed) == (1, 1)
    assert (first_of(good).status, first_of(bad).due_at) == ("sending", NOON + MINUTE)


def test_a_bad_rows_log_line_has_its_id_and_place_but_not_its_words(
    number: Number, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad = make_alert(number)

    def raise_words(*args: object, **kwargs: object) -> bool:
        raise RuntimeError("+12025550123 and words")

    monkeypatch.setattr(delivery, "send_attempt", raise_words)
    outbox.sweep(NOON, carrier=FakeCarrier())
    assert f"Attempt {first_of(bad).pk} failed: RuntimeError at test_outbox.py:" in caplog.text
    assert "words" not in caplog.text
    assert "2025550123" not in caplog.text


def test_a_sweep_that_takes_long_leaves_the_rest_to_the_next(number: Number) -> None:
    for _ in range(3):
        make_alert(number)
    times = iter([NOON, NOON, NOON] + [NOON + timedelta(seconds=20)] * 20)
    carrier = FakeCarrier()
    outbox.sweep(NOON, carrier=carrier, clock=lambda: next(times))
    assert len(carrier.requests) == 1
    assert Attempt.objects.filter(status="scheduled").count() == 2
