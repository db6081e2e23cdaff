"""The product, its worker and the sandbox's phones, all running, for real MCP clients to talk to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.cache import cache
from oauth2_provider.cimd import CIMDError

from accounts.models import Account
from sandbox import Config, Sandbox
from sandbox.handset import Handset
from tests.browser.conftest import Worker
from tests.factories import AccountFactory
from tests.live import point_settings_at
from tests.robot import authorize

NUMBER = "+12025550143"
DOCUMENT_URL = "https://client.example/oauth/client.json"
DOCUMENT = {
    "client_id": DOCUMENT_URL,
    "client_name": "Documented client",
    "redirect_uris": ["http://127.0.0.1:8976/callback", "http://localhost:8976/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}


class OneDocument:
    """Stands in for the web: the one client ID metadata document that there is."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        """As the real fetcher answers."""
        if client_id != DOCUMENT_URL:
            raise CIMDError("not there")
        return DOCUMENT, 300


@dataclass
class Site:
    """Where the product is, whose account it is, and their phone."""

    endpoint: str
    account: Account
    phone: Handset
    approve: Callable[..., str]


@pytest.fixture
def site(transactional_db: None, load_rates: None, live_server: Any, settings: Any) -> Iterator[Site]:
    """A ready account on a running product; `approve(url)` is its owner in a browser."""
    cache.clear()
    endpoint = point_settings_at(settings, live_server.url)
    settings.OAUTH2_PROVIDER = {
        **settings.OAUTH2_PROVIDER,
        "CIMD_METADATA_FETCHER": "tests.clients.conftest.OneDocument",
    }
    account = AccountFactory(number=NUMBER)
    email = account.members.get().user.email
    with Sandbox(Config(inbound_url=f"{live_server.url}/webhooks/twilio/inbound"), speed=4.0) as sandbox:
        for name, value in sandbox.environment.items():
            setattr(settings, name, value)
        worker = Worker()
        worker.start()
        try:
            yield Site(endpoint, account, sandbox.phone(NUMBER), lambda url, **how: authorize(url, email=email, **how))
        finally:
            worker.stopping.set()
            worker.join(10)
            cache.clear()
    assert worker.failures == []
