"""The official Python client, from registration to an acknowledged alert: both eras, DCR and CIMD, refresh, step-up."""

import asyncio
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from accounts.models import Connection
from alerts.models import Alert
from tests.browser.conftest import wait_for
from tests.clients.conftest import DOCUMENT_URL, Site

pytestmark = [pytest.mark.conformance, pytest.mark.django_db(transaction=True)]


class Memory(TokenStorage):
    """Keeps tokens and registration for one client."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.information: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, if any."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep them."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The registration, if any."""
        return self.information

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep it."""
        self.information = client_info


class Agent:
    """One Python client of the site. `unticked` is what the owner takes away at the first consent."""

    def __init__(self, site: Site, *, document: bool = False, unticked: tuple[str, ...] = ()) -> None:
        self.site, self.memory, self.unticked = site, Memory(), unticked
        self.asked: list[str] = []
        self.answers: dict[str, str] = {}
        self.auth = OAuthClientProvider(
            site.endpoint,
            OAuthClientMetadata(client_name="Python agent", redirect_uris=[AnyUrl("http://127.0.0.1:8976/callback")]),
            self.memory,
            self.send_to_owner,
            self.take_answer,
            client_metadata_url=DOCUMENT_URL if document else None,
        )

    async def send_to_owner(self, url: str) -> None:
        """The owner signs in and decides."""
        self.asked.append(url)
        unticked, self.unticked = self.unticked, ()
        location = await asyncio.to_thread(self.site.approve, url, unticked=unticked)
        self.answers = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}

    async def take_answer(self) -> AuthorizationCodeResult:
        """What the owner's browser brought."""
        return AuthorizationCodeResult(
            code=self.answers["code"], state=self.answers.get("state"), iss=self.answers["iss"]
        )

    async def run(self, mode: Literal["auto", "legacy"]) -> dict[str, Any]:
        """Escalate, wait until it ends, and the alert as it ended; with a refresh on the way."""
        async with (
            httpx2.AsyncClient(auth=self.auth, timeout=30) as http,
            Client(streamable_http_client(self.site.endpoint, http_client=http), mode=mode) as client,
        ):
            self.version = client.protocol_version
            tools = await client.list_tools()
            assert len(tools.tools) == 8
            status = await self.call(client, "get_setup_status", {})
            assert status["account_state"] == "ready"
            message = {"workflow_id": "escalate", "message": "Checkout is failing.", "idempotency_key": "k-1"}
            started = await self.call(client, "start_workflow", message)
            await asyncio.to_thread(self.pick_up)
            before = self.memory.tokens
            self.auth.context.token_expiry_time = 1
            for _ in range(100):
                found = await self.call(client, "get_alert_status", {"alert_ids": [started["alert_id"]]})
                if found["alerts"][0]["terminal"]:
                    break
                await asyncio.sleep(0.1)
            after = self.memory.tokens
            assert before is not None
            assert after is not None
            assert after.refresh_token != before.refresh_token
            unknown = await client.call_tool("cancel_alert", {"alert_id": "A-ZZZZZZ"})
            assert unknown.is_error
            assert unknown.structured_content is not None
            assert unknown.structured_content["error"]["code"] == "ALERT_NOT_FOUND"
            alert: dict[str, Any] = found["alerts"][0]
            return alert

    async def call(self, client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A call that must succeed. The client checks the result against the output schema itself."""
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.structured_content
        assert result.structured_content is not None
        content: dict[str, Any] = result.structured_content
        return content

    def pick_up(self) -> None:
        """The owner answers the first call and presses 1."""
        phone = self.site.phone
        wait_for(lambda: [call for call in phone.calls() if call.status == "ringing"])
        phone.answer()
        # Keys count from the first word on.
        wait_for(lambda: phone.press("1"))


@pytest.mark.parametrize(
    ("mode", "document", "version"),
    [("auto", False, "2026-07-28"), ("auto", True, "2026-07-28"), ("legacy", False, "2025-11-25")],
)
def test_from_registration_to_an_acknowledged_alert(
    site: Site, mode: Literal["auto", "legacy"], document: bool, version: str
) -> None:
    agent = Agent(site, document=document)
    alert = asyncio.run(agent.run(mode))
    assert agent.version == version
    assert (alert["status"], alert["ack_via"], alert["outcome"]) == ("acknowledged", "dtmf", "acknowledged")
    assert len(agent.asked) == 1
    assert agent.memory.information is not None
    assert (agent.memory.information.client_id == DOCUMENT_URL) is document
    assert Alert.objects.get().status == "acknowledged"
    connection = Connection.objects.get()
    assert connection.name == ("Documented client" if document else "Python agent")
    assert len(site.phone.calls()) == 1


def test_an_unticked_scope_is_asked_for_again_when_a_tool_needs_it(site: Site) -> None:
    agent = Agent(site, unticked=("alerts.send",))
    alert = asyncio.run(agent.run("auto"))
    assert alert["status"] == "acknowledged"
    assert len(agent.asked) == 2
    assert agent.memory.tokens is not None
    assert set((agent.memory.tokens.scope or "").split()) == {"alerts.read", "alerts.send"}
    assert Connection.objects.count() == 1
