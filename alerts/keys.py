"""Idempotency: the keys agents use, and the same direct send twice within a minute (behaviour, Idempotency)."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from accounts.models import Account
from alerts.models import Alert, IdempotencyKey
from breakpass.errors import Refusal
from breakpass.ids import sha256_hex

KEY_LIFETIME: Final = timedelta(hours=24)
DUPLICATE_WINDOW: Final = timedelta(seconds=60)


def hash_request(tool: str, arguments: Mapping[str, Any]) -> str:
    """The hash of a tool's name and its cleaned arguments with defaults applied, whatever their order."""
    return sha256_hex(json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def find_replay(account: Account, key: str, *, request_hash: str, now: datetime) -> Alert | None:
    """The alert that this key asked for within 24 hours, whatever became of it; None when the key is free.

    Refuses IDEMPOTENCY_CONFLICT when the key asked for something else.
    """
    used = account.idempotency_keys.filter(key=key).first()
    if used is None or used.created_at <= now - KEY_LIFETIME:
        return None
    if used.request_hash != request_hash:
        raise Refusal(
            "IDEMPOTENCY_CONFLICT",
            "This idempotency_key was used with a different payload in the last 24 hours. Use a new key.",
        )
    return used.alert


def remember(account: Account, key: str, *, request_hash: str, alert: Alert, now: datetime) -> None:
    """Keep what the key asked for; takes over a key whose 24 hours are over. Needs the locked account."""
    row = IdempotencyKey(account=account, key=key, request_hash=request_hash, alert=alert, created_at=now)
    IdempotencyKey.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["account", "key"],
        update_fields=["request_hash", "alert", "created_at"],
    )


def fingerprint(person_id: int | None, channel: str, message: str) -> str:
    """What makes two direct sends the same one: person, channel and cleaned text. Unlike any workflow's."""
    return sha256_hex(json.dumps([person_id, channel, message]))


def find_duplicate(account: Account, mark: str, *, now: datetime) -> Alert | None:
    """The same direct send of the last 60 seconds, if any, whatever became of it."""
    since = now - DUPLICATE_WINDOW
    return account.alerts.filter(fingerprint=mark, created_at__gte=since).order_by("-created_at", "-pk").first()


def prune(now: datetime) -> int:
    """Delete keys whose 24 hours are over; how many there were."""
    return IdempotencyKey.objects.filter(created_at__lte=now - KEY_LIFETIME).delete()[0]
