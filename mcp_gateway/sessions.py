"""Sessions of legacy clients: rows, bound to a token's user and client, that any process can serve and that expire."""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from mcp_gateway.auth import Principal
from mcp_gateway.models import McpSession


def living(principal: Principal, session_id: str, now: datetime) -> QuerySet[McpSession]:
    """The session of that id, if it is this user's and client's and has not expired."""
    return McpSession.objects.filter(
        pk=session_id, user_id=principal.user_id, application_id=principal.application_id, expires_at__gt=now
    )


def open_for(principal: Principal, *, protocol_version: str, client_info: Any, capabilities: Any, now: datetime) -> str:
    """A new session's id; it lives for settings.MCP_SESSION_TTL_S seconds."""
    session = McpSession.objects.create(
        id=secrets.token_urlsafe(32),
        user_id=principal.user_id,
        application_id=principal.application_id,
        protocol_version=protocol_version,
        client_info=storable(client_info),
        capabilities=storable(capabilities),
        created_at=now,
        expires_at=now + timedelta(seconds=settings.MCP_SESSION_TTL_S),
    )
    return str(session.pk)


def storable(value: Any) -> Any:
    """What a client said of itself, as PostgreSQL can keep it: no NUL, no lone surrogate."""
    if isinstance(value, str):
        return value.replace("\x00", "").encode("utf-8", "ignore").decode()
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item) for item in value]
    return value if value is not None else {}


def find(principal: Principal, session_id: str, now: datetime) -> McpSession | None:
    """The living session, or None: unknown, ended, expired and someone else's are all the same."""
    return living(principal, session_id, now).first()


def close(principal: Principal, session_id: str, now: datetime) -> bool:
    """End a session; False when there is none to end."""
    deleted, _ = living(principal, session_id, now).delete()
    return deleted > 0


def clear_expired(now: datetime) -> int:
    """Delete what has expired; how many."""
    deleted, _ = McpSession.objects.filter(expires_at__lte=now).delete()
    return deleted
