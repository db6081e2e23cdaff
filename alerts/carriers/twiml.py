"""What a call says and which keys count: TwiML documents and a pure state machine (seed 001, What a call says).

A call has three parts. `message`: the opening, the message, "Press 1", a pause. `stop`: how to stop all alerts.
`end`: the last words. Every part is a Gather, so a key counts to the last word: 1 acknowledges anywhere; 9 stops all
alerts from the stop sentence on. A Gather that hears no key falls through to the next verb of the same document,
without a request.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from xml.etree import ElementTree as ET

from alerts.content import BREAKPASS, Wording
from breakpass.text import clean_name

Part = Literal["message", "stop", "end"]
Say = Literal["message_again", "stop", "goodbye", "acknowledged", "acknowledged_early", "opted_out", "nothing"]

PAUSE_S = 3
# After the stop sentence a key needs a moment to follow; after the last word the line only waits for a late finger.
STOP_WAIT_S = 2
END_WAIT_S = 1
MESSAGE_TIMES = 2

PRESS_ONE = "Press 1 to acknowledge."
GOODBYE = "Goodbye."
ACKNOWLEDGED = "Acknowledged. Goodbye."


@dataclass(frozen=True, slots=True)
class Turn:
    """What a key does: which words come next, and what is to be written down before they are said."""

    say: Say
    acknowledges: bool = False
    opts_out: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """One call's words. `action_url` is the signed address that keys are posted to; part and heard are added to it."""

    message: str
    agent_name: str
    requires_ack: bool
    is_plus_one: bool
    action_url: str
    wording: Wording = BREAKPASS


def next_part(part: Part, heard: int, digits: str, *, requires_ack: bool) -> Turn:
    """What follows a key. `heard` counts how often the message has begun, from 1; `digits` is what Twilio collected.

    Key 1 acknowledges in every part, where acknowledgement is asked; elsewhere it is a key like any other. Key 9 counts
    in `stop` and `end` only. Any other key in `message` cut the message off, so it is said once more, and once only.
    """
    if digits == "1" and requires_ack:
        return Turn("acknowledged_early" if part == "message" else "acknowledged", acknowledges=True)
    if part == "message":
        return Turn("message_again" if digits and heard < MESSAGE_TIMES else "stop")
    if digits == "9":
        return Turn("opted_out", opts_out=True)
    return Turn("goodbye" if part == "stop" else "nothing")


def open_call(script: Script) -> str:
    """The document a call starts with: opening, message, pause, stop sentence, goodbye."""
    by = script.wording.spoken_by
    response = ET.Element("Response")
    _say_message(response, script, heard=1, before=f"This is {by}, with an alert from {script.agent_name}.")
    _say_stop(response, script)
    _say_last(response, script, GOODBYE)
    return _document(response)


def answer(script: Script, turn: Turn, *, heard: int) -> str:
    """The document that answers a key. `heard` is the count the key came with."""
    response = ET.Element("Response")
    match turn.say:
        case "message_again":
            _say_message(response, script, heard=heard + 1)
            _say_stop(response, script)
            _say_last(response, script, GOODBYE)
        case "stop":
            _say_stop(response, script)
            _say_last(response, script, GOODBYE)
        case "goodbye":
            _say_last(response, script, GOODBYE)
        case "acknowledged":
            _say_last(response, script, ACKNOWLEDGED)
        case "acknowledged_early":
            # The stop sentence was not said, so key 9 does not count, and there is nothing left for key 1 to do.
            _say(response, ACKNOWLEDGED)
        case "opted_out":
            _say_last(response, script, f"You will receive no more {script.wording.service_name} alerts. {GOODBYE}")
        case "nothing":
            pass
    ET.SubElement(response, "Hangup")
    return _document(response)


def hang_up(*sentences: str) -> str:
    """A document that says these sentences, if any, and ends the call."""
    response = ET.Element("Response")
    for sentence in sentences:
        _say(response, sentence)
    ET.SubElement(response, "Hangup")
    return _document(response)


def parse_part(value: str) -> Part:
    """The part named in an action URL; anything unknown counts as the last one."""
    return "message" if value == "message" else "stop" if value == "stop" else "end"


def _say_message(response: ET.Element, script: Script, *, heard: int, before: str = "") -> None:
    sentences = [before, script.message, PRESS_ONE if script.requires_ack else ""]
    _gather(response, script, "message", [s for s in sentences if s], heard=heard, wait_s=PAUSE_S)


def _say_stop(response: ET.Element, script: Script) -> None:
    sentences = [f"To stop all {script.wording.service_name} alerts to this number, press 9."]
    if script.is_plus_one and script.wording.spoken_address:
        sentences.append(f"To reach us, call {script.wording.spoken_address}.")
    _gather(response, script, "stop", sentences, wait_s=STOP_WAIT_S)


def _say_last(response: ET.Element, script: Script, sentence: str) -> None:
    _gather(response, script, "end", [sentence], wait_s=END_WAIT_S)


def _gather(
    response: ET.Element,
    script: Script,
    part: Part,
    sentences: Sequence[str],
    *,
    wait_s: int,
    heard: int = MESSAGE_TIMES,
) -> None:
    gather = ET.SubElement(
        response,
        "Gather",
        {
            "input": "dtmf",
            "numDigits": "1",
            # Without this `#` would end the Gather with no digit; it is a key like any other.
            "finishOnKey": "",
            "timeout": str(wait_s),
            "method": "POST",
            "action": _with_query(script.action_url, part=part, heard=str(heard)),
        },
    )
    for sentence in sentences:
        _say(gather, sentence)


def _say(parent: ET.Element, sentence: str) -> None:
    # XML holds no control characters at all, not even escaped; a name from elsewhere might.
    ET.SubElement(parent, "Say").text = clean_name(sentence)


def _with_query(url: str, **more: str) -> str:
    parts = urlsplit(url)
    query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), *more.items()])
    return urlunsplit(parts._replace(query=query))


def _document(response: ET.Element) -> str:
    return '<?xml version="1.0" encoding="UTF-8"?>' + ET.tostring(response, encoding="unicode")
