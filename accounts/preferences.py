"""What an owner decides for the whole account: name, zone, highest price, residence, agent guidance."""

from datetime import datetime

from accounts.countries import country_names
from accounts.models import Account
from breakpass.text import check_name, clean_name, rejection


def set_preferences(account: Account, *, owner_name: str, timezone: str, max_price_cents: int | None) -> None:
    """Keep the owner's name (may be empty), zone and price limit in US cents (None: no limit).

    Refuses a name that no message could carry: CONTENT_REJECTED, field owner_name. Needs the locked account.
    """
    name = clean_name(owner_name)
    if name:
        check_name(name, field="owner_name")
    account.owner_name = name
    account.timezone = timezone
    account.max_price_cents = max_price_cents
    account.save(update_fields=["owner_name", "timezone", "max_price_cents"])


def confirm_residence(account: Account, *, country: str, now: datetime) -> None:
    """The owner says where they live (behaviour, Setup: blocker `residence_needed`). Needs the locked account."""
    if country not in country_names():
        raise rejection("residence", "format", "Choose a country.")
    account.residence = country
    account.residence_confirmed_at = now
    account.save(update_fields=["residence", "residence_confirmed_at"])


def tick_agent_guidance(account: Account, *, is_configured: bool) -> None:
    """The owner ticks that their agent knows when to alert (seed 001, `agent_guidance_configured`)."""
    account.is_agent_guidance_configured = is_configured
    account.save(update_fields=["is_agent_guidance_configured"])
