"""What a call says, word by word, and which key does what when."""

from xml.etree import ElementTree as ET

import pytest

from alerts.carriers.twiml import Script, Turn, answer, hang_up, next_part, open_call, parse_part
from alerts.content import Wording
from breakpass.text import clean

ACTION = "https://breakpass.example/hooks/voice/?sig=a%3Ab"


def script(*, requires_ack: bool = True, is_plus_one: bool = True, message: str = "Checkout is failing.") -> Script:
    return Script(message, "Claude", requires_ack, is_plus_one, ACTION)


def parts(document: str) -> list[tuple[str, list[str]]]:
    """Each verb in order: what it is or which part it gathers for, and the sentences in it."""
    found: list[tuple[str, list[str]]] = []
    for verb in ET.fromstring(document):
        if verb.tag == "Gather":
            found.append((verb.attrib["action"].split("&", 1)[1], [say.text or "" for say in verb]))
        else:
            found.append((verb.tag, [verb.text] if verb.text else []))
    return found


STOP = "To stop all BreakPass alerts to this number, press 9."
ADDRESS = "To reach us, call 3 3 2, 2 8 7, 9 2 0 0."


def test_a_call_says_the_contracts_words_in_order() -> None:
    document = open_call(script())
    assert document.startswith('<?xml version="1.0" encoding="UTF-8"?><Response>')
    assert parts(document) == [
        (
            "part=message&heard=1",
            [
                "This is BreakPass by X Labs, with an alert from Claude.",
                "Checkout is failing.",
                "Press 1 to acknowledge.",
            ],
        ),
        ("part=stop&heard=2", [STOP, ADDRESS]),
        ("part=end&heard=2", ["Goodbye."]),
    ]


def test_without_acknowledgement_press_1_is_not_said_and_outside_plus_one_no_number_is() -> None:
    assert parts(open_call(script(requires_ack=False, is_plus_one=False))) == [
        ("part=message&heard=1", ["This is BreakPass by X Labs, with an alert from Claude.", "Checkout is failing."]),
        ("part=stop&heard=2", [STOP]),
        ("part=end&heard=2", ["Goodbye."]),
    ]


def test_every_gather_takes_one_key_and_the_pause_after_the_message_is_three_seconds() -> None:
    gathers = list(ET.fromstring(open_call(script())))
    assert [gather.tag for gather in gathers] == ["Gather", "Gather", "Gather"]
    assert [gather.attrib["timeout"] for gather in gathers] == ["3", "2", "1"]
    for gather in gathers:
        assert gather.attrib["input"] == "dtmf"
        assert gather.attrib["numDigits"] == "1"
        assert gather.attrib["finishOnKey"] == ""
        assert gather.attrib["method"] == "POST"
        assert gather.attrib["action"].startswith(ACTION + "&part=")


def test_markup_in_a_message_is_spoken_text_and_never_a_verb() -> None:
    message = clean("<Dial>+1900…</Dial> & \"q\" 'x' ’\x0b")
    root = ET.fromstring(open_call(script(message=message)))
    spoken = [say.text for say in root.iter("Say")]
    assert spoken.count("<Dial>+1900…</Dial> & \"q\" 'x' ’") == 1
    assert {element.tag for element in root.iter()} == {"Response", "Gather", "Say"}


def test_a_name_with_control_characters_still_makes_a_document_that_parses() -> None:
    document = open_call(Script("Hi", "a\x00</Say>\x0b", True, False, ACTION))
    assert ET.fromstring(document)[0][0].text == "This is BreakPass by X Labs, with an alert from a</Say>."


def test_a_self_hosted_service_says_its_own_name() -> None:
    wording = Wording(service_name="Pager", service_by="", spoken_address="")
    assert parts(open_call(Script("Hi", "Bot", False, True, ACTION, wording))) == [
        ("part=message&heard=1", ["This is Pager, with an alert from Bot.", "Hi"]),
        ("part=stop&heard=2", ["To stop all Pager alerts to this number, press 9."]),
        ("part=end&heard=2", ["Goodbye."]),
    ]


@pytest.mark.parametrize(
    ("part", "heard", "digits", "turn"),
    [
        ("message", 1, "1", Turn("acknowledged_early", acknowledges=True)),
        ("message", 2, "1", Turn("acknowledged_early", acknowledges=True)),
        ("message", 1, "9", Turn("message_again")),
        ("message", 1, "#", Turn("message_again")),
        ("message", 2, "9", Turn("stop")),
        ("message", 2, "5", Turn("stop")),
        ("message", 1, "", Turn("stop")),
        ("stop", 2, "1", Turn("acknowledged", acknowledges=True)),
        ("stop", 2, "9", Turn("opted_out", opts_out=True)),
        ("stop", 2, "5", Turn("goodbye")),
        ("stop", 2, "", Turn("goodbye")),
        ("end", 2, "1", Turn("acknowledged", acknowledges=True)),
        ("end", 2, "9", Turn("opted_out", opts_out=True)),
        ("end", 2, "5", Turn("nothing")),
    ],
)
def test_what_a_key_does_depends_on_the_part(part: str, heard: int, digits: str, turn: Turn) -> None:
    assert next_part(parse_part(part), heard, digits, requires_ack=True) == turn


@pytest.mark.parametrize(
    ("part", "heard", "say"),
    [("message", 1, "message_again"), ("message", 2, "stop"), ("stop", 2, "goodbye"), ("end", 2, "nothing")],
)
def test_key_1_is_a_key_like_any_other_where_no_acknowledgement_is_asked(part: str, heard: int, say: str) -> None:
    turn = next_part(parse_part(part), heard, "1", requires_ack=False)
    assert turn.say == say
    assert not turn.acknowledges


def test_the_message_is_heard_again_once_and_then_never() -> None:
    again = answer(script(), Turn("message_again"), heard=1)
    assert parts(again) == [
        ("part=message&heard=2", ["Checkout is failing.", "Press 1 to acknowledge."]),
        ("part=stop&heard=2", [STOP, ADDRESS]),
        ("part=end&heard=2", ["Goodbye."]),
        ("Hangup", []),
    ]
    assert next_part("message", 2, "5", requires_ack=True).say == "stop"


@pytest.mark.parametrize(
    ("turn", "spoken"),
    [
        (Turn("stop"), [("part=stop&heard=2", [STOP, ADDRESS]), ("part=end&heard=2", ["Goodbye."])]),
        (Turn("goodbye"), [("part=end&heard=2", ["Goodbye."])]),
        (Turn("acknowledged"), [("part=end&heard=2", ["Acknowledged. Goodbye."])]),
        (Turn("acknowledged_early"), [("Say", ["Acknowledged. Goodbye."])]),
        (Turn("opted_out"), [("part=end&heard=2", ["You will receive no more BreakPass alerts. Goodbye."])]),
        (Turn("nothing"), []),
    ],
)
def test_the_answer_to_a_key_is_said_and_the_call_ends(turn: Turn, spoken: list[tuple[str, list[str]]]) -> None:
    assert parts(answer(script(), turn, heard=2)) == [*spoken, ("Hangup", [])]


def test_hanging_up_says_what_it_is_given() -> None:
    assert parts(hang_up()) == [("Hangup", [])]
    assert parts(hang_up("Goodbye.")) == [("Say", ["Goodbye."]), ("Hangup", [])]


def test_a_part_nobody_knows_counts_as_the_last_one() -> None:
    assert [parse_part(value) for value in ("message", "stop", "end", "x", "")] == [
        "message",
        "stop",
        "end",
        "end",
        "end",
    ]
