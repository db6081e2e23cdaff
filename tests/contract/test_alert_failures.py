"""Why an alert failed, as an agent reads it: every reason R01 to R15, every failure code, through MCP."""

from collections.abc import Iterator

import pytest
from django.test import Client

from accounts import pauses, standing
from accounts.locking import locked
from accounts.models import Account, Holder
from alerts.carriers.base import Refused, TemplateState, Unknown
from alerts.carriers.reasons import REASONS
from tests.contract.course import Course, following, send, shown, start
from tests.factories import NOW, AccountFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db
OWNER = "+12025550143"
# Behaviour, Failure reasons: the channel, the carrier's last word, and what people read.
REPORTS: dict[str, tuple[str, str, dict[str, int], str]] = {
    "R01": ("sms", "undelivered", {"ErrorCode": 30003}, "The phone was off or out of reach."),
    "R02": ("call", "failed", {"SipResponseCode": 404}, "The number isn't valid or isn't in service."),
    "R03": ("sms", "undelivered", {"ErrorCode": 30006}, "This number can't receive texts."),
    "R04": ("whatsapp", "failed", {"ErrorCode": 63024}, "This number isn't on WhatsApp."),
    "R05": ("whatsapp", "failed", {"ErrorCode": 63033}, "The person stopped alerts to this number."),
    "R06": ("sms", "undelivered", {"ErrorCode": 30007}, "The carrier blocked the text as spam."),
    "R07": ("sms", "failed", {"ErrorCode": 30024}, "BreakPass can't reach this country or network right now."),
    "R09": ("call", "failed", {"ErrorCode": 32203}, "The call couldn't be connected."),
    "R10": ("whatsapp", "failed", {"ErrorCode": 63016}, "WhatsApp refused the message content."),
    "R11": ("whatsapp", "failed", {"ErrorCode": 63018}, "WhatsApp limited delivery."),
    "R12": ("sms", "failed", {"ErrorCode": 30034}, "A BreakPass sending number or setting has a problem."),
    "R13": ("sms", "failed", {"ErrorCode": 30500}, "The delivery network had an error."),
    "R14": ("sms", "undelivered", {"ErrorCode": 30036}, "It couldn't be delivered in time."),
    "R15": ("sms", "undelivered", {"ErrorCode": 30008}, "The delivery failed for an unknown reason."),
}


@pytest.fixture(autouse=True)
def course() -> Iterator[Course]:
    """Time and the carrier in the test's hands."""
    with following() as begun:
        yield begun


# --- reasons


@pytest.mark.parametrize("reason", sorted(REPORTS))
def test_every_reason_reads_as_people_see_it(mcp: McpClient, course: Course, reason: str) -> None:
    channel, word, numbers, text = REPORTS[reason]
    code = send(mcp, channel)
    course.run()
    course.report(code, 1, word, **numbers)
    alert = shown(mcp, code)
    assert alert["failure"] == {"code": "DELIVERY_FAILED", "reason": reason, "message": text}
    attempt = alert["attempts"][0]
    assert (attempt["failure_code"], attempt["failure_reason"], attempt["failure_message"]) == (
        "DELIVERY_FAILED",
        reason,
        text,
    )
    assert (alert["charged_cents"], attempt["outcome"]) == (0, None)
    # Neither the carrier's number nor its word.
    assert not any(str(number) in repr(alert) for number in numbers.values())


def test_the_reasons_are_all_there_are() -> None:
    assert sorted({*REPORTS, "R08"}) == sorted(REASONS) == [f"R{n:02d}" for n in range(1, 16)]


# --- why it ended


def ends(mcp: McpClient, code: str) -> tuple[str, str | None, str, list[str | None]]:
    """The failure's code, reason and words, and each attempt's code."""
    alert = shown(mcp, code)
    assert (alert["status"], alert["outcome"], alert["terminal"]) == ("failed", "failed", True)
    failure = alert["failure"]
    return failure["code"], failure["reason"], failure["message"], [one["failure_code"] for one in alert["attempts"]]


def test_a_step_that_the_balance_cannot_cover(course: Course, load_rates: None) -> None:
    mcp = McpClient(Client(), issue_token(AccountFactory(balance_cents=5)))
    code = start(mcp, "acknowledge")
    course.run()
    course.report(code, 1, "delivered")
    course.wait(minutes=10)
    assert ends(mcp, code) == (
        "INSUFFICIENT_BALANCE",
        None,
        "The balance didn't cover the next step.",
        [None, "INSUFFICIENT_BALANCE", "INSUFFICIENT_BALANCE"],
    )
    assert shown(mcp, code)["attempts"][1]["failure_message"] == "The balance didn't cover the next step."
    assert len(course.sent) == 1


def test_a_person_who_stops(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "acknowledge")
    course.run()
    course.write(OWNER, "STOP")
    stopped = "The person stopped alerts to this number."
    assert ends(mcp, code) == ("RECIPIENT_OPTED_OUT", "R05", stopped, [None, *["RECIPIENT_OPTED_OUT"] * 2])


def test_a_number_stopped_at_the_carrier(mcp: McpClient, course: Course) -> None:
    course.carrier.answers = [Refused(21610, 400)]
    code = send(mcp, "sms")
    course.run()
    assert ends(mcp, code)[:2] == ("RECIPIENT_OPTED_OUT", "R05")


def test_a_carrier_whose_answer_never_came(mcp: McpClient, course: Course) -> None:
    course.carrier.answers = [Unknown()]
    code = send(mcp, "sms")
    course.run()
    assert shown(mcp, code)["attempts"][0]["status"] == "sending"
    course.wait(minutes=2)
    assert ends(mcp, code) == ("PROVIDER_ERROR", "R13", "The delivery network had an error.", ["PROVIDER_ERROR"])
    assert len(course.sent) == 1


def test_a_template_that_was_changed(mcp: McpClient, course: Course) -> None:
    course.carrier.templates["alert"] = TemplateState("approved", "Buy one, get one free: {{1}} {{2}}")
    code = send(mcp, "whatsapp")
    course.run()
    failure = shown(mcp, code)["failure"]
    assert failure == {
        "code": "TEMPLATE_MISMATCH",
        "reason": "R10",
        "message": "WhatsApp refused the message content.",
    }
    assert course.sent == []


def test_sending_that_was_paused_meanwhile(mcp: McpClient, course: Course) -> None:
    code = send(mcp, "sms")
    pauses.pause("sms", reason="carrier", now=NOW)
    course.run()
    assert ends(mcp, code) == ("SERVICE_PAUSED", None, "Sending was paused.", ["SERVICE_PAUSED"])
    assert course.sent == []


def test_an_account_that_was_suspended_meanwhile(mcp: McpClient, account: Account, course: Course) -> None:
    code = send(mcp, "sms")
    with locked(account.pk) as held:
        standing.suspend(held, reason="spam", now=NOW)
    course.run()
    words = "The account can't send right now."
    assert ends(mcp, code) == ("ACCOUNT_SUSPENDED", None, words, ["ACCOUNT_SUSPENDED"])
    assert course.sent == []


def test_a_text_too_long_once_whatsapp_is_gone(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "inform", message="Checkout is failing. " * 10)
    Holder.objects.update(whatsapp="no")
    course.run()
    assert ends(mcp, code) == ("TEXT_TOO_LONG", None, "The text doesn't fit one SMS.", ["TEXT_TOO_LONG"])
    assert course.sent == []


def test_a_direct_message_never_turns_into_another_channel(mcp: McpClient, course: Course) -> None:
    code = send(mcp, "whatsapp")
    Holder.objects.update(whatsapp="no")
    course.run()
    words = "The channel wasn't available for this person."
    assert ends(mcp, code) == ("CHANNEL_UNAVAILABLE", None, words, ["CHANNEL_UNAVAILABLE"])
    assert course.sent == []


def test_an_outage_beyond_the_deadline(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "inform")
    course.wait(minutes=76)
    words = "It couldn't be delivered in time."
    assert ends(mcp, code) == ("DEADLINE_PASSED", "R14", words, ["DEADLINE_PASSED"])
    assert course.sent == []


def test_a_message_that_did_not_arrive_by_the_deadline(mcp: McpClient, course: Course) -> None:
    code = send(mcp, "whatsapp")
    course.run()
    course.report(code, 1, "sent")
    course.wait(minutes=75)
    assert ends(mcp, code) == ("DELIVERY_FAILED", "R14", "It couldn't be delivered in time.", ["DELIVERY_FAILED"])
    course.report(code, 1, "delivered")
    assert shown(mcp, code)["charged_cents"] == 0


def test_overdue_steps_of_one_kind_give_way_to_the_latest(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "acknowledge")
    course.wait(minutes=31)
    attempts = shown(mcp, code)["attempts"]
    assert [(one["status"], one["failure_code"], one["failure_message"]) for one in attempts] == [
        ("skipped", "SUPERSEDED", "A later step took its place."),
        ("skipped", "SUPERSEDED", "A later step took its place."),
        ("sending", None, None),
    ]
    assert len(course.sent) == 1
