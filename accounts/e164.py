"""Phone numbers as E.164: read from what people type, the country they belong to, and how they are found and shown."""

import re

import phonenumbers
from django.conf import settings
from phonenumbers import PhoneNumberType

from breakpass.ids import keyed_hash
from breakpass.text import rejection

# Calls to these cost their owner's caller extra, or reach a machine.
REFUSED_TYPES = frozenset(
    {PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST, PhoneNumberType.VOICEMAIL, PhoneNumberType.PAGER}
)

# A digit that mobile numbers got, or lost, long after people had given theirs to WhatsApp: Mexico, Argentina, Brazil.
LATER_DIGITS = (
    (re.compile(r"(\+52)1?(\d{10})"), "1"),
    (re.compile(r"(\+54)9?(\d{10})"), "9"),
    (re.compile(r"(\+55\d\d)9?([6-9]\d{7})"), "9"),
)


def parse_number(raw: str, *, default_country: str = "") -> str:
    """The number in E.164: with + and its country code, or as it is dialled in `default_country` (ISO code).

    Refuses CONTENT_REJECTED, field `number`, rule `format`: no phone number, one that the numbering plan does not know
    (outside production, where numbers are made up, it need only be possible), a premium number, one of our senders.
    """
    try:
        parsed = phonenumbers.parse(raw, default_country.upper() or None)
    except phonenumbers.NumberParseException:
        raise rejection("number", "format", "Enter a phone number with + and its country code.") from None
    is_known = phonenumbers.is_valid_number(parsed)
    if not is_known and (settings.PRODUCTION or not phonenumbers.is_possible_number(parsed)):
        raise rejection("number", "format", "This isn't a phone number that can be reached. Check its digits.")
    e164 = str(phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164))
    if not country_of(e164) or phonenumbers.number_type(parsed) in REFUSED_TYPES:
        raise rejection("number", "format", "This kind of number can't get alerts. Use a mobile or landline number.")
    if e164 in _own_senders():
        raise rejection(
            "number", "format", f"This is one of {settings.SERVICE_NAME}'s own numbers. Enter the person's number."
        )
    return e164


def country_of(e164: str) -> str:
    """The ISO code of the country or territory; blank for numbers that belong to none.

    A number that the numbering plan does not know counts to its calling code's main country.
    """
    parsed = phonenumbers.parse(e164)
    known = phonenumbers.region_code_for_number(parsed)
    region = str(known or phonenumbers.region_code_for_country_code(parsed.country_code or 0))
    return region if len(region) == 2 and region != "ZZ" else ""


def spellings(e164: str) -> frozenset[str]:
    """Every way in which one phone's number may reach us: WhatsApp keeps the form in which its account was made."""
    for pattern, digit in LATER_DIGITS:
        found = pattern.fullmatch(e164)
        if found is not None:
            return frozenset({found[1] + found[2], found[1] + digit + found[2]})
    return frozenset({e164})


def hash_number(e164: str) -> str:
    """The keyed hash by which a number's holder is found."""
    return keyed_hash(settings.NUMBER_HASH_KEY, "number", e164)


def mask(e164: str) -> str:
    """What the owner's pages and staff see: the calling code and the last two digits."""
    return f"+{phonenumbers.parse(e164).country_code} ••• ••• ••{e164[-2:]}"


def _own_senders() -> set[str]:
    return {settings.TWILIO_SMS_FROM, settings.TWILIO_WHATSAPP_FROM, settings.TWILIO_VOICE_FROM}
