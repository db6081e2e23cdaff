"""Workflows in words: the contract's sentences come out of the general rules."""

from dataclasses import replace

import pytest

from workflows.defaults import ACKNOWLEDGE, ESCALATE, INFORM, Definition
from workflows.plan import Step
from workflows.wording import summary, use_when

SMS = "One SMS if a WhatsApp message can't be delivered."


@pytest.mark.parametrize(
    ("definition", "words", "when"),
    [
        (
            INFORM,
            f"Message at minute 0. No acknowledgement. {SMS}",
            "The user only needs to know. One message, no reply needed.",
        ),
        (
            ACKNOWLEDGE,
            f"Messages at minutes 0, 10 and 30, then it stops; an acknowledgement stops it sooner. {SMS}",
            "It matters that the user saw it. Up to 3 messages, at 0, 10 and 30 minutes, until acknowledged.",
        ),
        (
            ESCALATE,
            "Message at minute 0; calls at minutes 0, 1 and 2, then it stops; an acknowledgement stops it sooner. "
            + SMS,
            "The user must know or act before returning. A message and a call at once, then calls at 1 and 2 minutes; "
            "3 calls in all.",
        ),
    ],
)
def test_the_defaults_read_as_the_contract_has_them(definition: Definition, words: str, when: str) -> None:
    assert summary(definition) == words
    assert use_when(definition) == when


@pytest.mark.parametrize(
    ("definition", "words", "when"),
    [
        (
            replace(INFORM, requires_ack=True, allows_sms_fallback=False),
            "Message at minute 0, then it stops; an acknowledgement stops it sooner.",
            "The user only needs to know. One message, until acknowledged.",
        ),
        (
            replace(ACKNOWLEDGE, requires_ack=False, max_attempts=3),
            "Messages at minutes 0, 10 and 30, then it stops; the first delivery stops it sooner. No acknowledgement.",
            "It matters that the user saw it. Up to 3 messages, at 0, 10 and 30 minutes, until one is delivered.",
        ),
        (
            replace(ESCALATE, steps=(Step(0, "call"), Step(5, "message")), max_attempts=2),
            "Call at minute 0; message at minute 5, then it stops; an acknowledgement stops it sooner.",
            "The user must know or act before returning. A call at 0 minutes and a message at 5 minutes, "
            "until acknowledged.",
        ),
        (
            replace(ESCALATE, steps=(Step(0, "message"), Step(0, "call"), Step(1, "call"))),
            f"Message at minute 0; calls at minutes 0 and 1, then it stops; an acknowledgement stops it sooner. {SMS}",
            "The user must know or act before returning. A message and a call at once, then a call at 1 minute; "
            "2 calls in all.",
        ),
        (
            replace(INFORM, steps=(Step(0, "call"),)),
            "Call at minute 0. No acknowledgement.",
            "The user only needs to know. One call, no reply needed.",
        ),
        (
            replace(INFORM, steps=(Step(1, "message"),)),
            f"Message at minute 1. No acknowledgement. {SMS}",
            "The user only needs to know. One message after 1 minute, no reply needed.",
        ),
    ],
)
def test_any_steps_read_in_the_same_style(definition: Definition, words: str, when: str) -> None:
    assert summary(definition) == words
    assert use_when(definition) == when
