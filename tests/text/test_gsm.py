"""Counting SMS units, and typographic twins."""

import pytest

from breakpass.text import sms_units, to_gsm_lookalikes


@pytest.mark.parametrize(
    ("text", "encoding", "units"),
    [
        ("Build [x] failed €5", "gsm7", 22),
        ("it’s down", "ucs2", 9),
        ("a\u00a0b", "ucs2", 3),
        ("código", "ucs2", 6),
        ("Ç", "gsm7", 1),
        ("ç", "ucs2", 1),
        ("`", "ucs2", 1),
        ("Δ_", "gsm7", 2),
        ("\u2206", "ucs2", 1),
        ("🚨 down", "ucs2", 7),
        ("e\u0301", "ucs2", 2),
        ("\u00e9", "gsm7", 1),
        ("…", "ucs2", 1),
        ("–", "ucs2", 1),
        ("“", "ucs2", 1),
        ("\t", "ucs2", 1),
        ("¡¿§¤àñüÑ", "gsm7", 8),
        ("^{}\\[]~|€\f", "gsm7", 20),
        ("\r\n", "gsm7", 2),
        ("", "gsm7", 0),
    ],
)
def test_units_are_counted_as_the_carrier_counts_them(text: str, encoding: str, units: int) -> None:
    counted = sms_units(text)
    assert (counted.encoding, counted.units) == (encoding, units)


def test_one_part_is_160_or_70_units() -> None:
    assert sms_units("a" * 160).fits_one_part
    assert not sms_units("a" * 161).fits_one_part
    assert sms_units("ł" * 70).fits_one_part
    assert not sms_units("ł" * 71).fits_one_part
    assert sms_units("🚨" * 35).fits_one_part
    assert not sms_units("🚨" * 36).fits_one_part
    assert not sms_units("€" * 81).fits_one_part


def test_typographic_characters_go_to_their_twins_and_others_stay() -> None:
    assert to_gsm_lookalikes("‘a’ “b” «c» – — … \u00a0\u202f") == '\'a\' "b" "c" - - ...   '
    assert to_gsm_lookalikes("ł ç ` 🚨 é") == "ł ç ` 🚨 é"
