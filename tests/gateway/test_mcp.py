"""/mcp over HTTP: who is let in, the stateless era, and what is refused before any tool runs."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import get_access_token_model
from time_machine import TimeMachineFixture

from accounts.models import Account, Connection, User
from mcp_gateway.contract import SERVER, TOOLS
from tests.gateway import flow
from tests.mcp_client import VERSION, McpClient, issue_token

pytestmark = pytest.mark.django_db
CHALLENGE = f'resource_metadata="{settings.BASE_URL}/.well-known/oauth-protected-resource/mcp"'


@pytest.fixture
def mcp(client: Client, account: Account) -> McpClient:
    """A connected agent with both scopes."""
    return McpClient(client, issue_token(account))


# --- who is let in ------------------------------------------------------------------------------------------


def test_a_request_without_a_token_learns_where_to_get_one(client: Client) -> None:
    response = client.post("/mcp", "{}", content_type="application/json")
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == f'Bearer {CHALLENGE}, scope="alerts.read alerts.send"'


@pytest.mark.parametrize("authorization", ["Bearer nope", "bearer ünknown", "Bearer " + "x" * 5000])
def test_an_unknown_token_is_invalid(client: Client, db: None, authorization: str) -> None:
    response = client.post("/mcp", "{}", content_type="application/json", headers={"Authorization": authorization})
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith('Bearer error="invalid_token"')
    assert CHALLENGE in response["WWW-Authenticate"]


@pytest.mark.parametrize(
    "change",
    [
        {"expires": timezone.now() - timedelta(seconds=1)},
        {"resource": []},
        {"resource": ["https://other.example/mcp"]},
        {"resource": [settings.MCP_RESOURCE, "https://other.example"]},
        {"user": None},
    ],
)
def test_expired_unbound_and_foreign_tokens_are_invalid(mcp: McpClient, change: dict[str, Any]) -> None:
    assert mcp.post("tools/list").status_code == 200
    get_access_token_model().objects.update(**change)
    assert mcp.post("tools/list").status_code == 401


def test_a_registration_token_is_no_access_token(client: Client, db: None) -> None:
    metadata = {"redirect_uris": [flow.LOOPBACK], "token_endpoint_auth_method": "none"}
    registered = client.post("/register", json.dumps(metadata), content_type="application/json")
    token = json.loads(registered.content)["registration_access_token"]
    assert McpClient(client, token).post("tools/list").status_code == 401


def test_a_disabled_login_and_a_revoked_connection_are_out_at_once(mcp: McpClient, owner: User) -> None:
    User.objects.update(is_active=False)
    assert mcp.post("tools/list").status_code == 401
    User.objects.update(is_active=True)
    assert mcp.post("tools/list").status_code == 200
    Connection.objects.update(revoked_at=timezone.now())
    assert mcp.post("tools/list").status_code == 401


def test_a_deactivated_connection_still_authenticates(mcp: McpClient) -> None:
    Connection.objects.update(deactivated_at=timezone.now())
    assert mcp.post("tools/list").status_code == 200


def test_a_tool_outside_the_granted_scopes_is_403_and_asks_for_all_that_is_needed(
    client: Client, account: Account
) -> None:
    reader = McpClient(client, issue_token(account, scopes="alerts.read"))
    response = reader.post("tools/call", {"name": "cancel_alert", "arguments": {"alert_id": "A-ZZZZZZ"}})
    assert response.status_code == 403
    challenge = response["WWW-Authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="alerts.read alerts.send"' in challenge
    assert CHALLENGE in challenge
    assert {tool["name"] for tool in reader.result("tools/list")["tools"]} == set(TOOLS)


def test_use_is_noted_once_a_minute(mcp: McpClient, clock: TimeMachineFixture) -> None:
    mcp.post("tools/list")
    first = Connection.objects.get().last_used_at
    assert first == timezone.now()
    clock.shift(59)
    mcp.post("tools/list")
    assert Connection.objects.get().last_used_at == first
    clock.shift(1)
    mcp.post("tools/list")
    assert Connection.objects.get().last_used_at == timezone.now()


# --- plain HTTP ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["get", "put", "patch", "head", "options"])
def test_only_post_and_delete_are_answered(client: Client, method: str) -> None:
    response = getattr(client, method)("/mcp")
    assert response.status_code == 405
    assert response["Allow"] == "POST, DELETE"


def test_a_foreign_origin_is_refused_and_ours_is_not(mcp: McpClient) -> None:
    assert mcp.post("tools/list", headers={"Origin": "https://evil.example"}).status_code == 403
    assert mcp.post("tools/list", headers={"Origin": "null"}).status_code == 403
    assert mcp.post("tools/list", headers={"Origin": settings.BASE_URL}).status_code == 200


def test_bodies_are_json_and_capped(mcp: McpClient) -> None:
    headers = {"Authorization": f"Bearer {mcp.token}"}
    assert mcp.client.post("/mcp", "x=1", content_type="text/plain", headers=headers).status_code == 415
    large = b'"' + b"x" * settings.MCP_MAX_BODY + b'"'
    assert mcp.client.post("/mcp", large, content_type="application/json", headers=headers).status_code == 413
    assert mcp.post("tools/list", headers={"Accept": "text/html"}).status_code == 406


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    ],
)
def test_what_is_no_message_is_400(mcp: McpClient, body: bytes, code: int) -> None:
    headers = {"Authorization": f"Bearer {mcp.token}", "MCP-Protocol-Version": VERSION}
    response = mcp.client.post("/mcp", body, content_type="application/json", headers=headers)
    assert response.status_code == 400
    assert json.loads(response.content)["error"]["code"] == code


def test_a_lone_surrogate_comes_back_as_it_came(mcp: McpClient) -> None:
    headers = {
        "Authorization": f"Bearer {mcp.token}",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "server/discover",
    }
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": "\ud800", "method": "server/discover", "params": {"_meta": meta}}
    response = mcp.client.post("/mcp", json.dumps(body), content_type="application/json", headers=headers)
    assert response.status_code == 200
    assert json.loads(response.content)["id"] == "\ud800"


# --- 2026-07-28 ------------------------------------------------------------------------------------------------------


def test_the_tool_list_carries_its_life_and_the_contracts_schemas(mcp: McpClient) -> None:
    result = mcp.result("tools/list")
    assert result["ttlMs"] == 3_600_000
    assert [tool["name"] for tool in result["tools"]] == list(TOOLS)
    for shown in result["tools"]:
        tool = TOOLS[shown["name"]]
        assert shown["description"] == tool.description
        assert shown["inputSchema"] == tool.input_schema
        assert shown["outputSchema"] == tool.output_schema
        assert shown["annotations"] == dict(tool.annotations)


def test_discover_says_who_we_are(mcp: McpClient) -> None:
    result = mcp.result("server/discover")
    info = result["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert (info["name"], info["title"]) == ("breakpass", "BreakPass")
    assert result["instructions"] == SERVER.instructions
    assert VERSION in result["supportedVersions"]


@pytest.mark.parametrize(
    "headers",
    [{"Mcp-Method": "tools/call"}, {"Mcp-Method": ""}, {"MCP-Protocol-Version": "2027-01-01"}],
)
def test_headers_that_disagree_with_the_body_are_refused(mcp: McpClient, headers: dict[str, str]) -> None:
    response = mcp.post("tools/list", headers=headers)
    assert response.status_code == 400
    assert json.loads(response.content)["error"]["code"] == -32020


def test_a_wrong_name_header_is_refused(mcp: McpClient) -> None:
    call = {"name": "get_setup_status", "arguments": {}}
    response = mcp.post("tools/call", call, headers={"Mcp-Name": "make_call"})
    assert response.status_code == 400


def test_an_unknown_version_learns_which_are_known(mcp: McpClient) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    response = mcp.post("tools/list", meta=meta, headers={"MCP-Protocol-Version": "2027-01-01"})
    error = json.loads(response.content)["error"]
    assert response.status_code == 400
    assert error["data"] == {"supported": [VERSION], "requested": "2027-01-01"}


def test_unknown_tools_and_methods_are_errors_of_the_protocol(mcp: McpClient) -> None:
    tool = mcp.post("tools/call", {"name": "launch_rocket", "arguments": {}})
    assert (tool.status_code, json.loads(tool.content)["error"]["code"]) == (400, -32602)
    assert b"launch_rocket" not in tool.content
    method = mcp.post("resources/list")
    assert (method.status_code, json.loads(method.content)["error"]["code"]) == (404, -32601)


def test_a_notification_is_accepted_without_an_answer(mcp: McpClient) -> None:
    headers = {"Authorization": f"Bearer {mcp.token}", "MCP-Protocol-Version": VERSION}
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}})
    response = mcp.client.post("/mcp", body, content_type="application/json", headers=headers)
    assert (response.status_code, response.content) == (202, b"")


def test_an_unexpected_error_is_an_internal_error_and_its_words_stay_here(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    number = "+1202555" + "0123"

    def explode(*args: Any, **kwargs: Any) -> None:
        raise LookupError(number)

    monkeypatch.setattr("accounts.readiness.setup_status", explode)
    response = mcp.post("tools/call", {"name": "get_setup_status", "arguments": {}})
    assert json.loads(response.content)["error"] == {"code": -32603, "message": "Internal server error"}
    assert "LookupError" in caplog.text
    assert number not in caplog.text
