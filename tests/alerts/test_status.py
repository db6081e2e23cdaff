"""An alert as the contract shows it: every field, every word."""

import re
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from alerts import status
from alerts.models import Alert, Attempt
from breakpass.errors import Refusal
from tests import world
from tests.world import NOW

pytestmark = pytest.mark.django_db
M = timedelta(minutes=1)


def entry(alert: Alert) -> dict[str, Any]:
    alert.refresh_from_db()
    return status.as_contract(alert, list(alert.attempts.all()))


def test_a_fresh_workflow_reads_queued_with_every_attempt() -> None:
    account = world.open_account()
    alert = world.run(account, "escalate").alert
    shown = entry(alert)
    assert re.fullmatch(r"A-[2-9A-HJ-KM-NP-TV-Z]{6}", shown["alert_id"])
    attempts = shown.pop("attempts")
    assert shown == {
        "alert_id": alert.code,
        "kind": "workflow",
        "workflow": {"id": "escalate", "version": 1},
        "recipient": "Sam",
        "status": "queued",
        "terminal": False,
        "awaiting_ack": False,
        "requires_acknowledgement": True,
        "outcome": "queued",
        "outcome_text": "Queued",
        "created_at": "2026-10-03T19:00:00.000Z",
        "deadline_at": "2026-10-03T19:12:00.000Z",
        "next_attempt_at": "2026-10-03T19:00:00.000Z",
        "acknowledged_at": None,
        "ack_via": None,
        "late_ack_at": None,
        "cancelled_at": None,
        "cancelled_by": None,
        "failure": None,
        "charged_cents": 0,
    }
    assert [(each["seq"], each["offset_min"], each["kind"], each["channel"]) for each in attempts] == [
        (1, 0, "message", "whatsapp"),
        (2, 0, "call", "call"),
        (3, 1, "call", "call"),
        (4, 2, "call", "call"),
    ]
    assert attempts[3] == {
        "seq": 4,
        "offset_min": 2,
        "kind": "call",
        "channel": "call",
        "status": "scheduled",
        "scheduled_at": "2026-10-03T19:02:00.000Z",
        "sent_at": None,
        "delivered_at": None,
        "failure_code": None,
        "failure_reason": None,
        "failure_message": None,
        "outcome": None,
        "charged_cents": 0,
    }


def test_a_direct_send_without_acknowledgement_shows_no_deadline_and_no_workflow() -> None:
    shown = entry(world.send(world.open_account(), "sms").alert)
    assert (shown["kind"], shown["workflow"], shown["deadline_at"]) == ("direct", None, None)


def set_alert(alert: Alert, **fields: Any) -> None:
    Alert.objects.filter(pk=alert.pk).update(**fields)


@pytest.mark.parametrize(
    ("fields", "outcome", "words", "terminal"),
    [
        ({"status": "sent"}, "delivering", "Delivering", False),
        ({"status": "delivered"}, "waiting_for_ack", "Waiting for you to acknowledge", False),
        (
            {"status": "acknowledged", "acknowledged_at": NOW, "ack_via": "dtmf", "ended_at": NOW},
            "acknowledged",
            "Acknowledged",
            True,
        ),
        ({"status": "expired", "ended_at": NOW}, "not_acknowledged", "Not acknowledged", True),
        (
            {"status": "cancelled", "cancelled_at": NOW, "cancelled_by": "owner", "ended_at": NOW},
            "cancelled",
            "Cancelled",
            True,
        ),
        ({"status": "failed", "failure_code": "NOT_ANSWERED", "ended_at": NOW}, "not_answered", "Not answered", True),
        ({"status": "failed", "failure_code": "DELIVERY_FAILED", "ended_at": NOW}, "failed", "Failed", True),
    ],
)
def test_every_status_has_its_outcome_and_words(
    fields: dict[str, Any], outcome: str, words: str, terminal: bool
) -> None:
    alert = world.run(world.open_account(), "escalate").alert
    set_alert(alert, **fields)
    shown = entry(alert)
    assert (shown["outcome"], shown["outcome_text"], shown["terminal"]) == (outcome, words, terminal)
    assert shown["awaiting_ack"] is (outcome == "waiting_for_ack")
    assert (shown["next_attempt_at"] is None) is terminal


def test_someone_else_is_waited_for_by_name() -> None:
    account = world.open_account()
    world.add_person(account, "Ada", number=world.ADA_NUMBER)
    alert = world.run(account, "acknowledge", recipient="ada").alert
    set_alert(alert, status="delivered")
    assert entry(alert)["outcome_text"] == "Waiting for Ada to acknowledge"


@pytest.mark.parametrize(
    ("channel", "reached", "outcome"), [("call", "answered", "answered"), ("sms", "delivered", "delivered")]
)
def test_a_call_picked_up_reads_answered_and_a_message_delivered(channel: str, reached: str, outcome: str) -> None:
    alert = world.send(world.open_account(), channel).alert
    world.finish(alert, settlement="charged", status=reached)
    shown = entry(alert)
    assert (shown["status"], shown["outcome"], shown["outcome_text"]) == ("delivered", outcome, outcome.capitalize())


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        ("DELIVERY_FAILED", "R01", "The phone was off or out of reach."),
        ("DELIVERY_FAILED", "R15", "The delivery failed for an unknown reason."),
        ("NOT_ANSWERED", "", "Nobody picked up the call."),
        ("INSUFFICIENT_BALANCE", "", "The balance didn't cover the next step."),
        ("DEADLINE_PASSED", "R14", "It couldn't be delivered in time."),
        ("RECIPIENT_OPTED_OUT", "R05", "The person stopped alerts to this number."),
    ],
)
def test_a_failure_says_why(code: str, reason: str, words: str) -> None:
    alert = world.run(world.open_account(), "inform").alert
    set_alert(alert, status="failed", failure_code=code, failure_reason=reason, ended_at=NOW)
    assert entry(alert)["failure"] == {"code": code, "reason": reason or None, "message": words}


@pytest.mark.parametrize("code", sorted(status.FAILURE_WORDS))
def test_every_failure_code_has_words_without_a_code_or_a_number(code: str) -> None:
    words = status.failure_words(code, "")
    assert words is not None
    assert re.fullmatch(r"[A-Z][A-Za-z' ]+\.", words)


def test_an_attempt_says_why_it_failed_and_what_it_cost() -> None:
    alert = world.run(world.open_account(), "escalate").alert
    first, call, _, last = alert.attempts.order_by("seq")
    Attempt.objects.filter(pk=first.pk).update(
        status="failed", failure_code="DELIVERY_FAILED", failure_reason="R04", claimed_at=NOW
    )
    Attempt.objects.filter(pk=call.pk).update(
        status="busy",
        failure_reason="R08",
        outcome="not_picked_up",
        claimed_at=NOW,
        settlement="reduced",
        settled_at=NOW,
        charged_cents=5,
    )
    Attempt.objects.filter(pk=last.pk).update(status="skipped", failure_code="SUPERSEDED", due_at=None)
    shown = entry(alert)
    picked = [
        (each["failure_code"], each["failure_reason"], each["failure_message"], each["outcome"], each["charged_cents"])
        for each in shown["attempts"]
    ]
    assert picked == [
        ("DELIVERY_FAILED", "R04", "This number isn't on WhatsApp.", None, 0),
        (None, "R08", "The line was busy.", "not_picked_up", 5),
        (None, None, None, None, 0),
        ("SUPERSEDED", None, "A later step took its place.", None, 0),
    ]
    assert shown["charged_cents"] == 5
    assert shown["next_attempt_at"] == "2026-10-03T19:01:00.000Z"


def test_ids_come_back_in_their_order_and_unknown_ones_are_named(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    account = world.open_account()
    one, two = (world.run(account, "inform", message=text).alert for text in ("one", "two"))
    stranger = world.run(world.open_account(number=world.ADA_NUMBER), "inform").alert
    with django_assert_num_queries(2):
        answer = status.find(account, alert_ids=[two.code.lower(), stranger.code, one.code, "A-000000", two.code])
    assert [shown["alert_id"] for shown in answer["alerts"]] == [two.code, one.code]
    assert answer["not_found"] == [stranger.code, "A-000000"]


def test_only_unknown_ids_are_a_refusal() -> None:
    account = world.open_account()
    stranger = world.run(world.open_account(number=world.ADA_NUMBER), "inform").alert
    with pytest.raises(Refusal) as caught:
        status.find(account, alert_ids=[stranger.code])
    assert (caught.value.code, caught.value.details) == ("ALERT_NOT_FOUND", {"not_found": [stranger.code]})


def test_ids_and_a_reference_together_are_refused() -> None:
    with pytest.raises(Refusal) as caught:
        status.find(world.open_account(), alert_ids=["A-000000"], event_reference="e")
    assert caught.value.code == "CONTENT_REJECTED"
    assert caught.value.message == "Send alert_ids or event_reference, not both."
    assert caught.value.details == {"field": "alert_ids", "rule": "both_given"}


def test_a_reference_finds_its_twenty_newest_alerts_and_an_unknown_one_none(
    django_assert_num_queries: DjangoAssertNumQueries, settings: Settings
) -> None:
    settings.UNBILLED_PER_HOUR = settings.UNBILLED_PER_DAY = 100
    account = world.open_account()
    made = [
        world.run(account, "inform", f"number {minute}", event_reference="e-1", now=NOW + minute * 4 * M).alert
        for minute in range(21)
    ]
    world.run(account, "inform", event_reference="e-2", now=NOW + 100 * M)
    with django_assert_num_queries(2):
        answer = status.find(account, event_reference="e-1")
    assert [shown["alert_id"] for shown in answer["alerts"]] == [alert.code for alert in reversed(made[1:])]
    assert status.find(account, event_reference="e-3") == {"alerts": [], "not_found": []}


def test_without_ids_the_fifty_newest_open_alerts_are_listed(
    django_assert_num_queries: DjangoAssertNumQueries, settings: Settings
) -> None:
    settings.UNBILLED_PER_HOUR = settings.UNBILLED_PER_DAY = 100
    account = world.open_account()
    made = [world.run(account, "inform", f"n {n}", now=NOW + n * 4 * M).alert for n in range(52)]
    world.finish(made[51], settlement="charged", status="delivered")
    with django_assert_num_queries(2):
        answer = status.find(account)
    assert [shown["alert_id"] for shown in answer["alerts"]] == [alert.code for alert in reversed(made[1:51])]
    assert answer["not_found"] == []


def test_the_answers_of_the_senders_have_the_contracts_fields() -> None:
    account = world.open_account()
    accepted = world.run(account, "acknowledge", recipient="owner")
    assert status.workflow_answer(accepted) == {
        "alert_id": accepted.alert.code,
        "status": "queued",
        "workflow": {"id": "acknowledge", "name": "Acknowledge", "version": 1},
        "steps": [{"offset_min": minute, "kind": "message", "channel": "whatsapp"} for minute in (0, 10, 30)],
        "recipient": "owner",
        "require_ack": True,
        "requires_acknowledgement": True,
        "max_cost_cents": 13,
        "deadline_at": "2026-10-03T19:40:00.000Z",
        "idempotent_replay": False,
        "next_step": "Poll get_alert_status; do not call start_workflow again.",
    }
    direct = world.send(account, "call", require_ack=True)
    assert status.direct_answer(direct) == {
        "alert_id": direct.alert.code,
        "status": "queued",
        "channel": "call",
        "recipient": "Sam",
        "estimated_cost_cents": 20,
        "require_ack": True,
        "deadline_at": "2026-10-03T20:00:00.000Z",
        "idempotent_replay": False,
    }
