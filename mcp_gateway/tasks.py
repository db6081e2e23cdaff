"""Clears what has expired: codes, tokens, legacy sessions, and clients that nobody used."""

import logging

from celery import shared_task
from django.utils import timezone
from oauth2_provider.models import clear_expired as clear_expired_tokens

from mcp_gateway import sessions
from mcp_gateway.oauth import registration

log = logging.getLogger(__name__)


@shared_task(name="mcp_gateway.clear_expired")
def clear_expired() -> None:
    """Safe to run at any time, twice and at once; beat runs it every hour."""
    now = timezone.now()
    clear_expired_tokens()
    ended, unused = sessions.clear_expired(now), registration.clear_unused(now)
    log.info("cleared %d MCP sessions and %d unused clients", ended, unused)
