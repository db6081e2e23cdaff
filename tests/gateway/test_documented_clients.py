"""Clients that are their own metadata document: from an unknown address to a connection."""

from typing import Any, ClassVar

import pytest
from django.test import Client
from oauth2_provider.cimd import CIMDError

from mcp_gateway.models import Application
from mcp_gateway.oauth.cimd import AGE_MIN_S
from tests.gateway import flow
from tests.gateway.test_cimd import DOCUMENT, HOST, URL


class Shelf:
    """Stands in for the network: documents by address, and what was asked for."""

    documents: ClassVar[dict[str, dict[str, Any]]] = {}
    asked: ClassVar[list[str]] = []

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        """As the real one answers."""
        self.asked.append(client_id)
        if client_id not in self.documents:
            raise CIMDError("not there")
        return self.documents[client_id], AGE_MIN_S


@pytest.fixture
def shelf(settings: Any) -> type[Shelf]:
    """Documents instead of the network."""
    Shelf.documents, Shelf.asked = {URL: DOCUMENT}, []
    settings.OAUTH2_PROVIDER = {
        **settings.OAUTH2_PROVIDER,
        "CIMD_METADATA_FETCHER": "tests.gateway.test_documented_clients.Shelf",
    }
    return Shelf


class Asked:
    """A client that is known by nothing but its address."""

    client_id = URL


@pytest.mark.django_db
def test_a_client_that_is_its_own_document_connects(browser: Client, stranger: Client, shelf: type[Shelf]) -> None:
    verifier, challenge = flow.pkce()
    port = "http://127.0.0.1:7777/callback"
    asked = flow.request_of(Asked(), challenge, redirect_uri=port)  # type: ignore[arg-type]  # not registered yet
    page = browser.get(flow.address(asked)).content.decode()
    assert "<strong>Example agent</strong>" in page
    assert "(name not verified)" in page
    code = flow.decide(browser, asked)["code"]
    app = Application.objects.get(client_id=URL)
    assert flow.exchange(stranger, app, code, verifier, redirect_uri=port).status_code == 200
    assert (app.registration_source, app.client_type) == ("cimd", "public")
    assert shelf.asked == [URL]


@pytest.mark.django_db
def test_a_document_on_a_platforms_own_host_proves_the_platform(browser: Client, shelf: type[Shelf]) -> None:
    url = "https://claude.ai/oauth/claude-code-client-metadata"
    shelf.documents[url] = {**DOCUMENT, "client_id": url, "client_name": "Claude Code"}
    asked = {**flow.request_of(Asked(), "c" * 43), "client_id": url}  # type: ignore[arg-type]  # not registered yet
    page = browser.get(flow.address(asked)).content.decode()
    assert "<strong>Claude</strong>" in page
    assert "Recognised ✓" in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [
        {"client_id": "https://other.example/c.json"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"client_secret": "x"},
        {"redirect_uris": ["http://evil.example/cb"]},
        {"redirect_uris": []},
        {"client_name": "x" * 300},
    ],
)
def test_a_document_that_breaks_a_rule_is_no_client(
    browser: Client, shelf: type[Shelf], change: dict[str, Any]
) -> None:
    shelf.documents[URL] = {**DOCUMENT, **change}
    response = browser.get(flow.address(flow.request_of(Asked(), "c" * 43)))  # type: ignore[arg-type]  # as above
    assert response.status_code == 400
    assert not Application.objects.exists()


@pytest.mark.django_db
def test_fetches_are_capped_per_address_and_in_all(shelf: type[Shelf], settings: Any) -> None:
    settings.METADATA_FETCHES_PER_IP_HOUR, settings.METADATA_FETCHES_PER_HOUR = 2, 3

    def ask(number: int, address: str) -> None:
        url = f"https://{HOST}/{number}.json"
        asked = {**flow.request_of(Asked(), "c" * 43), "client_id": url}  # type: ignore[arg-type]  # as above
        assert Client(REMOTE_ADDR=address).get(flow.address(asked)).status_code == 400

    for number in range(3):
        ask(number, "192.0.2.1")
    assert len(shelf.asked) == 2
    for number in range(3, 6):
        ask(number, "192.0.2.2")
    assert len(shelf.asked) == 3
