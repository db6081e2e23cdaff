"""The steps of an authorization, as a client and its owner's browser take them."""

import base64
import hashlib
import json
import secrets
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.conf import settings
from django.test import Client

from mcp_gateway.models import Application

Response = Any  # the test client returns a private kind of its own
LOOPBACK = "http://127.0.0.1/callback"


def pkce() -> tuple[str, str]:
    """A verifier and its S256 challenge."""
    verifier = secrets.token_urlsafe(48)
    return verifier, base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def request_of(app: Application, challenge: str, **changes: Any) -> dict[str, Any]:
    """The parameters of a good authorization request; a change to None leaves one out."""
    parameters = {
        "response_type": "code",
        "client_id": app.client_id,
        "redirect_uri": LOOPBACK,
        "state": "st",
        "scope": "alerts.read alerts.send",
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": settings.MCP_RESOURCE,
        **changes,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def address(parameters: dict[str, Any]) -> str:
    """/authorize with its query."""
    return "/authorize?" + urlencode(parameters, doseq=True)


def answer_of(response: Response) -> dict[str, str]:
    """The parameters that an authorization response carries back to the client."""
    assert response.status_code == 302, (response.status_code, response.content[:500])
    return {name: values[0] for name, values in parse_qs(urlsplit(response["Location"]).query).items()}


def decide(
    browser: Client, parameters: dict[str, Any], *, allow: bool = True, scopes: tuple[str, ...] = ("alerts.send",)
) -> dict[str, str]:
    """Press Allow or Deny, with the optional scopes ticked or not."""
    response = browser.post(address(parameters), {"allow": "true" if allow else "false", "scope": list(scopes)})
    return answer_of(response)


def exchange(client: Client, app: Application, code: str, verifier: str, **changes: Any) -> Response:
    """The code for tokens."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": LOOPBACK,
        "client_id": app.client_id,
        "code_verifier": verifier,
        **changes,
    }
    return client.post("/token", {name: value for name, value in form.items() if value is not None})


def refresh(client: Client, app: Application, refresh_token: str, **changes: Any) -> Response:
    """A refresh token for new ones."""
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": app.client_id, **changes}
    return client.post("/token", form)


def connect(
    browser: Client, stranger: Client, app: Application, *, scopes: tuple[str, ...] = ("alerts.send",), **changes: Any
) -> dict[str, Any]:
    """The whole way: tokens for the app."""
    verifier, challenge = pkce()
    code = decide(browser, request_of(app, challenge, **changes), scopes=scopes)["code"]
    response = exchange(stranger, app, code, verifier)
    assert response.status_code == 200, response.content
    tokens: dict[str, Any] = json.loads(response.content)
    return tokens


def status_at_mcp(client: Client, access_token: str) -> int:
    """What /mcp says to this token: 200, or 401."""
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "probe", "version": "1"},
            },
        }
    )
    headers = {"Authorization": f"Bearer {access_token}"}
    return client.post("/mcp", body, content_type="application/json", headers=headers).status_code
