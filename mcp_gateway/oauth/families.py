"""Token families: everything that one authorization gave, through all its rotations."""

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from oauth2_provider.models import get_access_token_model, get_refresh_token_model

from breakpass.ids import keyed_hash


def of_code(code: str) -> uuid.UUID:
    """The family of an authorization code: derived, so that a replayed code finds what it gave without a record."""
    return uuid.UUID(hex=keyed_hash(settings.SECRET_KEY, "token-family", code)[:32])


def lock(family: uuid.UUID) -> None:
    """Hold the family until the open transaction ends: rotations of one chain happen one after the other."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [family.int % 2**63])


def revoke(family: uuid.UUID | None, application_id: int | None = None) -> None:
    """End every token of the family, if it is this application's. Unknown families are nothing to do."""
    tokens = get_refresh_token_model()
    if family is None:
        return
    if (
        application_id is not None
        and not tokens.objects.filter(token_family=family, application_id=application_id).exists()
    ):
        return
    tokens.revoke_family(family)


def successor_of(token: Any) -> Any:
    """The refresh token that the last rotation of `token` gave and that nobody has used, or None."""
    return (
        get_refresh_token_model()
        .objects.select_related("access_token")
        .filter(access_token__source_refresh_token=token, revoked=None)
        .first()
    )


def is_in_grace(token: Any, now: datetime) -> bool:
    """Whether a rotated token may be used once more, because its answer may have been lost (settings.REFRESH_GRACE_S).

    Counted from its first rotation, which is what `revoked` says.
    """
    grace = timedelta(seconds=settings.REFRESH_GRACE_S)
    return token.revoked is not None and now < token.revoked + grace


def family_of_access_token(checksum: str, application_id: int) -> tuple[Any, uuid.UUID | None]:
    """The access token with that checksum and its family; (None, None) when there is none."""
    token = (
        get_access_token_model()
        .objects.select_related("refresh_token")
        .filter(token_checksum=checksum, application_id=application_id)
        .first()
    )
    if token is None:
        return None, None
    refresh_token = getattr(token, "refresh_token", None)
    return token, refresh_token.token_family if refresh_token else None
