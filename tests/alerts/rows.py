"""Alerts as rows, put there directly: what the tests of the delivery path start from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

from accounts import ledger
from accounts.locking import locked
from accounts.models import Account, Number
from alerts.models import Alert, Attempt
from tests import world
from workflows.plan import Channel, Kind, Plan, PlannedStep, Price

NOON = datetime(2026, 10, 3, 12, 0, tzinfo=UTC)
PRICES = {"whatsapp": Price(5), "sms": Price(7), "call": Price(12, 4)}
OWNER = "+12025550123"
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a test's plan."""

    offset_min: int
    channel: Channel

    @property
    def kind(self) -> Kind:
        """A call, or a message."""
        return "call" if self.channel == "call" else "message"


ESCALATE = (Step(0, "whatsapp"), Step(0, "call"), Step(1, "call"), Step(2, "call"))
ACKNOWLEDGE = (Step(0, "whatsapp"), Step(10, "whatsapp"), Step(30, "whatsapp"))


def make_account(balance_cents: int = 1000) -> Account:
    """An account with money."""
    account = Account.objects.create(
        owner_name="Ada", residence="US", residence_confirmed_at=NOON, workflows_updated_at=NOON, created_at=NOON
    )
    with locked(account.pk) as row:
        if balance_cents:
            ledger.top_up(row, amount_cents=balance_cents, ref=f"payment:{next(_numbers)}", now=NOON)
    account.refresh_from_db()
    return account


def make_rates(country: str = "US", sender: str = "us_ca", sms: str = "available") -> None:
    """All three channels in one country."""
    cents = {channel: (price.full_cents, price.reduced_cents) for channel, price in PRICES.items()}
    world.offer(country, sender=sender, cents=cents)
    world.set_rate(country, "sms", status=sms)


def make_number(account: Account, e164: str = OWNER, name: str = "Ada", *, is_verified: bool = True) -> Number:
    """A person of the account with a number."""
    return world.add_person(account, name, number=e164, is_verified=is_verified, at=NOON - timedelta(days=1))


def make_alert(
    number: Number,
    steps: Sequence[Step] = (Step(0, "sms"),),
    *,
    workflow_key: str = "",
    requires_ack: bool = False,
    message: str = "Checkout is failing.",
    created_at: datetime = NOON,
    deadline_min: int = 75,
    has_sms_fallback: bool = False,
    max_attempts: int = 12,
    holds: bool = True,
) -> Alert:
    """An open alert with all its attempts; what is due at minute 0 is held, as at acceptance."""
    plan = Plan(
        workflow_id=workflow_key or None,
        name=workflow_key.title(),
        version=1,
        steps=tuple(PlannedStep(seq, s.offset_min, s.kind, s.channel) for seq, s in enumerate(steps, start=1)),
        requires_ack=requires_ack,
        has_sms_fallback=has_sms_fallback,
        max_attempts=max_attempts,
        deadline_min=deadline_min,
        prices=PRICES,
        max_cost_cents=100,
    )
    serial = next(_numbers)
    with locked(number.account_id) as account:
        alert = Alert.objects.create(
            code=f"A-{serial:06d}",
            account=account,
            person=number.person,
            number=number,
            holder=number.holder,
            workflow_key=workflow_key,
            plan_data=plan.as_json(),
            recipient="Ada",
            agent_name="Checkout monitor",
            message=message,
            requires_ack=requires_ack,
            ack_token=f"tok{serial:09d}",
            fingerprint=f"{serial}",
            created_at=created_at,
            expires_at=created_at + timedelta(minutes=deadline_min),
        )
        for planned in plan.steps:
            price = plan.price_of(planned.channel)
            due_at = created_at + timedelta(minutes=planned.offset_min)
            attempt = Attempt.objects.create(
                alert=alert,
                account=account,
                holder=number.holder,
                seq=planned.seq,
                offset_min=planned.offset_min,
                kind=planned.kind,
                channel=planned.channel,
                scheduled_at=due_at,
                due_at=due_at,
                price_cents=price.full_cents,
                reduced_cents=price.reduced_cents,
                held_at=created_at if holds and planned.offset_min == 0 else None,
            )
            if attempt.held_at is not None:
                ledger.hold(account, [ledger.HoldRequest(attempt.ledger_ref, attempt.price_cents)], now=created_at)
    return alert


def attempts_of(alert: Alert) -> list[Attempt]:
    """The alert's attempts as they are now, in order."""
    return list(Attempt.objects.filter(alert=alert).order_by("seq"))


def first_of(alert: Alert) -> Attempt:
    """The alert's first attempt as it is now."""
    return attempts_of(alert)[0]


def money_of(account: Account) -> tuple[int, int]:
    """Balance and reserved cents as they are now."""
    account.refresh_from_db()
    return account.balance_cents, account.reserved_cents
