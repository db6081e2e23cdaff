"""How an SMS is counted: the GSM 03.38 alphabet, UCS-2, and the typographic characters that have a GSM twin."""

import unicodedata
from dataclasses import dataclass
from typing import Literal

GSM_PART_UNITS = 160
UCS2_PART_UNITS = 70

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED = frozenset("^{}\\[]~|€\f")

_TWINS = str.maketrans(
    dict.fromkeys("‘’‚‛′ʼ‹›", "'")  # the look-alikes themselves
    | dict.fromkeys("“”„‟″«»", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | {"…": "..."}
)


@dataclass(frozen=True, slots=True)
class SmsUnits:
    """What a text takes in an SMS: septets of GSM-7, or UTF-16 units of UCS-2."""

    encoding: Literal["gsm7", "ucs2"]
    units: int

    @property
    def fits_one_part(self) -> bool:
        """True when the text goes out as one SMS part."""
        return self.units <= (GSM_PART_UNITS if self.encoding == "gsm7" else UCS2_PART_UNITS)


def is_gsm(text: str) -> bool:
    """True when every character is in the SMS alphabet."""
    return all(char in _BASIC or char in _EXTENDED for char in text)


def sms_units(text: str) -> SmsUnits:
    """The encoding and units of exactly this text. One character outside the SMS alphabet makes all of it UCS-2."""
    if is_gsm(text):
        return SmsUnits("gsm7", len(text) + sum(char in _EXTENDED for char in text))
    return SmsUnits("ucs2", len(text.encode("utf-16-le", "surrogatepass")) // 2)


def to_gsm_lookalikes(text: str) -> str:
    """Curly quotes, dashes, the ellipsis and special spaces as their plain twins (behaviour, Text: for SMS only)."""
    plain = text.translate(_TWINS)
    if plain.isascii():
        return plain
    return "".join(" " if unicodedata.category(char) == "Zs" else char for char in plain)
