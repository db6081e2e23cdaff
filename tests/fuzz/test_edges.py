"""Generated requests against the edges that strangers reach: whatever comes, the fault is never ours (no 5xx)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.conf import settings as django_settings
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis import Case

from mcp_gateway.models import Application
from tests.factories import AccountFactory
from tests.mcp_client import issue_token

pytestmark = [pytest.mark.fuzz, pytest.mark.django_db, pytest.mark.timeout(600)]
TEXT = (Path(__file__).parent / "edges.json").read_text(encoding="utf-8")
schema = schemathesis.openapi.from_dict(json.loads(TEXT.replace("RESOURCE", django_settings.MCP_RESOURCE)))
# In this process, and so in the test's own transaction.
schema.app = get_wsgi_application()


@pytest.fixture
def token(load_rates: None, settings: Any) -> Iterator[str]:
    """A connected agent; a client that may ask; and no throttle that would answer instead of the code."""
    cache.clear()
    # As Django's own test client does: a request must not close the test's connection.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    settings.REGISTRATIONS_PER_IP_HOUR = 1_000_000
    settings.METADATA_FETCHES_PER_IP_HOUR = 0
    Application.objects.create(
        client_id="fuzzed",
        client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris="http://127.0.0.1/callback",
    )
    yield issue_token(AccountFactory(number="+12025550143"))
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
    cache.clear()


@schema.parametrize()
@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_nothing_that_is_sent_breaks_us(case: "Case[Any]", token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"} if case.path == "/mcp" else {}
    response = case.call(headers=headers)
    assert response.status_code < 500, (response.status_code, response.text[:300])
    # A tool that failed answers in the protocol, not in HTTP.
    assert "Internal server error" not in response.text
