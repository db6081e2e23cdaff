"""What is read from a callback, and what of it may be kept: never a number, a text or a name (twilio.md, B1 and B4)."""

from collections.abc import Mapping

from alerts.carriers.base import Report

# Everything else is dropped before it is written anywhere.
KEPT = frozenset(
    [
        *("MessageStatus", "SmsStatus", "CallStatus", "ErrorCode", "SequenceNumber", "CallDuration", "SipResponseCode"),
        *("Timestamp", "RawDlrDoneDate", "EventType", "ChannelPrefix", "CallbackSource", "ApiVersion", "MessageType"),
        "OptOutType",
    ]
)
MAX_CHARS = 80
SMALLINT, INTEGER = 32_767, 2_147_483_647


def report_of(fields: Mapping[str, str]) -> Report:
    """The report in a status callback; anything malformed reads as absent."""
    return Report(
        source="callback",
        sid=text_of(fields, "MessageSid") or text_of(fields, "SmsSid") or text_of(fields, "CallSid"),
        status=text_of(fields, "MessageStatus") or text_of(fields, "SmsStatus") or text_of(fields, "CallStatus"),
        error_code=number_of(fields, "ErrorCode", INTEGER),
        sip_code=number_of(fields, "SipResponseCode", SMALLINT),
        sequence=number_of(fields, "SequenceNumber", SMALLINT),
        duration_s=number_of(fields, "CallDuration", INTEGER),
        params=kept(fields),
    )


def kept(fields: Mapping[str, str]) -> dict[str, str]:
    """The parameters that may be written down, cut to a sane length."""
    return {name: text_of(fields, name) for name in sorted(KEPT) if name in fields}


def text_of(fields: Mapping[str, str], name: str) -> str:
    """A short parameter without the characters that a database cannot hold."""
    return fields.get(name, "").replace("\x00", "")[:MAX_CHARS]


def number_of(fields: Mapping[str, str], name: str, most: int) -> int | None:
    """A whole number from 0 to `most`, or None."""
    text = fields.get(name, "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        return None
    return int(text) if int(text) <= most else None
