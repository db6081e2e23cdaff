"""Whom an alert reaches: found, allowed and locked, with the channels that can reach them now."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from accounts.channels import ChannelState
from accounts.people import Recipient

from accounts import channels, pauses, people, rates, readiness
from accounts.locking import lock_holder
from accounts.models import Account, Holder, Number
from alerts import rules
from breakpass.errors import Refusal

OWNER: Final = "owner"


@dataclass(frozen=True, slots=True)
class Target:
    """A person who may be reached, the locked holder of the number, and the channels to it."""

    recipient: Recipient
    # What answers show: `owner` when the call said so, else the saved name (behaviour, Numbers).
    label: str
    number: Number
    holder: Holder
    states: Mapping[str, ChannelState]
    # How an SMS sender shows in the country; blank where none is known.
    sms_sender: str


def look_up(account: Account, name: str | None) -> Recipient | Refusal:
    """The person meant, or the refusal that is due once everything before it in the order has passed. One query."""
    try:
        return people.find_recipient(account, name)
    except Refusal as refusal:
        return refusal


def label_of(name: str | None, recipient: Recipient) -> str:
    """What answers show for a recipient asked for by this name, or by none."""
    return OWNER if name is not None and name.strip().casefold() == OWNER else recipient.shown


def reach(
    account: Account,
    name: str | None,
    found: Recipient | Refusal,
    *,
    channel: str | None,
    is_test: bool = False,
    now: datetime,
) -> Target:
    """Check all that comes before the channel: the account, pauses, setup, the person, the number; lock the holder.

    `channel` is a direct send's; a workflow's depend on who is reached. A setup test needs no setup but the number's.
    """
    readiness.check_standing(account)
    flags = pauses.open_pauses(account)
    country = "" if isinstance(found, Refusal) or found.holder is None else found.holder.country
    pauses.refuse_if_paused(flags, channel=channel, country=country)
    if not is_test:
        readiness.check_ready(account)
    if isinstance(found, Refusal):
        raise found
    # From here on what is read of the number holds until the alert is in: its opt-out, its line, its hour.
    if found.number is not None and found.holder is not None:
        found.number.holder = lock_holder(found.holder.pk)
    rules.check_opted_out(found.number)
    number, _ = rules.check_verified(found)
    country_rates = rates.rates_of(number.holder.country)
    return Target(
        recipient=found,
        label=label_of(name, found),
        number=number,
        holder=number.holder,
        states=channels.channel_states(account, number, number.holder, country_rates, flags, now=now),
        sms_sender=country_rates.sms_sender,
    )
