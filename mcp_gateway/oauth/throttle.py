"""How often strangers may register clients or make us fetch their metadata: counted per hour in the cache."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.utils import timezone

from accounts.access import client_ip
from breakpass.ids import keyed_hash

HOUR_S = 3600


def consume(action: str, who: str, limit: int, now: datetime) -> bool:
    """Count one; False when `who` has had its `limit` of this UTC hour. Addresses are stored as keyed hashes."""
    hour = int(now.timestamp()) // HOUR_S
    key = f"throttle:{action}:{keyed_hash(settings.SECRET_KEY, 'throttle', who)}:{hour}"
    cache.add(key, 0, HOUR_S)
    return int(cache.incr(key)) <= limit


def may_register(request: HttpRequest, now: datetime) -> bool:
    """Whether this address may register one more client this hour."""
    return consume("register", client_ip(request), settings.REGISTRATIONS_PER_IP_HOUR, now)


class MetadataFetchPermission:
    """Asked by the toolkit before it fetches a client's metadata document: caps per address, and in all."""

    def has_permission(self, request: Any, client_id: str) -> bool:
        """`request` is oauthlib's; its headers hold the WSGI environment."""
        now = timezone.now()
        caller = HttpRequest()
        caller.META.update(request.headers)
        return consume("fetch", client_ip(caller), settings.METADATA_FETCHES_PER_IP_HOUR, now) and consume(
            "fetch", "everybody", settings.METADATA_FETCHES_PER_HOUR, now
        )
