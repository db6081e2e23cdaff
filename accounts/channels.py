"""What a number can receive now: each channel with its price, or the reason why not (behaviour, Numbers)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.conf import settings

from accounts.models import Account, Holder, Number, Rate
from accounts.pauses import OpenPauses
from accounts.rates import CHANNELS, Rates
from breakpass.errors import Refusal

# As the subject of a sentence, and as what to use instead.
SUBJECTS: Final = {"whatsapp": "WhatsApp", "sms": "SMS", "call": "Calling"}
WORDS: Final = {"whatsapp": "WhatsApp", "sms": "SMS", "call": "a call"}
# `{others}` says what can be used instead, if anything can. No sentence names a country.
SENTENCES: Final = {
    "country_unsupported": "{service} doesn't reach this country yet.",
    "country_not_offered": "{service} doesn't send to this country right now.",
    "not_in_country": "{Channel} isn't offered for this number.{others}",
    "coming_soon": "{Channel} isn't offered for this number yet.{others}",
    "whatsapp_not_live": "WhatsApp can't be used yet.{others}",
    "whatsapp_capacity": "WhatsApp is paused right now. Use make_call, or send_sms where SMS is offered.",
    "no_whatsapp": "This number isn't on WhatsApp. Use SMS or a call.",
    "recipient_channel_paused": "This person blocked us on WhatsApp.{others}",
    "test_alert_pending": (
        "{Channel} needs one delivered test alert to this number first, sent from the setup page.{others}"
    ),
    "rate_above_max": "{Channel} costs more for this number than the owner's maximum for one alert.{others}",
    "sms_ack_us_ca_only": (
        "An SMS can be acknowledged only on a US or Canadian number. Send it without acknowledgement, or by WhatsApp "
        "or a call."
    ),
    "channel_unavailable": "{Channel} can't be used right now.{others}",
}
# How a test that arrived reads on its attempt.
ARRIVED: Final = ("delivered", "read", "delivered_unconfirmed", "answered")


@dataclass(frozen=True, slots=True)
class ChannelState:
    """One channel for one number. `is_offered`: the country and this installation have it, whoever holds the number.

    `reason` is None exactly when it can be used now. Prices are US cents; `reduced_cents` is of a call not picked up.
    """

    channel: str
    is_available: bool
    reason: str | None
    is_offered: bool
    full_cents: int
    reduced_cents: int


def channel_states(
    account: Account,
    number: Number | None,
    holder: Holder,
    rates: Rates,
    pauses: OpenPauses,
    *,
    now: datetime,
    tested: Collection[tuple[int, str]] | None = None,
) -> dict[str, ChannelState]:
    """Every channel for a number, in the order whatsapp, sms, call. No query, but for a rate that demands a test.

    `tested`: (number id, channel) pairs of delivered setup tests, where the caller has them for many numbers already.
    """
    if tested is None and any(rate.needs_test for rate in rates.by_channel.values()):
        tested = tested_channels(account)
    states = {}
    for channel in CHANNELS:
        rate = rates.by_channel.get(channel)
        reason = _why_not_offered(channel, rates)
        is_offered = reason is None
        if reason is None and rate is not None:
            reason = _why_not_usable(account, number, holder, rate, pauses, tested or ())
        states[channel] = ChannelState(
            channel=channel,
            is_available=reason is None,
            reason=reason,
            is_offered=is_offered,
            full_cents=rate.price_cents if rate else 0,
            reduced_cents=rate.reduced_cents if rate else 0,
        )
    return states


def tested_channels(account: Account) -> set[tuple[int, str]]:
    """(number id, channel) of every setup test of the account that arrived. One query."""
    # By the reverse relation's name: alerts stand above accounts and are not imported.
    arrived = account.alerts.filter(is_setup_test=True, number__isnull=False, attempts__status__in=ARRIVED)
    return set(arrived.values_list("number_id", "attempts__channel"))


def refuse_channel(
    channel: str,
    states: Mapping[str, ChannelState],
    *,
    unavailable_steps: list[dict[str, Any]] | None = None,
    reason: str | None = None,
) -> Refusal:
    """CHANNEL_UNAVAILABLE with its reason and sentence, and what can be used instead (seed 001, Errors)."""
    why = reason or states[channel].reason or "channel_unavailable"
    usable = [each for each, state in states.items() if state.is_available and each != channel]
    others = f" Use {' or '.join(WORDS[each] for each in usable)}." if usable else ""
    sentence = SENTENCES[why].format(Channel=SUBJECTS[channel], others=others, service=settings.SERVICE_NAME)
    details: dict[str, Any] = {
        "channel": channel,
        "reason": why,
        "available_channels": [each for each, state in states.items() if state.is_available],
    }
    if unavailable_steps is not None:
        details["unavailable_steps"] = unavailable_steps
    return Refusal("CHANNEL_UNAVAILABLE", sentence, details=details)


def _why_not_offered(channel: str, rates: Rates) -> str | None:
    """What the country and this installation lack, the widest reason first."""
    if not rates.is_reached:
        return "country_unsupported"
    if not rates.is_offered:
        return "country_not_offered"
    status = rates.status(channel)
    if status == Rate.Status.UNAVAILABLE:
        return "not_in_country"
    if status == Rate.Status.COMING_SOON:
        return "coming_soon"
    if channel == "whatsapp":
        needed = (
            settings.TWILIO_WHATSAPP_FROM,
            settings.TWILIO_CONTENT_SID_ALERT,
            settings.TWILIO_CONTENT_SID_ALERT_ACK,
        )
        return None if all(needed) else "whatsapp_not_live"
    if channel == "sms":
        named = rates.sms_sender == Rate.Sender.ALPHANUMERIC and settings.TWILIO_SMS_FROM_ALPHANUMERIC
        return None if settings.TWILIO_SMS_FROM or named else "channel_unavailable"
    return None if settings.TWILIO_VOICE_FROM else "channel_unavailable"


def _why_not_usable(
    account: Account,
    number: Number | None,
    holder: Holder,
    rate: Rate,
    pauses: OpenPauses,
    tested: Collection[tuple[int, str]],
) -> str | None:
    """What keeps this number from a channel that is offered."""
    if rate.channel == "whatsapp":
        for flag in ("whatsapp_not_live", "whatsapp_capacity"):
            if flag in pauses.flags:
                return flag
        if holder.whatsapp == Holder.Whatsapp.NO:
            return "no_whatsapp"
        if holder.whatsapp_paused_at is not None:
            return "recipient_channel_paused"
    if rate.needs_test and (number is None or (number.pk, rate.channel) not in tested):
        return "test_alert_pending"
    if account.max_price_cents is not None and rate.price_cents > account.max_price_cents:
        return "rate_above_max"
    return None
