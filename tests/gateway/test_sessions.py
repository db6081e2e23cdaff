"""Sessions of legacy clients over HTTP: opened, used by their owner only, ended, expired; versions counter-offered."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from time_machine import TimeMachineFixture

from accounts.models import Account
from mcp_gateway.contract import SERVER, TOOLS
from mcp_gateway.models import McpSession
from tests.mcp_client import issue_token

pytestmark = pytest.mark.django_db
LEGACY = ["2025-06-18", "2025-11-25"]


class LegacyClient:
    """An agent of the era of sessions."""

    def __init__(self, client: Client, token: str, version: str) -> None:
        self.client, self.token, self.version, self.session = client, token, version, ""

    def post(self, method: str, params: Any = None, *, id_: Any = 1, **headers: str) -> HttpResponse:
        """One message."""
        body = {"jsonrpc": "2.0", "method": method, **({"id": id_} if id_ is not None else {})}
        if params is not None:
            body["params"] = params
        sent = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {self.token}"}
        if self.session:
            sent |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version}
        response = self.client.post(
            "/mcp", json.dumps(body), content_type="application/json", headers={**sent, **headers}
        )
        assert isinstance(response, HttpResponse)
        return response

    def initialize(self) -> dict[str, Any]:
        """Open a session."""
        response = self.post(
            "initialize",
            {"protocolVersion": self.version, "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}},
        )
        assert response.status_code == 200, response.content
        self.session = response["Mcp-Session-Id"]
        result: dict[str, Any] = json.loads(response.content)["result"]
        return result

    def delete(self) -> int:
        """End the session; the HTTP status."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Mcp-Session-Id": self.session,
            "MCP-Protocol-Version": self.version,
        }
        return self.client.delete("/mcp", headers=headers).status_code


@pytest.mark.parametrize("version", LEGACY)
def test_a_legacy_client_opens_uses_and_ends_a_session(client: Client, account: Account, version: str) -> None:
    agent = LegacyClient(client, issue_token(account), version)
    result = agent.initialize()
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "breakpass"
    assert result["instructions"] == SERVER.instructions
    assert agent.post("notifications/initialized", id_=None).status_code == 202
    listed = json.loads(agent.post("tools/list").content)["result"]
    assert [tool["name"] for tool in listed["tools"]] == list(TOOLS)
    assert "ttlMs" not in listed
    assert agent.post("ping").status_code == 200
    unknown = agent.post("resources/list")
    assert (unknown.status_code, json.loads(unknown.content)["error"]["code"]) == (200, -32601)
    assert agent.delete() == 204
    assert agent.post("tools/list").status_code == 404
    assert agent.delete() == 404
    assert not McpSession.objects.exists()


@pytest.mark.parametrize("offered", ["2024-11-05", "2025-03-26", "1999-01-01", 7, None])
def test_another_version_is_counter_offered_the_newest_legacy_one(
    client: Client, account: Account, offered: object
) -> None:
    agent = LegacyClient(client, issue_token(account), "2025-11-25")
    params = {"protocolVersion": offered, "capabilities": {}, "clientInfo": {"name": "p", "version": "1"}}
    response = agent.post("initialize", params)
    assert json.loads(response.content)["result"]["protocolVersion"] == "2025-11-25"


def test_a_legacy_request_needs_its_session_and_its_version(client: Client, account: Account) -> None:
    agent = LegacyClient(client, issue_token(account), "2025-11-25")
    assert agent.post("tools/list").status_code == 400
    agent.initialize()
    assert agent.post("tools/list", **{"MCP-Protocol-Version": "2025-06-18"}).status_code == 400
    assert agent.post("tools/list", **{"Mcp-Session-Id": "somebody-elses"}).status_code == 404


def test_a_session_belongs_to_its_user_and_client(client: Client, account: Account) -> None:
    agent = LegacyClient(client, issue_token(account), "2025-11-25")
    agent.initialize()
    other = LegacyClient(client, issue_token(account, client_name="Another agent"), "2025-11-25")
    other.session = agent.session
    assert other.post("tools/list").status_code == 404
    assert other.delete() == 404
    assert agent.post("tools/list").status_code == 200


def test_a_session_expires(client: Client, account: Account, clock: TimeMachineFixture) -> None:
    agent = LegacyClient(client, issue_token(account), "2025-11-25")
    agent.initialize()
    clock.shift(settings.MCP_SESSION_TTL_S - 1)
    assert agent.post("tools/list").status_code == 200
    clock.shift(1)
    assert agent.post("tools/list").status_code == 404


def test_a_client_that_names_itself_in_unstorable_text_is_served(client: Client, account: Account) -> None:
    agent = LegacyClient(client, issue_token(account), "2025-11-25")
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "nul\x00 and \ud800", "version": "1"},
    }
    assert agent.post("initialize", params).status_code == 200
    assert McpSession.objects.get().client_info["name"] == "nul and "
