"""What an alert reads as while it runs and how it ends: every status, outcome and its words, through MCP."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.locking import locked
from accounts.models import Account
from alerts import sending
from alerts.models import Alert, Attempt
from alerts.states import AlertStatus, AttemptStatus
from tests.contract.course import Course, following, reads, send, shown, start
from tests.factories import NOW, PersonFactory
from tests.mcp_client import McpClient

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def course() -> Iterator[Course]:
    """Time and the carrier in the test's hands."""
    with following() as begun:
        yield begun


def first(mcp: McpClient, code: str) -> dict[str, Any]:
    """Its first attempt."""
    return dict(shown(mcp, code)["attempts"][0])


# --- how it runs


def test_an_escalation_from_queued_to_expired(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "escalate")
    assert reads(mcp, code) == ("queued", "queued", "Queued", False, False)
    course.run()
    assert reads(mcp, code) == ("sent", "delivering", "Delivering", False, False)
    assert [one["status"] for one in shown(mcp, code)["attempts"]] == ["sending", "sending", "scheduled", "scheduled"]
    assert shown(mcp, code)["next_attempt_at"] == "2026-10-03T19:01:00.000Z"
    course.report(code, 1, "delivered")
    assert reads(mcp, code) == ("delivered", "waiting_for_ack", "Waiting for you to acknowledge", False, True)
    for seq in (2, 3, 4):
        course.report(code, seq, "no-answer")
        course.wait(minutes=1)
    assert shown(mcp, code)["next_attempt_at"] is None
    course.wait(minutes=9)
    alert = shown(mcp, code)
    assert reads(mcp, code) == ("expired", "not_acknowledged", "Not acknowledged", True, False)
    assert (alert["failure"], alert["acknowledged_at"], alert["ack_via"]) == (None, None, None)
    # Three calls at the reduced price, and one message.
    assert alert["charged_cents"] == 3 + 3 * 2
    calls = [
        (one["status"], one["outcome"], one["failure_code"], one["charged_cents"]) for one in alert["attempts"][1:]
    ]
    assert calls == [("no_answer", "not_picked_up", None, 2)] * 3


def test_someone_else_is_waited_for_by_name(mcp: McpClient, account: Account, course: Course) -> None:
    PersonFactory(account=account, name="Ada", number="+12025550171")
    code = start(mcp, "acknowledge", recipient="ada")
    course.run()
    course.report(code, 1, "delivered")
    assert reads(mcp, code)[2] == "Waiting for Ada to acknowledge"


@pytest.mark.parametrize(
    ("channel", "word", "status", "outcome", "words", "cents"),
    [
        ("whatsapp", "delivered", "delivered", "delivered", "Delivered", 3),
        ("whatsapp", "read", "delivered", "delivered", "Delivered", 3),
        ("sms", "delivered", "delivered", "delivered", "Delivered", 3),
        ("call", "completed", "delivered", "answered", "Answered", 8),
        ("call", "no-answer", "failed", "not_answered", "Not answered", 2),
        ("call", "busy", "failed", "not_answered", "Not answered", 2),
        ("sms", "undelivered", "failed", "failed", "Failed", 0),
        ("call", "canceled", "failed", "failed", "Failed", 0),
    ],
)
def test_how_a_direct_send_ends(
    mcp: McpClient, course: Course, channel: str, word: str, status: str, outcome: str, words: str, cents: int
) -> None:
    code = send(mcp, channel)
    course.run()
    if word == "completed":
        course.pick_up(code, 1)
    course.report(code, 1, word)
    assert reads(mcp, code) == (status, outcome, words, True, False)
    alert = shown(mcp, code)
    assert (alert["charged_cents"], alert["attempts"][0]["charged_cents"]) == (cents, cents)
    assert (alert["failure"] is None) is (status == "delivered")


def test_a_call_nobody_picks_up_is_a_failure_without_a_reason(mcp: McpClient, course: Course) -> None:
    code = send(mcp, "call")
    course.run()
    course.report(code, 1, "no-answer")
    alert = shown(mcp, code)
    nobody = {"code": "NOT_ANSWERED", "reason": None, "message": "Nobody picked up the call."}
    assert alert["failure"] == nobody
    attempt = alert["attempts"][0]
    assert (attempt["failure_code"], attempt["failure_reason"], attempt["failure_message"]) == (None, None, None)
    assert (attempt["status"], attempt["outcome"]) == ("no_answer", "not_picked_up")


def test_busy_is_not_picked_up_with_its_reason(mcp: McpClient, course: Course) -> None:
    code = send(mcp, "call")
    course.run()
    course.report(code, 1, "busy")
    attempt = first(mcp, code)
    assert (attempt["status"], attempt["outcome"], attempt["charged_cents"]) == ("busy", "not_picked_up", 2)
    assert (attempt["failure_reason"], attempt["failure_message"]) == ("R08", "The line was busy.")


# --- attempts


@pytest.mark.parametrize(
    ("channel", "words", "status"),
    [
        ("sms", ["sent"], "sent"),
        ("sms", ["sent", "delivered"], "delivered"),
        ("whatsapp", ["sent", "read"], "read"),
        ("whatsapp", ["read", "delivered"], "read"),
        ("call", ["ringing"], "ringing"),
        ("call", ["ringing", "in-progress"], "answered"),
        ("call", ["ringing", "no-answer"], "no_answer"),
        ("call", ["busy"], "busy"),
        ("sms", ["failed"], "failed"),
    ],
)
def test_every_status_of_an_attempt(
    mcp: McpClient, course: Course, channel: str, words: list[str], status: str
) -> None:
    code = send(mcp, channel)
    course.run()
    for word in words:
        course.report(code, 1, word)
    attempt = first(mcp, code)
    assert attempt["status"] == status
    assert attempt["sent_at"] == attempt["scheduled_at"] == "2026-10-03T19:00:00.000Z"
    reached = status in ("delivered", "read", "answered")
    assert attempt["delivered_at"] == ("2026-10-03T19:00:00.000Z" if reached else None)


def test_a_text_without_a_receipt_counts_as_delivered_after_ten_minutes(mcp: McpClient, course: Course) -> None:
    code = send(mcp, "sms")
    course.run()
    course.report(code, 1, "sent")
    course.wait(minutes=9, seconds=59)
    assert reads(mcp, code)[0] == "sent"
    course.wait(seconds=1)
    assert reads(mcp, code) == ("delivered", "delivered", "Delivered", True, False)
    attempt = first(mcp, code)
    assert (attempt["status"], attempt["delivered_at"], attempt["charged_cents"]) == ("delivered_unconfirmed", None, 3)
    course.report(code, 1, "undelivered", ErrorCode=30003)
    attempt = first(mcp, code)
    assert (attempt["status"], attempt["failure_reason"], attempt["charged_cents"]) == ("failed", "R01", 0)
    assert (shown(mcp, code)["status"], shown(mcp, code)["charged_cents"]) == ("delivered", 0)


def test_no_attempt_is_ever_a_voicemail() -> None:
    assert "voicemail" not in AttemptStatus.values
    assert len(AttemptStatus.values) == 12
    assert len(AlertStatus.values) == 7


def test_the_fallback_is_an_attempt_of_its_own(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "inform")
    course.run()
    course.report(code, 1, "undelivered", ErrorCode=63024)
    assert reads(mcp, code)[:2] == ("sent", "delivering")
    course.run()
    course.report(code, 2, "delivered")
    alert = shown(mcp, code)
    assert (alert["status"], alert["outcome"], alert["charged_cents"]) == ("delivered", "delivered", 3)
    assert [(one["seq"], one["kind"], one["channel"], one["status"]) for one in alert["attempts"]] == [
        (1, "message", "whatsapp", "failed"),
        (2, "fallback", "sms", "delivered"),
    ]
    assert [each["channels"]["whatsapp"] for each in mcp.call("get_setup_status")["recipients"]] == ["no"]


@pytest.mark.parametrize("by", ["agent", "owner", "system"])
def test_a_cancelled_alert_says_who_and_when(mcp: McpClient, account: Account, course: Course, by: Any) -> None:
    code = start(mcp, "escalate")
    course.clock.shift(130)
    with locked(account.pk) as held:
        sending.cancel(held, code, by=by, now=NOW.replace(minute=2, second=10))
    assert reads(mcp, code) == ("cancelled", "cancelled", "Cancelled", True, False)
    alert = shown(mcp, code)
    assert (alert["cancelled_at"], alert["cancelled_by"]) == ("2026-10-03T19:02:10.000Z", by)
    assert (alert["failure"], alert["charged_cents"], alert["next_attempt_at"]) == (None, 0, None)
    assert {(one["status"], one["failure_code"], one["failure_message"]) for one in alert["attempts"]} == {
        ("skipped", "CANCELLED", "The alert was cancelled first.")
    }
    assert Alert.objects.get().account.entries.filter(kind="release").count() == 2
    assert Attempt.objects.exclude(settlement="released").filter(held_at__isnull=False).count() == 0
