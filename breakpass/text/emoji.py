"""Telling emoji from words: a message must say something (seed 001, CONTENT_REJECTED: emoji only)."""

import re

ZWJ = "\u200d"
VARIATION_SELECTORS = "\ufe0e\ufe0f"
SKIN_TONES = "\U0001f3fb-\U0001f3ff"

# Blocks whose characters are emoji or pictographs. Plain arrows, boxes and letters are not in it.
PICTOGRAPHS = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u24c2"
    "\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
PICTOGRAPH = re.compile(f"[{PICTOGRAPHS}]")
_KEYCAP = f"[0-9#*][{VARIATION_SELECTORS}]?\u20e3"
_EMOJI_OR_SPACE = re.compile(f"(?:{_KEYCAP}|[{PICTOGRAPHS}{VARIATION_SELECTORS}{ZWJ}]|\\s)+")


def is_emoji_only(text: str) -> bool:
    """True when there is at least one emoji and, apart from spaces, nothing else."""
    return bool(text.strip()) and _EMOJI_OR_SPACE.fullmatch(text) is not None
