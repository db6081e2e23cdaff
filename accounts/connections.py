"""Agents' connections: granted on the consent page, then listed, renamed, deactivated and revoked by the owner.

A connection names its OAuth client by a string; the toolkit's tokens are reached through the toolkit.
"""

from datetime import datetime

from django.conf import settings
from django.db.models import F, QuerySet
from oauth2_provider.models import get_access_token_model, get_grant_model, get_refresh_token_model

from accounts import letters
from accounts.locking import locked
from accounts.models import Account, Connection, User
from breakpass.text import clean_name, rejection

NAME_MAX = 80


def grant(account_id: int, *, client_id: str, name: str, approved_by: User | None, now: datetime) -> Connection:
    """The account's one connection for this client, made or brought back to life; the owner gets a letter about it.

    A connection that comes back keeps its name and its brake: connecting again resets no limit.
    """
    with locked(account_id) as account:
        connection, is_new = Connection.objects.get_or_create(
            account=account,
            client_id=client_id,
            defaults={"name": name[:NAME_MAX], "approved_by": approved_by, "created_at": now},
        )
        was_off = connection.revoked_at is not None or connection.deactivated_at is not None
        if not is_new:
            connection.approved_by = approved_by
            connection.revoked_at = connection.deactivated_at = None
            connection.save(update_fields=["approved_by", "revoked_at", "deactivated_at"])
        if is_new or was_off:
            tell_owner(account, connection, now)
    return connection


def tell_owner(account: Account, connection: Connection, now: datetime) -> None:
    """A letter about a new agent."""
    letters.write(
        account,
        kind="agent_connected",
        subject=f"A new agent is connected to your {settings.SERVICE_NAME} account",
        body=(
            f"An agent was given access to your {settings.SERVICE_NAME} account. It is called:\n\n"
            f"    {connection.name}\n\n"
            f"If you did not allow this, take the access back here: {settings.BASE_URL}/agents/\n"
        ),
        now=now,
    )


def living(account_id: int, client_id: str) -> QuerySet[Connection]:
    """The account's connection for this client, if it has access and is not switched off."""
    return Connection.objects.filter(account_id=account_id, client_id=client_id, revoked_at=None, deactivated_at=None)


def list_connections(account: Account) -> list[Connection]:
    """The connections that have access, by last use, each with its `scopes` filled in. Two queries."""
    connections = list(
        account.connections.filter(revoked_at=None)
        .select_related("approved_by")
        .order_by(F("last_used_at").desc(nulls_last=True), "-created_at")
    )
    granted = (
        get_access_token_model()
        .objects.filter(user__member__account=account, resource=[settings.MCP_RESOURCE])
        .order_by("expires")
        .values_list("application__client_id", "scope")
    )
    newest = dict(granted)
    for connection in connections:
        connection.scopes = tuple(newest.get(connection.client_id, "").split())
    return connections


def rename(account: Account, connection: Connection, *, name: str) -> None:
    """A new name, 1 to 80 characters; Refusal CONTENT_REJECTED otherwise. Needs the locked account."""
    cleaned = clean_name(name)
    if not cleaned:
        raise rejection("name", "empty", "Give the agent a name.")
    if len(cleaned) > NAME_MAX:
        raise rejection("name", "max_length", f"A name takes at most {NAME_MAX} characters.", max_length=NAME_MAX)
    account.connections.filter(pk=connection.pk).update(name=cleaned)


def deactivate(account: Account, connection: Connection, *, now: datetime) -> None:
    """Switch it off: it still authenticates and is told so (behaviour, Accounts). Needs the locked account."""
    account.connections.filter(pk=connection.pk, deactivated_at=None).update(deactivated_at=now)


def reactivate(account: Account, connection: Connection) -> None:
    """Switch it on again. Needs the locked account."""
    account.connections.filter(pk=connection.pk).update(deactivated_at=None)


def revoke(account: Account, connection: Connection, *, now: datetime) -> None:
    """Take the access back: every code and token ends at once. Repeatable. Needs the locked account."""
    account.connections.filter(pk=connection.pk, revoked_at=None).update(revoked_at=now)
    theirs = {"application__client_id": connection.client_id, "user__member__account": account}
    get_grant_model().objects.filter(**theirs).delete()
    tokens = get_refresh_token_model()
    families = tokens.objects.filter(**theirs, revoked=None).values_list("token_family", flat=True)
    for family in families.distinct():
        tokens.revoke_family(family)
    get_access_token_model().objects.filter(**theirs).delete()
