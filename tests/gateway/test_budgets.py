"""What a call of the hot path costs, exactly: its queries from the bearer check to the answer, and its connections."""

import contextvars
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis.connection import AbstractConnection

from accounts.models import Account
from alerts.models import Alert
from tests.factories import AccountFactory, PersonFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def account(load_rates: None) -> Account:
    """A ready account with four more people."""
    account = AccountFactory(number="+12025550143")
    for _ in range(4):
        PersonFactory(account=account, number=True)
    return account


@pytest.fixture
def mcp(client: Client, account: Account) -> McpClient:
    """A connected agent that was already seen this minute."""
    agent = McpClient(client, issue_token(account))
    agent.post("tools/list")
    return agent


@pytest.fixture
def connects(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What this thread opens connections to Redis with, from now on."""
    opened: list[str] = []
    connect, thread = AbstractConnection.connect, threading.get_ident()

    def noted(self: AbstractConnection) -> None:
        if threading.get_ident() == thread and not self.is_connected:
            opened.append(type(self).__name__)
        connect(self)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(AbstractConnection, "connect", noted)
    return opened


def start(workflow_id: str, key: str = "key-1", **more: Any) -> dict[str, Any]:
    """Arguments of start_workflow."""
    return {"workflow_id": workflow_id, "message": "Checkout is failing.", "idempotency_key": key, **more}


def count_queries(run: Callable[[], object]) -> int:
    """How many queries it takes, without the savepoints that stand for BEGIN and COMMIT in a test."""
    with CaptureQueriesContext(connection) as captured:
        run()
    return sum("SAVEPOINT" not in query["sql"] for query in captured.captured_queries)


def cost_of(mcp: McpClient, tool: str, arguments: dict[str, Any]) -> int:
    """The queries of a call that succeeds."""
    answers: list[dict[str, Any]] = []

    def run() -> None:
        response = mcp.post("tools/call", {"name": tool, "arguments": arguments})
        answers.append(json.loads(response.content)["result"])

    queries = count_queries(run)
    assert not answers[0].get("isError"), answers[0]["structuredContent"]
    return queries


def test_the_status_of_an_alert_takes_three_queries(mcp: McpClient) -> None:
    code = mcp.call("start_workflow", start("escalate", event_reference="incident-7"))["alert_id"]
    for arguments in ({"alert_ids": [code]}, {"event_reference": "incident-7"}, {}):
        assert cost_of(mcp, "get_alert_status", arguments) == 3


def test_the_setup_status_takes_six_queries(mcp: McpClient) -> None:
    assert cost_of(mcp, "get_setup_status", {}) == 6


@pytest.mark.parametrize("workflow_id", ["inform", "acknowledge", "escalate"])
def test_starting_a_workflow_takes_fourteen_queries(mcp: McpClient, workflow_id: str) -> None:
    assert cost_of(mcp, "start_workflow", start(workflow_id)) == 14
    assert Alert.objects.count() == 1


def test_the_first_call_of_a_minute_also_notes_that_the_agent_was_there(client: Client, account: Account) -> None:
    agent = McpClient(client, issue_token(account))
    assert cost_of(agent, "get_setup_status", {}) == 7
    assert cost_of(agent, "get_setup_status", {}) == 6


def test_the_calls_of_a_thread_share_one_connection_to_the_cache(mcp: McpClient, connects: list[str]) -> None:
    def call_thrice() -> None:
        for number in range(3):
            mcp.call("start_workflow", start("escalate", f"key-{number}"))

    # As a thread of the server begins: with nothing in its context.
    contextvars.Context().run(call_thrice)
    assert Alert.objects.count() == 3
    assert len(connects) == 1
