"""Text that people get: cleaned once, counted, and checked for what a message may hold. No Django, no database."""

from breakpass.text.checks import NAME_MAX_CHARS, check_links, check_message, check_name, rejection
from breakpass.text.cleaning import MESSAGE_MAX_CHARS, RAW_MAX_CHARS, clean, clean_name
from breakpass.text.emoji import is_emoji_only
from breakpass.text.gsm import SmsUnits, is_gsm, sms_units, to_gsm_lookalikes
from breakpass.text.links import find_links, is_shortener, is_whatsapp_link
from breakpass.text.reminders import reminder_prefix, reminders_for

__all__ = [
    "MESSAGE_MAX_CHARS",
    "NAME_MAX_CHARS",
    "RAW_MAX_CHARS",
    "SmsUnits",
    "check_links",
    "check_message",
    "check_name",
    "clean",
    "clean_name",
    "find_links",
    "is_emoji_only",
    "is_gsm",
    "is_shortener",
    "is_whatsapp_link",
    "rejection",
    "reminder_prefix",
    "reminders_for",
    "sms_units",
    "to_gsm_lookalikes",
]
