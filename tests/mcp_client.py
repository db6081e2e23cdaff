"""An agent that speaks MCP 2026-07-28 over HTTP through Django's test client, and distrusts every result it gets."""

import itertools
import json
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from jsonschema import Draft202012Validator

from accounts.models import Account, User
from mcp_gateway import grants
from mcp_gateway.contract import TOOLS, validate_result

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
_ids = itertools.count(1)
_served = {name: Draft202012Validator(tool.output_schema) for name, tool in TOOLS.items()}


def issue_token(account: Account, *, client_name: str = "Test agent", scopes: str = "alerts.read alerts.send") -> str:
    """An access token of the account's owner for a headless agent."""
    user = User.objects.filter(member__account=account).order_by("pk")[0]
    issued = grants.issue(user, client_name=client_name, scopes=tuple(scopes.split()), now=timezone.now())
    return issued.access_token


class McpClient:
    """`call` a tool and get its structured content; `refusal` when a refusal is what the test is about."""

    def __init__(self, client: Client, token: str) -> None:
        self.client, self.token = client, token
        self.text = ""

    def post(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        meta: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> HttpResponse:
        """One request of the modern era, with its headers; `headers` replace them."""
        body = dict(params or {})
        body["_meta"] = {f"{META}protocolVersion": VERSION, f"{META}clientCapabilities": {}, **(meta or {})}
        sent = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self.token}",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": method,
        }
        if "name" in body:
            sent["Mcp-Name"] = str(body["name"])
        message = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": body}
        response = self.client.post(
            "/mcp", json.dumps(message), content_type="application/json", headers={**sent, **(headers or {})}
        )
        assert isinstance(response, HttpResponse)
        return response

    def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of a request that must succeed."""
        response = self.post(method, params)
        assert response.status_code == 200, (response.status_code, response.content)
        body = json.loads(response.content)
        assert "error" not in body, body
        result: dict[str, Any] = body["result"]
        return result

    def call_raw(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """The whole `tools/call` result, checked: schema, one line of text, no message or error half said."""
        result = self.result("tools/call", {"name": tool, "arguments": arguments or {}})
        structured = result["structuredContent"]
        _served[tool].validate(structured)
        validate_result(TOOLS[tool], structured)
        assert len(result["content"]) == 1
        assert result["content"][0]["type"] == "text"
        self.text = result["content"][0]["text"]
        assert self.text
        assert "\n" not in self.text
        assert bool(result.get("isError")) == ("error" in structured)
        return result

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """The structured content of a call that must succeed."""
        structured: dict[str, Any] = self.call_raw(tool, arguments)["structuredContent"]
        assert "error" not in structured, structured
        return structured

    def refusal(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """The error of a call that must be refused."""
        structured = self.call_raw(tool, arguments)["structuredContent"]
        assert "error" in structured, structured
        error: dict[str, Any] = structured["error"]
        return error
