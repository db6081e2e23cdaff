"""Cleaning: any text to one line of plain text, the form that is counted, previewed, hashed and sent."""

import re
import unicodedata

from breakpass.errors import Refusal
from breakpass.text.invisible import LINE_ENDS, strip_invisible
from breakpass.text.markup import to_plain_lines

# Far over any message's limit; past it reading markup would cost more than the answer is worth.
RAW_MAX_CHARS = 10_000
# Seed 001, Limits: counted on the cleaned text.
MESSAGE_MAX_CHARS = 600
# Honest text settles in two or three readings. Deeper nesting is made to cost time.
MAX_READINGS = 8

_SPACES = re.compile(r"\s+")
_CLOSERS = "\"'”’»›)]}*_"  # quotes as people write them
_ENDS = frozenset(".!?…:;,-–—([{。！？：；，、।۔؟،")
_MARKUP = str.maketrans(dict.fromkeys("`*_~[]<>&\\#|", ""))


def _collapse(text: str) -> str:
    """One space for a run of spaces and none at the ends; a single no-break space stays what it is."""
    return _SPACES.sub(lambda run: " " if len(run[0]) > 1 or run[0] in "\t\n" else run[0], text).strip()


def _joins_with_stop(line: str) -> bool:
    """True when `line` says something and has no end punctuation, so a full stop stands for its line break."""
    end = line.rstrip(_CLOSERS)[-1:]
    return end not in _ENDS and line[-1:] not in _ENDS and any(char.isalnum() for char in line)


def _join_lines(text: str) -> str:
    lines = [line for line in map(_collapse, text.split("\n")) if line]
    return "".join(f"{line}. " if _joins_with_stop(line) else f"{line} " for line in lines[:-1]) + "".join(lines[-1:])


def _read_once(text: str) -> str:
    lines = to_plain_lines(strip_invisible(text))
    return _collapse(unicodedata.normalize("NFC", strip_invisible(_join_lines(strip_invisible(lines)))))


def clean(raw: str, *, field: str = "message", max_chars: int = MESSAGE_MAX_CHARS) -> str:
    """`raw` as one line of plain text (behaviour, Text). Cleaning it again changes nothing.

    Refuses (CONTENT_REJECTED, `max_length`) more than RAW_MAX_CHARS, which no limit could take; `field` and
    `max_chars` only name the field and its limit in that refusal. The limit itself is `check_message`'s.
    """
    if len(raw) > RAW_MAX_CHARS:
        raise Refusal(
            "CONTENT_REJECTED",
            f"`{field}` takes at most {max_chars} characters; this one has {len(raw)}.",
            details={"field": field, "rule": "max_length", "max_length": max_chars},
        )
    text = raw
    for _ in range(MAX_READINGS):
        before, text = text, _read_once(text)
        if text == before:
            return text
    # Still changing: markup wrapped in markup to no honest end. Without its characters it can only shrink and settle.
    text = text.translate(_MARKUP)
    while (once := _read_once(text.lstrip("-+= "))) != text:
        text = once
    return text


def clean_name(raw: str) -> str:
    """A name as one line of visible text: no markup is read, so `R*D*` and `snake_case` are names. Not cut."""
    text = strip_invisible(LINE_ENDS.sub(" ", raw))
    return _collapse(strip_invisible(unicodedata.normalize("NFC", text)))
