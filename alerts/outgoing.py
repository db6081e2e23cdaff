"""Putting one request to the carrier together: to whom, in which words, with which callbacks, and for how long."""

from datetime import datetime

from django.conf import settings

from accounts.numbers import reveal
from accounts.rates import rates_of
from alerts import timers
from alerts.addresses import status_url, voice_url
from alerts.carriers.base import Outgoing
from alerts.carriers.templates import for_alert
from alerts.content import (
    SenderKind,
    ack_link,
    carried_link_chars,
    fits_sms,
    sender_kind,
    sms_text,
    whatsapp_variables,
)
from alerts.models import Alert, Attempt
from alerts.wording import in_use


def sms_sender(country: str) -> SenderKind | None:
    """How an SMS sender shows in a country; None where SMS is not offered now."""
    rates = rates_of(country)
    is_offered = rates.is_offered and rates.status("sms") == "available"
    return sender_kind(rates.sms_sender) if is_offered else None


def fits_as_sms(alert: Alert, reminder: str) -> bool:
    """Whether SMS is offered to this number and the alert's text fits one, with its link where it carries one."""
    sender = sms_sender(alert.holder.country)
    if sender is None:
        return False
    return fits_sms(
        alert.message,
        sender_kind=sender,
        link_chars=carried_link_chars(settings.LINK_BASE_URL, sender, requires_ack=alert.requires_ack),
        reminders=(reminder,),
        wording=in_use(),
    )


def compose(attempt: Attempt, claimed_at: datetime) -> Outgoing | None:
    """The request for a claimed attempt, the same every time it is put together; None when there is no number any more.

    Needs `attempt.alert` with its number and holder.
    """
    alert, ref = attempt.alert, str(attempt.ref)
    if alert.number is None:
        return None
    to = reveal(alert.number)
    if attempt.channel == "call":
        return Outgoing(
            ref,
            "call",
            to,
            claimed_at,
            status_url(ref),
            voice_url=voice_url(ref),
            ring_s=timers.ring_s(attempt),
            limit_s=timers.CALL_LIMIT_S,
        )
    if attempt.channel == "whatsapp":
        token = alert.ack_token if alert.requires_ack else None
        return Outgoing(
            ref,
            "whatsapp",
            to,
            claimed_at,
            status_url(ref),
            template=for_alert(requires_ack=alert.requires_ack),
            variables=whatsapp_variables(alert.agent_name, alert.message, attempt.reminder, token),
        )
    # A rate that staff switched off since the claim still names its sender: `us_ca` has the strictest words.
    sender = sms_sender(alert.holder.country) or "us_ca"
    link = ack_link(settings.LINK_BASE_URL, alert.ack_token) if alert.requires_ack else ""
    text = sms_text(alert.message, sender_kind=sender, reminder=attempt.reminder, link=link, wording=in_use())
    return Outgoing(
        ref,
        "sms",
        to,
        claimed_at,
        status_url(ref),
        text=text,
        sender=sender,
        validity_s=int((alert.expires_at - claimed_at).total_seconds()),
    )
