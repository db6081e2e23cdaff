"""Countries by their ISO code: the English names that pages show. Which are offered is in the rate rows."""

from functools import cache

import phonenumbers
from phonenumbers import geocoder

# Regions for which the numbering plan has no name of its own.
UNNAMED = {
    "AC": "Ascension Island",
    "BL": "Saint Barthélemy",
    "EH": "Western Sahara",
    "MF": "Saint Martin",
    "TA": "Tristan da Cunha",
    "XK": "Kosovo",
}


@cache
def country_names() -> dict[str, str]:
    """Every country that has phone numbers: ISO code -> English name, ordered by name."""
    names = dict(UNNAMED)
    for code in phonenumbers.SUPPORTED_REGIONS - UNNAMED.keys():
        number = phonenumbers.example_number(code)
        if number is not None:
            names[code] = geocoder.country_name_for_number(number, "en") or code
    return dict(sorted(names.items(), key=lambda item: item[1]))


@cache
def calling_choices() -> list[tuple[str, str]]:
    """The countries with their calling codes, for a select: ("DE", "Germany (+49)")."""
    return [(code, f"{name} (+{phonenumbers.country_code_for_region(code)})") for code, name in country_names().items()]
