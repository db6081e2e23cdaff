"""What the measured calls find: accounts that are ready, their agents' tokens, and one open alert each to read."""

import io
import secrets
from dataclasses import dataclass
from typing import Final

from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from accounts.enrolling import Owner, enrol_owner
from accounts.locking import locked
from accounts.models import Connection, User
from alerts import sending
from alerts.models import Alert, Attempt, IdempotencyKey
from mcp_gateway import grants

CLIENT: Final = "Bench"
MESSAGE: Final = "Checkout is failing."
WORKFLOWS: Final = ("inform", "escalate")


@dataclass(frozen=True, slots=True)
class Agent:
    """A connected agent of one account."""

    account_id: int
    connection_id: int
    token: str


def open_accounts(count: int) -> list[Agent]:
    """Migrate, load the rates, and open that many accounts, each ready to send and with balance for a long run."""
    call_command("migrate", verbosity=0, interactive=False)
    call_command("load_rates", stdout=io.StringIO())
    return [open_account(number) for number in range(count)]


def open_account(number: int) -> Agent:
    """One account, with its owner's verified number, and its agent."""
    now = timezone.now()
    owner = Owner(
        email=f"bench-{number}@example.com",
        name="Sam",
        number=f"+1202555{number:04d}",
        is_verified=True,
        is_paid=True,
        residence="US",
        balance_cents=100_000_000,
    )
    account, _ = enrol_owner(owner, now=now)
    user = User.objects.get(email=owner.email)
    scopes = ("alerts.read", "alerts.send")
    issued = grants.issue(user, client_name=CLIENT, scopes=scopes, now=now)
    return Agent(account.pk, Connection.objects.get(account=account, name=CLIENT).pk, issued.access_token)


def start(agent: Agent, workflow_id: str) -> Alert:
    """Accept one alert, as the tool does."""
    with locked(agent.account_id) as account:
        accepted = sending.start_workflow(
            account,
            account.connections.get(pk=agent.connection_id),
            workflow_id=workflow_id,
            message=MESSAGE,
            idempotency_key=secrets.token_hex(16),
            now=timezone.now(),
        )
    return accepted.alert


def clear_alerts() -> None:
    """Take all alerts away: with the caps lifted, a round's thousands would be a history that no account can have."""
    tables = ", ".join(model._meta.db_table for model in (Attempt, Alert, IdempotencyKey))
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {tables} CASCADE")
        cursor.execute("ANALYZE")


def open_code(agent: Agent) -> str:
    """The public id of the account's newest escalation."""
    return Alert.objects.filter(account_id=agent.account_id, workflow_key="escalate").latest("created_at").code
