"""A verification code as the page that waits for it shows it: how it is doing, and by what it can come."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from accounts import channels, pauses, rates
from accounts.codes import OPEN_FOR_CODES
from accounts.models import Account, Number, VerificationCode

# How long a page keeps asking whether the code has left.
WATCH_S = 120


@dataclass(frozen=True, slots=True)
class WaitingCode:
    """The newest code of a number while it can still be typed in."""

    channel: str
    created_at: datetime
    expires_at: datetime
    checks_left: int
    # Seconds until another one may be asked for.
    wait_s: int
    # sending, sent or failed.
    progress: str
    is_watched: bool


def waiting_code(number: Number, now: datetime) -> WaitingCode | None:
    """The code that is open for this number, or None. Never the digits."""
    code = VerificationCode.objects.filter(number=number, closed_at=None, expires_at__gt=now).order_by("-pk").first()
    if code is None:
        return None
    age_s = (now - code.created_at).total_seconds()
    gap_s = 60 // settings.CODES_PER_MINUTE
    progress = "failed" if code.failure_reason else "sent" if code.sent_at else "sending"
    return WaitingCode(
        channel=code.channel,
        created_at=code.created_at,
        expires_at=code.expires_at,
        checks_left=max(0, settings.CODE_CHECKS - code.checks),
        wait_s=max(0, math.ceil(gap_s - age_s)),
        progress=progress,
        is_watched=progress == "sending" and code.created_at > now - timedelta(seconds=WATCH_S),
    )


def code_channels(account: Account, number: Number, now: datetime, *, by_holder: bool = False) -> list[str]:
    """By what a code can come to this number: text and WhatsApp; for the holder on their own page also a call."""
    asked = ["sms", "whatsapp"] if settings.TWILIO_CONTENT_SID_CODE else ["sms"]
    asked += ["call"] if by_holder else []
    country_rates = rates.rates_of(number.holder.country)
    flags = pauses.open_pauses(account)
    states = channels.channel_states(account, number, number.holder, country_rates, flags, now=now)
    return [each for each in asked if states[each].is_available or states[each].reason in OPEN_FOR_CODES]
