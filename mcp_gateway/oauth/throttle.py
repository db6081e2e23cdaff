"""How often strangers may register clients or make us fetch their metadata."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from accounts.access import client_ip
from accounts.throttle import consume


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
