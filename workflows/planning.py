"""Making the plan of one alert: which channel each step takes for this recipient, and what it may cost."""

from collections.abc import Mapping
from typing import Any, Final, Protocol, cast, get_args

from breakpass.text import reminders_for
from workflows.defaults import ACK_SINGLE_MIN, DELIVERY_MIN, Definition
from workflows.plan import Channel, Kind, Plan, PlannedStep, Price

WHATSAPP: Final = "whatsapp"
SMS: Final = "sms"
CALL: Final = "call"
DIRECT_NAMES: Final[Mapping[str, str]] = {WHATSAPP: "WhatsApp message", SMS: "SMS", CALL: "Call"}


class Offer(Protocol):
    """What planning needs to know of a channel for one number; `accounts.channels.ChannelState` is one."""

    @property
    def is_available(self) -> bool:
        """Whether the channel can be used now."""

    @property
    def full_cents(self) -> int:
        """The price in US cents."""

    @property
    def reduced_cents(self) -> int:
        """The price in US cents of a call nobody picks up."""


Offers = Mapping[str, Offer]


def plan_workflow(definition: Definition, offers: Offers) -> Plan:
    """The workflow as it runs for a recipient with these offers; see `unavailable_steps` for what cannot run.

    A message goes by WhatsApp, else by SMS where that is offered; prices are today's (behaviour, Alerts and Money).
    """
    reminders = iter(reminders_for(definition.count("message"), definition.requires_ack))
    steps = tuple(
        PlannedStep(
            seq=seq,
            offset_min=step.offset_min,
            kind=step.kind,
            channel=channel_for(step.kind, offers),
            reminder=next(reminders) if step.kind == "message" else "",
        )
        for seq, step in enumerate(definition.steps, start=1)
    )
    prices = prices_of(offers)
    # What already goes by SMS has nothing to fall back to.
    has_fallback = definition.has_sms_fallback and SMS in prices and any(step.channel == WHATSAPP for step in steps)
    return Plan(
        workflow_id=definition.key,
        name=definition.name,
        version=definition.version,
        steps=steps,
        requires_ack=definition.requires_ack,
        has_sms_fallback=has_fallback,
        max_attempts=definition.max_attempts,
        deadline_min=definition.deadline_min,
        prices=prices,
        max_cost_cents=worst_case(steps, prices, has_fallback=has_fallback),
    )


def as_channel(name: str) -> Channel:
    """The channel of this name; ValueError for a name that is none."""
    for channel in get_args(Channel):
        if channel == name:
            return cast(Channel, channel)
    raise ValueError("no such channel")


def plan_direct(channel: Channel, offers: Offers, *, requires_ack: bool, is_free: bool = False) -> Plan:
    """One message or one call, once. `is_free`: a setup test costs nothing."""
    prices = {} if is_free else prices_of(offers)
    steps = (PlannedStep(seq=1, offset_min=0, kind="call" if channel == CALL else "message", channel=channel),)
    return Plan(
        workflow_id=None,
        name=DIRECT_NAMES[channel],
        version=0,
        steps=steps,
        requires_ack=requires_ack,
        has_sms_fallback=False,
        max_attempts=1,
        deadline_min=ACK_SINGLE_MIN if requires_ack else DELIVERY_MIN,
        prices=prices,
        max_cost_cents=worst_case(steps, prices, has_fallback=False),
    )


def channel_for(kind: Kind, offers: Offers) -> Channel:
    """The channel a step of this kind takes; when none can be used, the one it would take first."""
    if kind == "call":
        return CALL
    by_sms = not is_offered(WHATSAPP, offers) and is_offered(SMS, offers)
    return SMS if by_sms else WHATSAPP


def unavailable_steps(plan: Plan, offers: Offers) -> list[dict[str, Any]]:
    """The steps whose channel cannot be used for the recipient (seed 001, `unavailable_steps`)."""
    return [step_as_contract(step) for step in plan.steps if not is_offered(step.channel, offers)]


def step_as_contract(step: PlannedStep) -> dict[str, Any]:
    """A planned step as answers show it (seed 001, `steps[]`)."""
    return {"offset_min": step.offset_min, "kind": step.kind, "channel": step.channel}


def is_offered(channel: str, offers: Offers) -> bool:
    """Whether the recipient can be reached on the channel now."""
    return channel in offers and offers[channel].is_available


def prices_of(offers: Offers) -> dict[str, Price]:
    """The prices of the channels that can be used now."""
    return {
        channel: Price(offer.full_cents, offer.reduced_cents) for channel, offer in offers.items() if offer.is_available
    }


def worst_case(steps: tuple[PlannedStep, ...], prices: Mapping[str, Price], *, has_fallback: bool) -> int:
    """US cents when every step goes at its full price, and the fallback too (seed 001, `max_cost_cents`)."""
    free = Price(0)
    fallback_cents = prices.get(SMS, free).full_cents if has_fallback else 0
    return sum(prices.get(step.channel, free).full_cents for step in steps) + fallback_cents
