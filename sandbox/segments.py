"""How many parts an SMS takes: GSM-7 with its two-unit characters, else UCS-2."""

import math

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
_DOUBLE = frozenset("^{}\\[]~|€\f")


def count_segments(text: str) -> int:
    """Parts of a text: 160 units in one, 153 in each of several; outside GSM-7, 70 and 67 UTF-16 units."""
    if all(char in _BASIC or char in _DOUBLE for char in text):
        units, one, each = sum(2 if char in _DOUBLE else 1 for char in text), 160, 153
    else:
        units, one, each = len(text.encode("utf-16-le")) // 2, 70, 67
    return 1 if units <= one else math.ceil(units / each)
