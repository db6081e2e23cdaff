"""Whom an alert reaches: found, allowed and locked, with the channels that can reach them now."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from accounts import pauses, people, rates, readiness
from accounts.channels import ChannelState, channel_states
from accounts.locking import lock_holder
from accounts.models import Account, Holder, Number
from accounts.people import Recipient
from alerts import rules
from breakpass.errors import Refusal

# Which channels an alert takes, given what can reach the person.
ChannelsUsed = Callable[[Mapping[str, ChannelState] | None], Iterable[str | None]]


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
        # Nobody was named, so no name is wrong: the owner has no number yet.
        return refusal if name is not None else rules.not_verified(was_named=False)


def reach(
    account: Account,
    name: str | None,
    found: Recipient | Refusal,
    *,
    channels_used: ChannelsUsed,
    is_test: bool = False,
    now: datetime,
) -> Target:
    """Check all that comes before the channel: the account, pauses, setup, the person, the number; lock the holder.

    `channels_used` says which channels the alert takes, given what can reach the person (None: nobody was found). A
    setup test needs no setup but the number's.
    """
    readiness.check_standing(account)
    flags = pauses.open_pauses(account)
    number = None if isinstance(found, Refusal) else found.number
    country_rates = rates.Rates("") if number is None else rates.rates_of(number.holder.country)

    def states_now() -> dict[str, ChannelState] | None:
        return None if number is None else channel_states(account, number, number.holder, country_rates, flags, now=now)

    for channel in channels_used(states_now()):
        pauses.refuse_if_paused(flags, channel=channel, country=country_rates.country)
    if not is_test:
        readiness.check_ready(account, is_verified=number is not None and number.is_verified)
    if isinstance(found, Refusal):
        raise found
    # From here on what is read of the number holds until the alert is in: its opt-out, its line, its hour.
    if number is not None:
        number.holder = lock_holder(number.holder_id)
    rules.check_opted_out(number)
    verified = rules.check_verified(found)
    return Target(
        recipient=found,
        label=people.label_of(name, found.shown),
        number=verified,
        holder=verified.holder,
        states=states_now() or {},
        sms_sender=country_rates.sms_sender,
    )
