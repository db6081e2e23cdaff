"""send_sms: its answer and example, and the room of one SMS on every border, to every kind of number."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Holder
from breakpass.text.gsm import sms_units
from mcp_gateway.contract import TOOLS
from tests.contract import sends
from tests.contract.sends import NUMBERS, Sender, sent_time
from tests.factories import NOW

pytestmark = pytest.mark.django_db
TOOL = "send_sms"
FOOTER = "\n\nThis is an automated BreakPass alert. Reply STOP to opt out."
NO_ALPHABET = (
    "An SMS to this number has no room for characters outside the SMS alphabet. Write it without them, or send it by "
    "WhatsApp."
)
NO_LINKS = "Carriers outside the US and Canada block texts with links. Send it by WhatsApp, or remove the link."
# The kind of number, a text of so many characters (its first may be one outside the SMS alphabet), and the room.
ROOMS = [("us_ca", "", 98), ("us_ca", "ł", 8), ("numeric", "", 149), ("numeric", "ł", 59)]
ROOMS += [("alphanumeric", "", 160), ("alphanumeric", "ł", 70)]
# The same for the third message of Acknowledge ("Reminder 3 of 3: "), with its link to +1 numbers.
REMINDER_ROOMS = [("us_ca", "", 44), ("numeric", "", 132), ("numeric", "ł", 42), ("alphanumeric", "", 143)]
REMINDER_ROOMS += [("alphanumeric", "ł", 53)]


def text(start: str, length: int) -> str:
    """A text of so many characters."""
    return start + "x" * (length - len(start))


def too_long(characters: int) -> dict[str, Any]:
    """What a text so many characters too long is told."""
    counted = "1 character" if characters == 1 else f"{characters} characters"
    return {
        "field": "message",
        "rule": "sms_length",
        "shorten_by": characters,
        "message": f"This message doesn't fit one SMS. Make it {counted} shorter.",
    }


def is_one_full_part(body: str) -> bool:
    """Whether a text fills one SMS part to the last unit."""
    units = sms_units(body)
    return units.units == (160 if units.encoding == "gsm7" else 70)


def test_the_seeds_example_has_its_values(sender: Sender) -> None:
    expected = {**TOOLS[TOOL].example_result, "estimated_cost_cents": 4}
    answer = sender.mcp.call(TOOL, dict(TOOLS[TOOL].example_arguments))
    expected |= {"alert_id": answer["alert_id"], "deadline_at": sent_time(NOW + timedelta(hours=1))}
    assert answer == expected


def test_a_plain_text_is_queued_without_a_deadline(sender: Sender) -> None:
    answer = sender.send(TOOL)
    assert answer == {
        "alert_id": answer["alert_id"],
        "status": "queued",
        "channel": "sms",
        "recipient": "Sam",
        "estimated_cost_cents": 4,
        "require_ack": False,
        "deadline_at": None,
        "idempotent_replay": False,
    }


@pytest.mark.parametrize(("kind", "start", "room"), ROOMS)
def test_what_fills_one_sms_is_accepted_and_sent_as_one_part(sender: Sender, kind: str, start: str, room: int) -> None:
    sender.add("Ada", NUMBERS[kind])
    message = text(start, room)
    sender.send(TOOL, recipient="Ada", message=message)
    sender.work()
    (request,) = sender.carrier.requests
    before, after = ("BreakPass: " if kind == "numeric" else ""), (FOOTER if kind == "us_ca" else "")
    assert request.text == before + message + after
    assert is_one_full_part(request.text)


@pytest.mark.parametrize(("kind", "start", "room"), ROOMS)
@pytest.mark.parametrize("over", [1, 2, 30])
def test_what_does_not_fit_one_sms_is_told_by_how_much(
    sender: Sender, kind: str, start: str, room: int, over: int
) -> None:
    sender.add("Ada", NUMBERS[kind])
    assert sender.rejected(TOOL, recipient="Ada", message=text(start, room + over)) == too_long(over)


@pytest.mark.parametrize(
    ("kind", "message", "cut"),
    [
        # Without its last character the rest is in the SMS alphabet again.
        ("us_ca", "x" * 97 + "ł", 1),
        ("us_ca", "ł" + "x" * 97, 90),
        # Each takes two units; what is cut is counted in characters.
        ("alphanumeric", "€" * 81, 1),
        ("alphanumeric", "x" * 158 + "€€", 1),
        ("alphanumeric", "\U0001f525" * 34 + "xxx", 1),
        ("alphanumeric", "x" + "\U0001f525" * 35, 1),
    ],
)
def test_cutting_as_many_characters_as_told_is_accepted_and_one_less_is_not(
    sender: Sender, kind: str, message: str, cut: int
) -> None:
    sender.add("Ada", NUMBERS[kind])
    assert sender.rejected(TOOL, recipient="Ada", message=message) == too_long(cut)
    if cut > 1:
        assert sender.rejected(TOOL, recipient="Ada", message=message[: 1 - cut])["rule"] == "sms_length"
    assert sender.send(TOOL, recipient="Ada", message=message[:-cut])["status"] == "queued"


def test_look_alikes_count_as_their_plain_twins(sender: Sender) -> None:
    message = "“It\u2019s down”" + "x" * 87
    sender.send(TOOL, message=message)
    sender.work()
    assert sender.carrier.requests[0].text == '"It\'s down"' + "x" * 87 + FOOTER


def test_a_confirmation_link_takes_37_characters_on_a_plus_one_number(sender: Sender) -> None:
    assert sender.rejected(TOOL, message="x" * 62, require_ack=True) == too_long(1)
    answer = sender.send(TOOL, message="x" * 61, require_ack=True)
    sender.work()
    (request,) = sender.carrier.requests
    link = request.text.removeprefix("x" * 61).removesuffix(FOOTER)
    assert (len(link), link[0], link.endswith(f"/a/{sender.alert(answer).ack_token}")) == (37, " ", True)
    assert is_one_full_part(request.text)


def test_with_a_link_there_is_no_room_for_characters_outside_the_alphabet(sender: Sender) -> None:
    expected = {"field": "message", "rule": "sms_alphabet", "message": NO_ALPHABET}
    assert sender.rejected(TOOL, message="ł", require_ack=True) == expected
    assert sender.send(TOOL, message="ł")["status"] == "queued"


@pytest.mark.parametrize("kind", ["numeric", "alphanumeric"])
def test_outside_the_us_and_canada_no_link_and_no_acknowledgement_go_by_sms(sender: Sender, kind: str) -> None:
    sender.add("Ada", NUMBERS[kind])
    rejected = sender.rejected(TOOL, recipient="Ada", message="See https://status.example.com/1")
    assert rejected == {"field": "message", "rule": "sms_link", "message": NO_LINKS}
    assert sender.refused(TOOL, recipient="Ada", require_ack=True) == {
        "code": "CHANNEL_UNAVAILABLE",
        "message": "An SMS can be acknowledged only on a US or Canadian number. Send it without acknowledgement, or by "
        "WhatsApp or a call.",
        "details": {
            "channel": "sms",
            "reason": "sms_ack_us_ca_only",
            "available_channels": ["whatsapp", "sms", "call"],
        },
    }
    assert sender.send(TOOL, recipient="Ada")["status"] == "queued"


def test_a_link_goes_to_a_plus_one_number(sender: Sender) -> None:
    sender.send(TOOL, message="See https://status.example.com/1")
    sender.work()
    assert sender.carrier.requests[0].text == "See https://status.example.com/1" + FOOTER


@pytest.mark.parametrize(("kind", "start", "room"), REMINDER_ROOMS)
def test_a_workflow_by_sms_must_fit_with_its_longest_reminder(sender: Sender, kind: str, start: str, room: int) -> None:
    ada = sender.add("Ada", NUMBERS[kind])
    Holder.objects.filter(pk=sends.holder_of(ada).pk).update(whatsapp="no")
    for over in (1, 9):
        rejected = sender.rejected(
            "start_workflow", workflow_id="acknowledge", recipient="Ada", message=text(start, room + over)
        )
        assert rejected == too_long(over)
    answer = sender.send("start_workflow", workflow_id="acknowledge", recipient="Ada", message=text(start, room))
    assert [step["channel"] for step in answer["steps"]] == ["sms", "sms", "sms"]


def test_each_reminder_is_numbered_and_the_longest_fills_its_part(sender: Sender, clock: Any) -> None:
    Holder.objects.filter(pk=sender.owner_holder().pk).update(whatsapp="no")
    sender.send("start_workflow", workflow_id="acknowledge", message="x" * 44)
    for minutes in (0, 10, 20):
        clock.shift(timedelta(minutes=minutes))
        sender.work()
    sent = [request.text or "" for request in sender.carrier.requests]
    assert [body.split("x")[0] for body in sent] == ["", "Reminder 2 of 3: ", "Reminder 3 of 3: "]
    assert [is_one_full_part(body) for body in sent] == [False, True, True]


def test_a_workflow_that_asks_for_no_acknowledgement_has_neither_link_nor_reminder(sender: Sender) -> None:
    Holder.objects.filter(pk=sender.owner_holder().pk).update(whatsapp="no")
    assert sender.send("start_workflow", workflow_id="inform", message="x" * 98)["steps"][0]["channel"] == "sms"
    assert sender.rejected("start_workflow", workflow_id="inform", message="x" * 99) == too_long(1)


def test_a_longer_host_of_the_link_takes_more_room(sender: Sender, settings: Settings) -> None:
    settings.LINK_BASE_URL = "https://alerts.a-long-name.example"
    # A space, the host and /a/ are 38 characters; the token has at least 9.
    assert sender.rejected(TOOL, message="x" * 52, require_ack=True) == too_long(1)
    assert sender.send(TOOL, message="x" * 51, require_ack=True)["status"] == "queued"


def test_it_goes_once_and_without_a_receipt_it_counts_after_ten_minutes(sender: Sender, clock: Any) -> None:
    answer = sender.send(TOOL)
    sender.work()
    sender.report(answer, "sent")
    assert (sender.status(answer)["status"], sender.money()) == ("sent", (4996, 4))
    clock.shift(timedelta(minutes=10))
    sender.work()
    status = sender.status(answer)
    assert (status["status"], status["attempts"][0]["status"]) == ("delivered", "delivered_unconfirmed")
    assert (status["charged_cents"], sender.money()) == (4, (4996, 0))
    assert len(sender.carrier.requests) == 1


def test_where_sms_is_not_offered_the_channel_is_unavailable(sender: Sender) -> None:
    sends.change_rate("US", "sms", status="coming_soon")
    assert sender.refused(TOOL) == {
        "code": "CHANNEL_UNAVAILABLE",
        "message": "SMS isn't offered for this number yet. Use WhatsApp or a call.",
        "details": {"channel": "sms", "reason": "coming_soon", "available_channels": ["whatsapp", "call"]},
    }
