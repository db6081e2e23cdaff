"""What cannot be seen: control, format and filler characters taken out, and line ends made one kind."""

import re
import unicodedata

from breakpass.text.emoji import PICTOGRAPHS, SKIN_TONES, VARIATION_SELECTORS, ZWJ

LINE_ENDS = re.compile("\r\n|[\r\n\u0085\u2028\u2029]")

# Invisible although their category says letter, mark or symbol (Unicode's Default_Ignorable_Code_Point, and fillers).
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0d\U000e0000-\U000e0fff"
    "\ufdd0-\ufdef\U0001fffe\U0001ffff]"
)
# A joiner or a variation selector says something only inside an emoji; elsewhere it is a hiding place.
_JOINED = re.compile(f"(?<=[{PICTOGRAPHS}{VARIATION_SELECTORS}{SKIN_TONES}]){ZWJ}(?=[{PICTOGRAPHS}])")
_SELECTED = re.compile(f"(?<=[{PICTOGRAPHS}0-9#*])[{VARIATION_SELECTORS}]")
_INSIDE_EMOJI = re.compile(f"(?:{_JOINED.pattern})|(?:{_SELECTED.pattern})")
_GONE = frozenset({"Cc", "Cf", "Cs"})
_KEPT = frozenset("\n\t")


def _is_seen(char: str) -> bool:
    if char in _KEPT:
        return True
    if char in VARIATION_SELECTORS or unicodedata.category(char) in _GONE:
        return False
    # The last two code points of every plane are not characters, and XML refuses them.
    return ord(char) & 0xFFFE != 0xFFFE and _FILLERS.match(char) is None


def strip_invisible(text: str) -> str:
    """`text` without control and invisible characters; tabs stay, every kind of line end is one `\\n`.

    A joiner or variation selector inside an emoji stays, so that the family, the flag and the heart keep their looks.
    """
    text = LINE_ENDS.sub("\n", text)
    if text.isascii() and text.isprintable():
        return text
    pieces: list[str] = []
    start = 0
    for match in _INSIDE_EMOJI.finditer(text):
        pieces.extend(char for char in text[start : match.start()] if _is_seen(char))
        pieces.append(match.group())
        start = match.end()
    pieces.extend(char for char in text[start:] if _is_seen(char))
    return "".join(pieces)
