"""What is read: the exact words of an SMS and a WhatsApp message, and how much room they leave."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from breakpass.errors import Refusal
from breakpass.text import (
    MESSAGE_MAX_CHARS,
    check_message,
    clean,
    find_links,
    is_gsm,
    rejection,
    sms_units,
    to_gsm_lookalikes,
)
from breakpass.text.gsm import GSM_PART_UNITS, UCS2_PART_UNITS
from breakpass.text.reminders import reminder_prefix as reminder_prefix
from breakpass.text.reminders import reminders_for as reminders_for

SenderKind = Literal["us_ca", "numeric", "alphanumeric"]
# The only kind whose SMS carries a confirmation link.
LINKED_SENDER: Final = "us_ca"

CALL_MAX_CHARS = 150
# A space, the link's base, "/a/" and the token: 37 characters in all (seed 001, `message`), unless the host is long.
LINK_CHARS = 37
TOKEN_MIN_CHARS = 9
_LINK_PATH = "/a/"
_REMOVABLE = str.maketrans(dict.fromkeys("`*_~[]()<>!&\\#+-=|: \u00a0\u200d\ufe0e\ufe0f", ""))


@dataclass(frozen=True, slots=True)
class Wording:
    """What a self-hosted service calls itself where people read or hear it. The defaults are the seed's."""

    service_name: str = "BreakPass"
    service_by: str = "X Labs"
    # The support number as it is spoken on +1 calls; empty leaves the sentence out.
    spoken_address: str = "3 3 2, 2 8 7, 9 2 0 0"
    # Where a person writes who cannot answer STOP, because the sender is a name.
    stop_email: str = ""

    @property
    def spoken_by(self) -> str:
        """The name a call opens with: "BreakPass by X Labs"."""
        return f"{self.service_name} by {self.service_by}" if self.service_by else self.service_name

    @property
    def sms_footer(self) -> str:
        """What every SMS to the US and Canada ends with, the blank line included (62 characters)."""
        return f"\n\nThis is an automated {self.service_name} alert. Reply STOP to opt out."

    @property
    def sms_prefix(self) -> str:
        """What an SMS starts with where the sender shows as a number (11 characters)."""
        return f"{self.service_name}: "


BREAKPASS = Wording()


def ack_token_length(link_base_url: str) -> int:
    """Characters of a confirmation link's token: as long as the link still takes 37, at least 9."""
    return max(TOKEN_MIN_CHARS, LINK_CHARS - len(f" {link_base_url.rstrip('/')}{_LINK_PATH}"))


def link_chars(link_base_url: str) -> int:
    """Characters a confirmation link takes from an SMS, the space before it included: 37, more with a long host."""
    return len(f" {ack_link(link_base_url, '')}") + ack_token_length(link_base_url)


def sender_kind(word: str) -> SenderKind | None:
    """A rate's word for its SMS sender (accounts.models.Rate.Sender) as texts know it; None for a blank one."""
    kinds: tuple[SenderKind, ...] = get_args(SenderKind)
    return next((kind for kind in kinds if kind == word), None)


def carried_link_chars(link_base_url: str, kind: SenderKind, *, requires_ack: bool) -> int:
    """Characters that an SMS of this kind gives to its confirmation link; 0 where it carries none."""
    return link_chars(link_base_url) if requires_ack and kind == LINKED_SENDER else 0


def ack_link(link_base_url: str, token: str) -> str:
    """The address of the page on which the holder acknowledges."""
    return f"{link_base_url.rstrip('/')}{_LINK_PATH}{token}"


def _around(sender_kind: SenderKind, wording: Wording) -> tuple[str, str]:
    """What stands before and after the words of an SMS."""
    before = wording.sms_prefix if sender_kind == "numeric" else ""
    after = wording.sms_footer if sender_kind == "us_ca" else ""
    return before, after


def sms_room(
    sender_kind: SenderKind, *, gsm: bool, link_chars: int = 0, reminder: str = "", wording: Wording = BREAKPASS
) -> int:
    """Units left for the message in one SMS part; may be negative. `gsm`: the text is in the SMS alphabet."""
    taken = sum(sms_units(part).units for part in (*_around(sender_kind, wording), reminder))
    # Only an SMS to the US and Canada carries a link.
    taken += link_chars if sender_kind == "us_ca" else 0
    return (GSM_PART_UNITS if gsm else UCS2_PART_UNITS) - taken


def sms_text(
    message: str, *, sender_kind: SenderKind, reminder: str = "", link: str = "", wording: Wording = BREAKPASS
) -> str:
    """The SMS exactly as it is sent. `link` is the confirmation link; outside the US and Canada there is none."""
    before, after = _around(sender_kind, wording)
    shown_link = f" {link}" if link and sender_kind == "us_ca" else ""
    return f"{before}{reminder}{to_gsm_lookalikes(message)}{shown_link}{after}"


def fits_sms(
    message: str,
    *,
    sender_kind: SenderKind,
    link_chars: int = 0,
    reminders: Sequence[str] = ("",),
    wording: Wording = BREAKPASS,
) -> bool:
    """True when a cleaned message may go as one SMS part, with the longest of its reminders and the link if it has one.

    False as well for a message with a link outside the US and Canada, where carriers block it.
    """
    if sender_kind != "us_ca" and find_links(message):
        return False
    return _fits(message, sender_kind, link_chars, _longest(reminders), wording)


def _longest(reminders: Sequence[str]) -> str:
    return max(reminders, key=len, default="")


def _fits(message: str, sender_kind: SenderKind, link_chars: int, reminder: str, wording: Wording) -> bool:
    used = sms_units(to_gsm_lookalikes(message))
    gsm = used.encoding == "gsm7"
    return used.units <= sms_room(sender_kind, gsm=gsm, link_chars=link_chars, reminder=reminder, wording=wording)


def smallest_cut(message: str, fits: Callable[[str], bool]) -> int | None:
    """The fewest characters to cut from the end of a cleaned message so that what is left would be accepted.

    What is left is cleaned and checked as a new message would be. None when no cut helps.
    """
    for cut in range(1, len(message)):
        # Reading markup is slow. Cleaning the start of a cleaned text can take out signs and spaces, never a letter,
        # so where the rest would not fit even without them, it is not worth reading.
        if not fits(message[:-cut].translate(_REMOVABLE)):
            continue
        rest = clean(message[:-cut])
        if not fits(rest):
            continue
        try:
            check_message(rest)
        except Refusal:
            continue
        return cut
    return None


def check_sms(
    message: str,
    *,
    sender_kind: SenderKind,
    link_chars: int = 0,
    reminders: Sequence[str] = ("",),
    wording: Wording = BREAKPASS,
) -> None:
    """Refuses a cleaned message that cannot go as one SMS: rules `sms_link`, `sms_alphabet`, `sms_length`.

    `sms_length` carries `shorten_by` (behaviour, Text). Checked for the longest of `reminders`.
    """
    if sender_kind != "us_ca" and find_links(message):
        raise rejection(
            "message",
            "sms_link",
            "Carriers outside the US and Canada block texts with links. Send it by WhatsApp, or remove the link.",
        )
    reminder = _longest(reminders)
    if _fits(message, sender_kind, link_chars, reminder, wording):
        return
    gsm = is_gsm(to_gsm_lookalikes(message))
    room = sms_room(sender_kind, gsm=gsm, link_chars=link_chars, reminder=reminder, wording=wording)
    cut = None
    if room > 0:
        cut = smallest_cut(message, lambda rest: _fits(rest, sender_kind, link_chars, reminder, wording))
    if cut is None:
        raise rejection(
            "message",
            "sms_alphabet",
            "An SMS to this number has no room for characters outside the SMS alphabet. Write it without them, "
            "or send it by WhatsApp.",
        )
    raise rejection(
        "message",
        "sms_length",
        f"This message doesn't fit one SMS. Make it {_characters(cut)} shorter.",
        shorten_by=cut,
    )


def check_call(message: str) -> None:
    """Refuses a cleaned message too long to be read out: rule `call_length`, with `shorten_by` (seed 001, Limits)."""
    if len(message) <= CALL_MAX_CHARS:
        return
    cut = smallest_cut(message, lambda rest: len(rest) <= CALL_MAX_CHARS) or len(message) - CALL_MAX_CHARS
    raise rejection(
        "message",
        "call_length",
        f"An alert with a call takes at most {CALL_MAX_CHARS} characters. Make it {_characters(cut)} shorter.",
        max_length=CALL_MAX_CHARS,
        shorten_by=cut,
    )


def _characters(count: int) -> str:
    return "1 character" if count == 1 else f"{count} characters"


def max_chars(
    sender_kind: SenderKind | None,
    *,
    link_base_url: str,
    has_whatsapp: bool,
    has_sms: bool,
    has_call: bool,
    wording: Wording = BREAKPASS,
) -> dict[str, int | None]:
    """The longest message each channel takes, in characters (seed 001, `recipients[].max_chars`); None: not offered."""
    sms = sms_room(sender_kind, gsm=True, wording=wording) if has_sms and sender_kind else None
    confirm = None
    if has_sms and sender_kind == "us_ca":
        room = sms_room(sender_kind, gsm=True, link_chars=link_chars(link_base_url), wording=wording)
        confirm = max(0, room)
    return {
        "whatsapp": MESSAGE_MAX_CHARS if has_whatsapp else None,
        "sms": sms,
        "sms_confirm_link": confirm,
        "call": CALL_MAX_CHARS if has_call else None,
    }


def whatsapp_variables(agent_name: str, message: str, reminder: str = "", token: str | None = None) -> dict[str, str]:
    """The variables of the alert templates: {{1}} who, {{2}} what, and with an Acknowledge button {{3}} its payload.

    WhatsApp takes none that is empty or holds a line break, a tab or a run of spaces; cleaned text never does.
    """
    variables = {"1": agent_name, "2": f"{reminder}{message}"}
    if token is not None:
        variables["3"] = token
    if not all(variables.values()):
        raise ValueError("a template variable is empty")
    return variables


def _stop_sentence(sender_kind: SenderKind, wording: Wording) -> str:
    """How to stop: by answering, or by mail where the sender is a name that takes no answer."""
    if sender_kind == "alphanumeric":
        return f" To stop: {wording.stop_email}" if wording.stop_email else ""
    return " Reply STOP to opt out."


def verification_text(code: str, *, minutes: int = 10, wording: Wording = BREAKPASS) -> str:
    """The text with a verification code that somebody asked for."""
    return (
        f"{wording.service_name} code: {code}. It works for {minutes} minutes. "
        "If you didn't ask for it, ignore this text and give the code to nobody."
    )


def invite_text(
    inviter: str, code: str, *, sender_kind: SenderKind, minutes: int = 10, wording: Wording = BREAKPASS
) -> str:
    """The one text of an invitation: who invites, what is agreed to, the code, and the way to stop.

    One SMS part for most names in the SMS alphabet; two for any other, unless a long `stop_email` is added.
    """
    # A name like `win.example` must not turn into a link on the phone.
    name = " ".join(to_gsm_lookalikes(inviter).replace(".", ". ").replace("/", " ").split()).rstrip(".")
    stop = _stop_sentence(sender_kind, wording)
    full = (
        f"{name} invites you to automated {wording.service_name} alerts (text, WhatsApp, call). "
        f"To agree: code {code}, {minutes} min.{stop}"
    )
    # A name outside the SMS alphabet more than halves the room.
    brief = f"{name} invites you to {wording.service_name} alerts by text, WhatsApp, call. Agree: {code}.{stop}"
    return full if sms_parts(full) <= 2 else brief


def sms_parts(text: str) -> int:
    """How many SMS parts a text takes; of a long one each part loses some room to its header (153 or 67 units)."""
    used = sms_units(text)
    one, each = (GSM_PART_UNITS, 153) if used.encoding == "gsm7" else (UCS2_PART_UNITS, 67)
    return 1 if used.units <= one else math.ceil(used.units / each)
