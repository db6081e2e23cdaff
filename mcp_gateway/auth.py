"""Who calls /mcp: the bearer check in one narrow query, and the 401 and 403 challenges (seed 001, Authentication)."""

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.http import HttpResponse, JsonResponse
from oauth2_provider.models import get_access_token_model
from oauth2_provider.utils import parse_bearer_token

from accounts.models import Connection, Member
from breakpass.ids import sha256_hex
from mcp_gateway.models import Application

# What a request without a token is asked for, whatever it wanted (behaviour, Three systems).
BASE_SCOPES = "alerts.read alerts.send"
USE_RECORDED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Principal:
    """The connection that a valid token speaks for. `is_deactivated` still authenticates (behaviour, Accounts)."""

    user_id: int
    account_id: int
    connection_id: int
    application_id: int
    scopes: frozenset[str]
    is_deactivated: bool
    is_use_stale: bool


def challenge(status: int, *, scope: str = BASE_SCOPES, error: str = "", description: str = "") -> HttpResponse:
    """A 401 or 403 with the contract's WWW-Authenticate header; without a token there is no error in it (RFC 6750)."""
    said = [f'error="{error}"', f'error_description="{description}"'] if error else []
    metadata = f'resource_metadata="{settings.BASE_URL}/.well-known/oauth-protected-resource/mcp"'
    header = "Bearer " + ", ".join([*said, metadata, f'scope="{scope}"'])
    body = {"error": error or "unauthorized", "error_description": description or "Authentication required"}
    return JsonResponse(body, status=status, headers={"WWW-Authenticate": header, "Cache-Control": "no-store"})


@functools.cache
def bearer_sql() -> str:
    """One row for a living token of an active login whose connection is not revoked; registration tokens have no user.

    Written by hand: the same through the ORM costs ten times the CPU, and the toolkit's own check knows neither
    disabled logins nor connections, and takes an empty resource for any audience.
    """
    token, user, member, application, link = (
        model._meta.db_table for model in (get_access_token_model(), get_user_model(), Member, Application, Connection)
    )
    return (
        "SELECT t.user_id, m.account_id, c.id, t.application_id, t.scope, t.resource, c.deactivated_at, c.last_used_at"
        f" FROM {token} t JOIN {user} u ON u.id = t.user_id JOIN {member} m ON m.user_id = u.id"
        f" JOIN {application} a ON a.id = t.application_id"
        f" JOIN {link} c ON c.account_id = m.account_id AND c.client_id = a.client_id"
        " WHERE t.token_checksum = %s AND t.expires > %s AND u.is_active AND c.revoked_at IS NULL"
    )


def authenticate(authorization: str, now: datetime) -> Principal | None:
    """The principal of an Authorization header, or None when it carries no token that is valid here and now."""
    raw = parse_bearer_token(authorization)
    if raw is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(bearer_sql(), [sha256_hex(raw), now])
        row = cursor.fetchone()
    if row is None or json.loads(row[5]) != [settings.MCP_RESOURCE]:
        return None
    return Principal(
        user_id=row[0],
        account_id=row[1],
        connection_id=row[2],
        application_id=row[3],
        scopes=frozenset(row[4].split()),
        is_deactivated=row[6] is not None,
        is_use_stale=row[7] is None or row[7] <= now - USE_RECORDED_EVERY,
    )


def unauthenticated(authorization: str) -> HttpResponse:
    """The 401 for a request without a token, or with one that is not valid."""
    if parse_bearer_token(authorization) is None:
        return challenge(401)
    return challenge(401, error="invalid_token", description="The access token is invalid or expired")


def insufficient_scope(needed: str, granted: Iterable[str]) -> HttpResponse:
    """The 403 that lets a client ask for more without losing what it has."""
    wanted = {needed, *granted}
    scope = " ".join(name for name in settings.OAUTH_SCOPES if name in wanted)
    return challenge(403, scope=scope, error="insufficient_scope", description=f"This tool needs the scope {needed}")


def record_use(principal: Principal, now: datetime) -> None:
    """Note when the connection was last used, at most once a minute, so that a busy agent costs no write per call."""
    if principal.is_use_stale:
        Connection.objects.filter(pk=principal.connection_id).update(last_used_at=now)
