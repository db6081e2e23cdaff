"""Tokens that no browser asked for: for headless agents, tests and benchmarks."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from oauth2_provider.models import get_access_token_model, set_token_value

from accounts import connections
from accounts.models import User
from breakpass.ids import keyed_hash
from mcp_gateway.models import Application

TOKEN_LIFE = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Issued:
    """A fresh access token; it is shown once and stored as a hash."""

    access_token: str
    expires_at: datetime
    scopes: tuple[str, ...]


def issue(user: User, *, client_name: str, scopes: tuple[str, ...], now: datetime) -> Issued:
    """A token of the account's connection for this client name, which is made when it is not there. Living 90 days.

    The user must belong to an account. Repeating it gives another token of the same connection.
    """
    account_id = user.member.account_id
    client_id = "headless-" + keyed_hash(settings.SECRET_KEY, "headless-client", f"{account_id}:{client_name}")[:32]
    application, _ = Application.objects.get_or_create(
        client_id=client_id,
        defaults={
            "name": client_name,
            "client_type": Application.CLIENT_PUBLIC,
            "authorization_grant_type": Application.GRANT_AUTHORIZATION_CODE,
            "redirect_uris": "",
        },
    )
    if not connections.living(account_id, client_id).exists():
        connections.grant(account_id, client_id=client_id, name=client_name, approved_by=user, now=now)
    raw = secrets.token_urlsafe(32)
    token = get_access_token_model()(
        user=user,
        application=application,
        scope=" ".join(scopes),
        expires=now + TOKEN_LIFE,
        resource=[settings.MCP_RESOURCE],
    )
    set_token_value(token, raw)
    token.save()
    return Issued(raw, token.expires, scopes)
