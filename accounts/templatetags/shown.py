"""How pages show money, moments and channels."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()
NOTHING = "\N{EN DASH}"
CHANNELS = {"whatsapp": "WhatsApp", "sms": "SMS", "call": "Phone call"}
STYLES = {"moment": "%-d %b %Y, %H:%M", "time": "%H:%M:%S", "day": "%-d %b %Y"}


@register.filter
def cents(amount: int | None) -> str:
    """US cents as dollars: 1250 -> "$12.50"."""
    if amount is None:
        return NOTHING
    sign = "-" if amount < 0 else ""
    return f"{sign}${abs(amount) // 100:,}.{abs(amount) % 100:02d}"


@register.filter
def channel_name(channel: str) -> str:
    """A channel as people call it."""
    return CHANNELS.get(channel, channel)


@register.simple_tag(takes_context=True)
def moment(context: Context, at: datetime | None, style: str = "moment") -> SafeString | str:
    """A point in time in the account's zone; the browser turns it into the reader's own. UTC on hover."""
    if at is None:
        return NOTHING
    account = context.get("account")
    try:
        zone = ZoneInfo(account.timezone) if account else ZoneInfo("UTC")
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    utc = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC" data-local="{}">{}</time>',
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
        style,
        at.astimezone(zone).strftime(STYLES[style]) + (" UTC" if zone.key == "UTC" else ""),
    )
