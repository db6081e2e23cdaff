"""What a call says, and what each key does at every moment of it, with what the agent reads afterwards (seed 001)."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse

from accounts.models import Account, Holder
from alerts.models import Alert
from tests.contract.course import Course, attempt_of, following, reads, send, shown, words_of
from tests.factories import PersonFactory
from tests.mcp_client import McpClient

pytestmark = pytest.mark.django_db
OPENING = "This is BreakPass by X Labs, with an alert from Test agent."
MESSAGE, PRESS_ONE = "Checkout is failing.", "Press 1 to acknowledge."
STOP = ["To stop all BreakPass alerts to this number, press 9.", "To reach us, call 3 3 2, 2 8 7, 9 2 0 0."]
NO_MORE = "You will receive no more BreakPass alerts. Goodbye."


@pytest.fixture(autouse=True)
def course() -> Iterator[Course]:
    """Time and the carrier in the test's hands."""
    with following() as begun:
        yield begun


def answered(mcp: McpClient, course: Course, **more: Any) -> tuple[str, HttpResponse]:
    """A call that was picked up: the alert, and what is said."""
    code = send(mcp, "call", **more)
    course.run()
    return code, course.pick_up(code, 1)


def press(course: Course, code: str, said: HttpResponse, part: str, key: str) -> HttpResponse:
    """A key while this part is heard."""
    return course.press(said, part, key, call_sid=attempt_of(code, 1).carrier_sid)


def stopped() -> bool:
    """Whether the owner's number is opted out."""
    return Holder.objects.get(numbers__account__connections__isnull=False).opted_out_at is not None


def test_what_a_call_says_with_and_without_acknowledgement(mcp: McpClient, course: Course) -> None:
    _, said = answered(mcp, course, require_ack=True)
    assert words_of(said) == [OPENING, MESSAGE, PRESS_ONE, *STOP, "Goodbye."]
    course.report(Alert.objects.get().code, 1, "completed", CallDuration=9, SequenceNumber=3)
    _, said = answered(mcp, course, message="Nothing to confirm.", agent_name="Nightly job")
    opening = "This is BreakPass by X Labs, with an alert from Nightly job."
    assert words_of(said) == [opening, "Nothing to confirm.", *STOP, "Goodbye."]


def test_outside_plus_one_no_number_to_call_is_read_out(mcp: McpClient, account: Account, course: Course) -> None:
    PersonFactory(account=account, name="Ada", number="+447700900123")
    _, said = answered(mcp, course, recipient="Ada")
    assert words_of(said) == [OPENING, MESSAGE, STOP[0], "Goodbye."]


@pytest.mark.parametrize("part", ["message", "stop", "end"])
def test_key_1_acknowledges_at_any_point(mcp: McpClient, course: Course, part: str) -> None:
    code, said = answered(mcp, course, require_ack=True)
    assert words_of(press(course, code, said, part, "1")) == ["Acknowledged. Goodbye."]
    assert reads(mcp, code)[0] == "acknowledged"
    assert (shown(mcp, code)["ack_via"], stopped()) == ("dtmf", False)


@pytest.mark.parametrize("part", ["stop", "end"])
@pytest.mark.parametrize("require_ack", [True, False])
def test_key_9_stops_everything_from_the_stop_sentence_to_the_end(
    mcp: McpClient, course: Course, part: str, require_ack: bool
) -> None:
    code, said = answered(mcp, course, require_ack=require_ack)
    assert words_of(press(course, code, said, part, "9")) == [NO_MORE]
    assert stopped()
    # A call that was picked up is a delivery; only an alert that still waits is ended by the stop.
    expected = ("failed", "failed") if require_ack else ("delivered", "answered")
    assert reads(mcp, code)[:2] == expected
    assert mcp.refusal("send_sms", {"message": "Hello."})["code"] == "RECIPIENT_OPTED_OUT"


@pytest.mark.parametrize("key", ["9", "2", "0", "*", "#"])
@pytest.mark.parametrize("require_ack", [True, False])
def test_any_other_key_in_the_message_lets_it_be_heard_once_more_and_stops_nothing(
    mcp: McpClient, course: Course, key: str, require_ack: bool
) -> None:
    code, said = answered(mcp, course, require_ack=require_ack)
    message = [MESSAGE, PRESS_ONE] if require_ack else [MESSAGE]
    again = press(course, code, said, "message", key)
    assert words_of(again) == [*message, *STOP, "Goodbye."]
    third = press(course, code, again, "message", key)
    assert words_of(third) == [*STOP, "Goodbye."]
    assert not stopped()
    # The choice is still there, to the last word.
    assert words_of(press(course, code, third, "stop", "9")) == [NO_MORE]
    assert stopped()


@pytest.mark.parametrize("key", ["2", "5", "0", "*", "#", ""])
def test_other_keys_after_the_message_end_the_call_and_do_nothing(mcp: McpClient, course: Course, key: str) -> None:
    code, said = answered(mcp, course, require_ack=True)
    goodbye = press(course, code, said, "stop", key)
    assert words_of(goodbye) == ["Goodbye."]
    assert words_of(press(course, code, goodbye, "end", key)) == []
    assert (reads(mcp, code)[0], stopped()) == ("delivered", False)


def test_without_acknowledgement_key_1_is_a_key_like_any_other(mcp: McpClient, course: Course) -> None:
    code, said = answered(mcp, course)
    assert words_of(press(course, code, said, "message", "1")) == [MESSAGE, *STOP, "Goodbye."]
    assert words_of(press(course, code, said, "stop", "1")) == ["Goodbye."]
    assert (reads(mcp, code)[0], shown(mcp, code)["acknowledged_at"]) == ("delivered", None)


def test_both_keys_one_after_the_other(mcp: McpClient, course: Course) -> None:
    code, said = answered(mcp, course, require_ack=True)
    thanks = press(course, code, said, "stop", "1")
    assert words_of(press(course, code, thanks, "end", "9")) == [NO_MORE]
    assert (reads(mcp, code)[0], stopped()) == ("acknowledged", True)


def test_a_key_after_the_alert_expired_is_noted_and_said_all_the_same(mcp: McpClient, course: Course) -> None:
    code, said = answered(mcp, course, require_ack=True)
    course.wait(minutes=60)
    assert reads(mcp, code)[0] == "expired"
    assert words_of(press(course, code, said, "end", "1")) == ["Acknowledged. Goodbye."]
    assert shown(mcp, code)["late_ack_at"] == "2026-10-03T20:00:00.000Z"


def test_a_call_that_nobody_placed_says_nothing(mcp: McpClient, course: Course) -> None:
    code = send(mcp, "sms")
    course.run()
    said = course.pick_up(code, 1)
    assert words_of(said) == []
    assert attempt_of(code, 1).status == "sending"
