"""What is read: room on every border, the exact text sent, and the exact number of characters to remove."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.content import (
    BREAKPASS,
    SenderKind,
    Wording,
    ack_link,
    ack_token_length,
    check_call,
    check_sms,
    fits_sms,
    invite_text,
    link_chars,
    max_chars,
    reminder_prefix,
    reminders_for,
    sms_parts,
    sms_room,
    sms_text,
    verification_text,
    whatsapp_variables,
)
from breakpass.errors import Refusal
from breakpass.text import check_message, clean, sms_units

KINDS: tuple[SenderKind, ...] = ("us_ca", "numeric", "alphanumeric")
HOST = "https://breakpass.example"
REMINDER = "Reminder 2 of 3: "


@pytest.mark.parametrize(
    ("kind", "gsm", "link", "reminder", "room"),
    [
        ("us_ca", True, 0, "", 98),
        ("us_ca", False, 0, "", 8),
        ("numeric", True, 0, "", 149),
        ("numeric", False, 0, "", 59),
        ("alphanumeric", True, 0, "", 160),
        ("alphanumeric", False, 0, "", 70),
        ("us_ca", True, 37, "", 61),
        ("us_ca", False, 37, "", -29),
        ("us_ca", True, 37, REMINDER, 44),
        ("us_ca", False, 0, REMINDER, -9),
        ("numeric", True, 37, REMINDER, 132),
        ("alphanumeric", True, 0, REMINDER, 143),
        ("alphanumeric", False, 0, REMINDER, 53),
    ],
)
def test_the_room_left_for_a_message(kind: SenderKind, gsm: bool, link: int, reminder: str, room: int) -> None:
    assert sms_room(kind, gsm=gsm, link_chars=link, reminder=reminder) == room


@pytest.mark.parametrize(
    ("kind", "letter", "room"),
    [
        ("us_ca", "a", 98),
        ("us_ca", "ł", 8),
        ("numeric", "a", 149),
        ("numeric", "ł", 59),
        ("alphanumeric", "a", 160),
        ("alphanumeric", "ł", 70),
        ("us_ca", "€", 49),
        ("us_ca", "’", 98),
    ],
)
def test_a_message_that_just_fits_passes_and_one_more_character_is_refused(
    kind: SenderKind, letter: str, room: int
) -> None:
    check_sms(letter * room, sender_kind=kind)
    assert sms_units(sms_text(letter * room, sender_kind=kind)).fits_one_part
    assert not fits_sms(letter * (room + 1), sender_kind=kind)
    with pytest.raises(Refusal) as refused:
        check_sms(letter * (room + 1), sender_kind=kind)
    assert refused.value.code == "CONTENT_REJECTED"
    assert refused.value.details == {"field": "message", "rule": "sms_length", "shorten_by": 1}
    assert refused.value.message == "This message doesn't fit one SMS. Make it 1 character shorter."


def test_the_confirmation_link_takes_37_characters_and_reminders_take_room_too() -> None:
    check_sms("a" * 61, sender_kind="us_ca", link_chars=37)
    check_sms("a" * 44, sender_kind="us_ca", link_chars=37, reminders=reminders_for(3, True))
    for message, reminders in (("a" * 62, [""]), ("a" * 45, reminders_for(3, True))):
        with pytest.raises(Refusal) as refused:
            check_sms(message, sender_kind="us_ca", link_chars=37, reminders=reminders)
        assert refused.value.details == {"field": "message", "rule": "sms_length", "shorten_by": 1}


def test_reminders_are_checked_for_the_longest_one() -> None:
    reminders = reminders_for(10, True)
    assert len(reminders[9]) == len("Reminder 10 of 10: ") == 19
    assert fits_sms("a" * 79, sender_kind="us_ca", reminders=reminders)
    assert not fits_sms("a" * 80, sender_kind="us_ca", reminders=reminders)


def test_only_repeated_messages_of_an_acknowledging_workflow_are_numbered() -> None:
    assert reminders_for(3, True) == ["", "Reminder 2 of 3: ", "Reminder 3 of 3: "]
    assert reminders_for(3, False) == ["", "", ""]
    assert reminders_for(1, True) == [""]
    assert reminder_prefix(1, 3) == ""


def test_the_texts_sent_are_exactly_these() -> None:
    footer = "\n\nThis is an automated BreakPass alert. Reply STOP to opt out."
    link = ack_link(HOST, "abcdefghi")
    assert sms_text("It’s down", sender_kind="us_ca") == f"It's down{footer}"
    assert sms_text("Down", sender_kind="us_ca", reminder=REMINDER, link=link) == (
        f"Reminder 2 of 3: Down https://breakpass.example/a/abcdefghi{footer}"
    )
    assert sms_text("Down", sender_kind="numeric", reminder=REMINDER) == "BreakPass: Reminder 2 of 3: Down"
    assert sms_text("Down", sender_kind="alphanumeric", link=link) == "Down"
    assert sms_text("a & b", sender_kind="alphanumeric") == "a & b"
    assert len(BREAKPASS.sms_footer) == 62
    assert len(BREAKPASS.sms_prefix) == 11


@pytest.mark.parametrize(
    ("base", "token", "taken"),
    [
        ("https://breakpass.ai", 13, 37),
        ("https://breakpass.ai/", 13, 37),
        ("https://bp.io", 20, 37),
        ("https://breakpass.example", 9, 38),
        ("https://" + "a" * 40 + ".example", 9, 69),
    ],
)
def test_a_link_token_is_as_long_as_still_gives_37_characters_and_at_least_9(base: str, token: int, taken: int) -> None:
    assert ack_token_length(base) == token
    assert link_chars(base) == taken
    assert len(" " + ack_link(base, "x" * ack_token_length(base))) == taken


def test_characters_outside_the_alphabet_are_refused_where_there_is_no_room_for_them_at_all() -> None:
    for arguments in ({"link_chars": 37}, {"reminders": [REMINDER]}):
        with pytest.raises(Refusal) as refused:
            check_sms("Padł", sender_kind="us_ca", **arguments)
        assert refused.value.details == {"field": "message", "rule": "sms_alphabet"}


def test_a_link_is_refused_outside_the_us_and_canada_and_carried_inside() -> None:
    for kind in ("numeric", "alphanumeric"):
        with pytest.raises(Refusal) as refused:
            check_sms("see https://a.example", sender_kind=kind)
        assert refused.value.details == {"field": "message", "rule": "sms_link"}
        assert refused.value.message == (
            "Carriers outside the US and Canada block texts with links. Send it by WhatsApp, or remove the link."
        )
        assert not fits_sms("see https://a.example", sender_kind=kind)
    check_sms("see https://a.example", sender_kind="us_ca")


def test_cutting_the_only_foreign_letter_brings_back_the_whole_alphabet() -> None:
    with pytest.raises(Refusal) as refused:
        check_sms("a" * 90 + "ł" + "bcd", sender_kind="us_ca")
    assert refused.value.details["shorten_by"] == 4


def test_a_space_before_the_cut_goes_too() -> None:
    with pytest.raises(Refusal) as refused:
        check_sms("a" * 98 + " bc", sender_kind="us_ca")
    assert refused.value.details["shorten_by"] == 2


def test_a_cut_that_leaves_only_emoji_is_no_way_out() -> None:
    with pytest.raises(Refusal) as refused:
        check_sms("🚨" * 4 + " and words", sender_kind="us_ca")
    assert refused.value.details == {"field": "message", "rule": "sms_alphabet"}


LETTERS = "ab cd.€[]_*~`<>&(łéçжя語한🚨…’\u00a0e"
SCRIPTS = st.text(alphabet=st.sampled_from(LETTERS), min_size=1, max_size=230)


def _is_accepted(message: str, arguments: dict[str, Any]) -> bool:
    text = clean(message)
    try:
        check_message(text)
    except Refusal:
        return False
    return fits_sms(text, **arguments)


def _refusal_of(message: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    try:
        check_sms(message, **arguments)
    except Refusal as refused:
        return refused.details
    return None


@given(SCRIPTS, st.sampled_from(KINDS), st.sampled_from([0, 37]), st.sampled_from(["", REMINDER]))
@settings(max_examples=150, deadline=None)
def test_shorten_by_is_exact_in_every_script(raw: str, kind: SenderKind, link: int, reminder: str) -> None:
    message = clean(raw)
    arguments: dict[str, Any] = {"sender_kind": kind, "link_chars": link, "reminders": [reminder]}
    if not message:
        return
    details = _refusal_of(message, arguments)
    if details is None:
        # What was counted is what is sent, in one part.
        link_text = "x" * (link - 1) if link else ""
        sent = sms_text(message, sender_kind=kind, reminder=reminder, link=link_text)
        assert sms_units(sent).fits_one_part
        return
    assert not fits_sms(message, **arguments)
    if details["rule"] == "sms_length":
        assert details["shorten_by"] == next(n for n in range(1, len(message)) if _is_accepted(message[:-n], arguments))
    else:
        assert details == {"field": "message", "rule": "sms_alphabet"}


@given(SCRIPTS)
@settings(max_examples=100, deadline=None)
def test_the_room_and_the_units_of_the_message_add_up_to_what_is_sent(raw: str) -> None:
    message = clean(raw)
    for kind in KINDS:
        sent = sms_units(sms_text(message, sender_kind=kind, reminder=REMINDER))
        gsm = sent.encoding == "gsm7"
        bare = sms_units(sms_text(message, sender_kind="alphanumeric"))
        assert sent.units == bare.units + (160 if gsm else 70) - sms_room(kind, gsm=gsm, reminder=REMINDER)


def test_a_call_takes_150_characters() -> None:
    check_call("a" * 150)
    check_call("🚨" * 149 + "a")
    with pytest.raises(Refusal) as refused:
        check_call("a" * 151)
    assert refused.value.details == {"field": "message", "rule": "call_length", "max_length": 150, "shorten_by": 1}
    with pytest.raises(Refusal) as refused:
        check_call("a" * 150 + " b")
    assert refused.value.details["shorten_by"] == 1
    with pytest.raises(Refusal) as refused:
        check_call("a" * 600)
    assert refused.value.details["shorten_by"] == 450


def test_the_longest_message_of_each_channel() -> None:
    def longest(kind: SenderKind | None, *, has_sms: bool = True) -> dict[str, int | None]:
        return max_chars(kind, link_base_url="https://breakpass.ai", has_whatsapp=True, has_sms=has_sms, has_call=True)

    assert longest("us_ca") == {"whatsapp": 600, "sms": 98, "sms_confirm_link": 61, "call": 150}
    assert longest("numeric") == {"whatsapp": 600, "sms": 149, "sms_confirm_link": None, "call": 150}
    assert longest("alphanumeric") == {"whatsapp": 600, "sms": 160, "sms_confirm_link": None, "call": 150}
    assert longest("us_ca", has_sms=False) == {"whatsapp": 600, "sms": None, "sms_confirm_link": None, "call": 150}
    assert max_chars(None, link_base_url=HOST, has_whatsapp=False, has_sms=False, has_call=False) == {
        "whatsapp": None,
        "sms": None,
        "sms_confirm_link": None,
        "call": None,
    }


def test_whatsapp_variables_are_numbered_strings_and_the_token_is_the_buttons_payload() -> None:
    assert whatsapp_variables("Claude", "a & b", REMINDER) == {"1": "Claude", "2": "Reminder 2 of 3: a & b"}
    assert whatsapp_variables("Claude", "Down", "", "tok") == {"1": "Claude", "2": "Down", "3": "tok"}
    with pytest.raises(ValueError, match="empty"):
        whatsapp_variables("", "Down")


def test_an_invitation_names_who_invites_what_is_agreed_to_the_code_and_the_way_to_stop() -> None:
    assert invite_text("Sam", "012345", sender_kind="us_ca") == (
        "Sam invites you to automated BreakPass alerts (text, WhatsApp, call). "
        "To agree: code 012345, 10 min. Reply STOP to opt out."
    )
    named = Wording(stop_email="stop@breakpass.example")
    assert invite_text("Sam", "012345", sender_kind="alphanumeric", wording=named).endswith(
        " To stop: stop@breakpass.example"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["W" * 30, "ж" * 30, "語" * 30])
def test_an_invitation_takes_two_parts_at_most(kind: SenderKind, name: str) -> None:
    text = invite_text(name, "012345", sender_kind=kind, wording=Wording(stop_email="stop@breakpass.example"))
    assert sms_parts(text) <= 2
    assert name in text
    assert "012345" in text


def test_a_name_in_an_invitation_cannot_become_a_link() -> None:
    assert invite_text("win.example/x", "1", sender_kind="us_ca").startswith("win. example x invites you")


def test_a_verification_text_is_one_part_with_the_code() -> None:
    text = verification_text("012345")
    assert text.startswith("BreakPass code: 012345. It works for 10 minutes.")
    assert sms_parts(text) == 1


def test_long_texts_are_counted_in_parts_of_153_and_67_units() -> None:
    assert [sms_parts("a" * n) for n in (160, 161, 306, 307)] == [1, 2, 2, 3]
    assert [sms_parts("ж" * n) for n in (70, 71, 134, 135)] == [1, 2, 2, 3]
