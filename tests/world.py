"""A small world to send in: countries with prices, accounts that are ready, their people; and sends under the lock."""

from datetime import UTC, datetime, timedelta
from typing import Any

from accounts import ledger
from accounts.locking import locked
from accounts.models import Account, Connection, Country, Holder, Number, Person, Plan, Rate
from accounts.numbers import holder_for
from accounts.sealing import seal
from alerts import sending
from alerts.models import Alert, Attempt
from alerts.sending import Accepted

NOW = datetime(2026, 10, 3, 19, 0, tzinfo=UTC)
OWNER_NUMBER, ADA_NUMBER, LONDON_NUMBER = "+12025550143", "+12025550171", "+447700900123"
US_CENTS = {"whatsapp": (3, 0), "sms": (4, 0), "call": (20, 5)}


def offer(country: str, *, sender: str = "alphanumeric", cents: dict[str, tuple[int, int]] | None = None) -> None:
    """A country in which all three channels can be used at these prices (full, reduced)."""
    row, _ = Country.objects.get_or_create(code=country)
    for channel, (full, reduced) in (cents or US_CENTS).items():
        Rate.objects.update_or_create(
            country=row,
            channel=channel,
            defaults={
                "status": "available",
                "price_cents": full,
                "reduced_cents": reduced,
                "sender": sender if channel == "sms" else "",
            },
        )


def set_rate(country: str, channel: str, **changes: Any) -> None:
    """Change one rate as staff would."""
    assert Rate.objects.filter(country_id=country, channel=channel).update(**changes) == 1


def open_account(
    *,
    number: str = OWNER_NUMBER,
    balance_cents: int = 2400,
    is_paid: bool = True,
    name: str = "Sam",
    at: datetime = NOW - timedelta(days=30),
    **fields: Any,
) -> Account:
    """An account that can send: paid for, resident, with the owner's verified number. `is_paid`: on a paid plan."""
    offer("US", sender="us_ca")
    plan = Plan.objects.get_or_create(name="Paid", defaults={"is_paid": True, "number_cap": 10})[0] if is_paid else None
    account = Account.objects.create(
        owner_name=name,
        plan=plan,
        residence="US",
        residence_confirmed_at=at,
        first_payment_at=at,
        workflows_updated_at=at,
        created_at=at,
        **fields,
    )
    account.own_person = add_person(account, "", number=number, at=at).person
    account.save()
    if balance_cents:
        with locked(account.pk) as held:
            ledger.top_up(held, amount_cents=balance_cents, ref=f"payment:{account.pk}", now=at)
    account.refresh_from_db()
    return account


def add_person(
    account: Account, name: str, *, number: str, is_verified: bool = True, at: datetime = NOW - timedelta(days=29)
) -> Number:
    """A person with a number on the account."""
    person = Person.objects.create(account=account, name=name, created_at=at)
    return Number.objects.create(
        account=account,
        person=person,
        holder=holder_for(number),
        sealed=seal(number),
        verified_at=at if is_verified else None,
        created_at=at,
    )


def connect(account: Account, name: str = "Checkout monitor") -> Connection:
    """An agent's grant."""
    return Connection.objects.create(account=account, client_id=f"app-{name}", name=name, created_at=NOW)


def run(
    account: Account,
    workflow_id: str = "escalate",
    message: str = "Checkout is failing.",
    *,
    key: str | None = None,
    connection: Connection | None = None,
    now: datetime = NOW,
    **arguments: Any,
) -> Accepted:
    """start_workflow as the edge calls it."""
    key = key or f"key-{Alert.objects.count()}-{now.timestamp()}"
    with locked(account.pk) as held:
        return sending.start_workflow(
            held, connection, workflow_id=workflow_id, message=message, idempotency_key=key, now=now, **arguments
        )


def send(
    account: Account,
    channel: str = "whatsapp",
    message: str = "Checkout is failing.",
    *,
    connection: Connection | None = None,
    now: datetime = NOW,
    **arguments: Any,
) -> Accepted:
    """send_whatsapp, send_sms or make_call as the edge calls them."""
    with locked(account.pk) as held:
        return sending.start_direct(held, connection, channel=channel, message=message, now=now, **arguments)


def owner_number(account: Account) -> Number:
    """The number an alert reaches when nobody is named."""
    return Number.objects.select_related("holder").get(person_id=account.owner_person_id or 0)


def owner_holder(account: Account) -> Holder:
    """Who holds that number."""
    return owner_number(account).holder


def finish(alert: Alert, *, settlement: str, status: str, at: datetime = NOW) -> None:
    """Mark an alert's attempts as sent and settled, and the alert as over, without a carrier."""
    Attempt.objects.filter(alert=alert).update(
        status=status,
        failure_code="DELIVERY_FAILED" if status == "failed" else "",
        claimed_at=at,
        held_at=at,
        settlement=settlement,
        settled_at=at,
        due_at=None,
    )
    Alert.objects.filter(pk=alert.pk).update(
        status="failed" if status == "failed" else "delivered",
        failure_code="DELIVERY_FAILED" if status == "failed" else "",
        ended_at=at,
    )


def leaves_nothing(account: Account) -> bool:
    """Whether the account has no alert, no attempt, no used key, and no money held."""
    account.refresh_from_db()
    return (
        not account.alerts.exists()
        and not account.attempts.exists()
        and not account.idempotency_keys.exists()
        and account.reserved_cents == 0
        and not account.entries.filter(kind="hold").exists()
    )
