"""/register and what becomes of clients: the shapes of RFC 7591, the throttle, the clean-up, the metadata."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_grant_model
from time_machine import TimeMachineFixture

from mcp_gateway.models import Application, McpSession
from mcp_gateway.tasks import clear_expired
from tests.gateway import flow

pytestmark = pytest.mark.django_db
BASE = django_settings.BASE_URL
NATIVE = {
    "client_name": "Terminal agent",
    "redirect_uris": ["http://localhost:3118/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}


def register(client: Client, metadata: Any) -> Any:
    """One registration."""
    body = metadata if isinstance(metadata, bytes) else json.dumps(metadata)
    return client.post("/register", body, content_type="application/json")


def test_a_public_client_registers_and_connects_from_any_port(browser: Client, stranger: Client) -> None:
    response = register(stranger, NATIVE)
    answer = json.loads(response.content)
    assert response.status_code == 201
    assert response["Cache-Control"] == "no-store"
    assert "client_secret" not in answer
    assert abs(answer["client_id_issued_at"] - timezone.now().timestamp()) < 5
    assert answer["token_endpoint_auth_method"] == "none"
    assert answer["response_types"] == ["code"]
    assert answer["scope"] == "alerts.read alerts.send"
    app = Application.objects.get(client_id=answer["client_id"])
    verifier, challenge = flow.pkce()
    asked = flow.request_of(app, challenge, redirect_uri="http://localhost:50123/callback")
    code = flow.decide(browser, asked)["code"]
    tokens = flow.exchange(stranger, app, code, verifier, redirect_uri="http://localhost:50123/callback")
    assert tokens.status_code == 200


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_a_confidential_client_gets_a_secret_that_does_not_expire_and_must_show_it(
    browser: Client, stranger: Client, method: str
) -> None:
    answer = json.loads(register(stranger, {**NATIVE, "token_endpoint_auth_method": method}).content)
    assert (answer["client_secret_expires_at"], answer["token_endpoint_auth_method"]) == (0, method)
    app = Application.objects.get(client_id=answer["client_id"])
    verifier, challenge = flow.pkce()
    uri = "http://localhost:3118/callback"
    code = flow.decide(browser, flow.request_of(app, challenge, redirect_uri=uri))["code"]
    assert flow.exchange(stranger, app, code, verifier, redirect_uri=uri).status_code == 401
    right = flow.exchange(stranger, app, code, verifier, redirect_uri=uri, client_secret=answer["client_secret"])
    assert right.status_code == 200


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 10_000,
        b"null",
        b'{"redirect_uris":["https://a.example/cb"],"client_name":"\\u0000"}',
        b'{"redirect_uris":["https://a.example/cb"],"client_name":"\\ud800"}',
        b'{"redirect_uris":["https://a.example/cb"],"x":"' + b"y" * 40_000 + b'"}',
        {"redirect_uris": []},
        {"redirect_uris": "https://a.example/cb"},
        {"redirect_uris": [7]},
        {"redirect_uris": ["http://evil.example/cb"]},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["data:text/html,x"]},
        {"redirect_uris": ["https://a.example/cb#fragment"]},
        {"redirect_uris": ["https://a.example/cb https://b.example/cb"]},
        {"redirect_uris": ["http://["]},
        {"redirect_uris": [f"https://a.example/{n}" for n in range(21)]},
        {"redirect_uris": ["https://a.example/cb"], "client_name": 7},
        {"redirect_uris": ["https://a.example/cb"], "client_name": "x" * 256},
        {"redirect_uris": ["https://a.example/cb"], "grant_types": ["password"]},
        {"redirect_uris": ["https://a.example/cb"], "grant_types": ["client_credentials"]},
        {"redirect_uris": ["https://a.example/cb"], "grant_types": [[]]},
        {"redirect_uris": ["https://a.example/cb"], "token_endpoint_auth_method": "private_key_jwt"},
        {"redirect_uris": ["https://a.example/cb"], "scope": ["alerts.read"]},
    ],
)
def test_metadata_that_cannot_be_is_refused_and_nothing_is_stored(stranger: Client, metadata: Any) -> None:
    response = register(stranger, metadata)
    assert response.status_code == 400
    assert json.loads(response.content)["error"] == "invalid_client_metadata"
    assert not Application.objects.exists()


def test_registrations_are_throttled_per_address(stranger: Client, settings: Any, clock: TimeMachineFixture) -> None:
    settings.REGISTRATIONS_PER_IP_HOUR = 2
    assert [register(stranger, NATIVE).status_code for _ in range(3)] == [201, 201, 429]
    assert register(stranger, NATIVE)["Retry-After"] == "3600"
    assert Application.objects.count() == 2
    other = Client(REMOTE_ADDR="192.0.2.7")
    assert register(other, NATIVE).status_code == 201
    clock.shift(timedelta(hours=1))
    assert register(stranger, NATIVE).status_code == 201


def test_a_client_manages_its_registration_with_its_token_only(stranger: Client) -> None:
    answer = json.loads(register(stranger, NATIVE).content)
    path = f"/register/{answer['client_id']}"
    headers = {"Authorization": f"Bearer {answer['registration_access_token']}"}
    assert stranger.get(path).status_code == 401
    assert stranger.get(path, headers=headers).status_code == 200
    bad = json.dumps({**NATIVE, "redirect_uris": ["http://evil.example/cb"]})
    assert stranger.put(path, bad, content_type="application/json", headers=headers).status_code == 400
    assert stranger.put(path, b"[", content_type="application/json", headers=headers).status_code == 400
    assert stranger.delete(path, headers=headers).status_code == 204
    assert not Application.objects.exists()


def test_unused_clients_go_after_a_week_and_used_ones_stay(
    browser: Client, stranger: Client, app: Application, clock: TimeMachineFixture
) -> None:
    register(stranger, NATIVE)
    flow.connect(browser, stranger, app)
    clock.shift(timedelta(days=7))
    clear_expired()
    assert Application.objects.count() == 2
    clock.shift(1)
    clear_expired()
    assert list(Application.objects.all()) == [app]


def test_what_has_expired_is_cleared(
    browser: Client, stranger: Client, app: Application, clock: TimeMachineFixture
) -> None:
    tokens = flow.connect(browser, stranger, app)
    flow.decide(browser, flow.request_of(app, flow.pkce()[1]))
    assert flow.status_at_mcp(stranger, tokens["access_token"]) == 200
    assert (McpSession.objects.count(), get_grant_model().objects.count()) == (1, 1)
    clock.shift(timedelta(days=180))
    clear_expired()
    assert not McpSession.objects.exists()
    assert not get_grant_model().objects.exists()
    assert not get_access_token_model().objects.exists()


def test_the_authorization_server_describes_itself(stranger: Client) -> None:
    metadata = json.loads(stranger.get("/.well-known/oauth-authorization-server").content)
    assert metadata["issuer"] == BASE
    assert metadata["authorization_endpoint"] == BASE + "/authorize"
    assert metadata["token_endpoint"] == metadata["revocation_endpoint"] == BASE + "/token"
    assert metadata["registration_endpoint"] == BASE + "/register"
    assert metadata["code_challenge_methods_supported"] == ["S256"]
    assert metadata["response_types_supported"] == ["code"]
    assert metadata["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert metadata["scopes_supported"] == ["alerts.read", "alerts.send"]
    assert metadata["authorization_response_iss_parameter_supported"] is True
    assert metadata["client_id_metadata_document_supported"] is True
    assert "introspection_endpoint" not in metadata


def test_the_resource_describes_itself_on_exactly_two_paths(stranger: Client) -> None:
    root = stranger.get("/.well-known/oauth-protected-resource")
    assert root.content == stranger.get("/.well-known/oauth-protected-resource/mcp").content
    metadata = json.loads(root.content)
    assert (metadata["resource"], metadata["authorization_servers"]) == (BASE + "/mcp", [BASE])
    assert metadata["scopes_supported"] == ["alerts.read", "alerts.send"]
    assert stranger.get("/.well-known/oauth-protected-resource/other").status_code == 404
    assert stranger.get("/.well-known/openid-configuration").status_code == 404
