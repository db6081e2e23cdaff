"""The eight tools through MCP: each does its one thing, says it in one line, and stays within its queries."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, CapHit, Connection
from alerts.models import Alert
from tests.factories import AccountFactory, PersonFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db
MESSAGE = "Checkout is failing."


@pytest.fixture
def account(load_rates: None) -> Account:
    """A ready account."""
    return AccountFactory(number="+12025550143")


@pytest.fixture
def mcp(client: Client, account: Account) -> McpClient:
    """A connected agent that was already seen this minute."""
    agent = McpClient(client, issue_token(account))
    agent.post("tools/list")
    return agent


def start(key: str = "key-1", **more: Any) -> dict[str, Any]:
    """Arguments of start_workflow."""
    return {"workflow_id": "escalate", "message": MESSAGE, "idempotency_key": key, **more}


def count_queries(call: Callable[[], object]) -> int:
    """How many queries a call takes, without the savepoints that stand for BEGIN and COMMIT in a test."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        call()
    return sum("SAVEPOINT" not in query["sql"] for query in captured.captured_queries)


def test_setup_status_of_a_ready_account(mcp: McpClient) -> None:
    answer = mcp.call("get_setup_status")
    assert answer["account_state"] == "ready"
    assert answer["readiness"]["account_connected"] is True
    assert [recipient["name"] for recipient in answer["recipients"]] == ["Sam"]
    assert answer["recipients"][0]["max_chars"] == {"whatsapp": 600, "sms": 98, "sms_confirm_link": 61, "call": 150}
    assert mcp.text == "The account can send alerts."


def test_workflows_are_listed_and_priced(mcp: McpClient) -> None:
    answer = mcp.call("list_workflows", {"recipient": "owner"})
    assert [workflow["workflow_id"] for workflow in answer["workflows"]] == ["inform", "acknowledge", "escalate"]
    assert answer["recipient"] == "owner"
    assert mcp.text == "3 workflows, 3 available for this recipient."
    assert mcp.refusal("list_workflows", {"recipient": "Nobody"})["code"] == "RECIPIENT_NOT_FOUND"


@pytest.mark.parametrize(
    ("tool", "channel"), [("send_whatsapp", "whatsapp"), ("send_sms", "sms"), ("make_call", "call")]
)
def test_a_direct_send_is_accepted_once(mcp: McpClient, tool: str, channel: str) -> None:
    answer = mcp.call(tool, {"message": MESSAGE})
    assert (answer["status"], answer["channel"], answer["idempotent_replay"]) == ("queued", channel, False)
    assert mcp.text == f"{answer['alert_id']}: queued. Poll get_alert_status."
    again = mcp.call(tool, {"message": MESSAGE})
    assert (again["alert_id"], again["idempotent_replay"]) == (answer["alert_id"], True)
    assert mcp.text.startswith(f"{answer['alert_id']}: repeats an earlier request")
    alert = Alert.objects.get()
    assert alert.connection == Connection.objects.get()
    assert alert.agent_name == "Test agent"


def test_a_workflow_starts_and_is_followed_and_cancelled(mcp: McpClient) -> None:
    started = mcp.call("start_workflow", start(event_reference="incident-7"))
    code = started["alert_id"]
    assert mcp.text == f"{code}: Escalate with 4 steps, queued. Poll get_alert_status."
    for arguments in ({"alert_ids": [code]}, {"event_reference": "incident-7"}, {}):
        found = mcp.call("get_alert_status", arguments)
        assert [alert["alert_id"] for alert in found["alerts"]] == [code]
    assert mcp.text.startswith(f"{code}: queued, still open")
    ended = mcp.call("cancel_alert", {"alert_id": code})
    assert (ended["status"], ended["cancelled_by"]) == ("cancelled", "agent")
    assert mcp.text == f"{code}: cancelled."
    assert mcp.call("cancel_alert", {"alert_id": code})["cancelled_at"] == ended["cancelled_at"]


def test_no_summary_repeats_a_name_a_text_or_a_number(mcp: McpClient, account: Account) -> None:
    PersonFactory(account=account, name="Ada Quill", number=True)
    said = []
    for tool, arguments in (
        ("get_setup_status", {}),
        ("list_workflows", {"recipient": "Ada Quill"}),
        ("send_whatsapp", {"message": MESSAGE, "recipient": "Ada Quill"}),
        ("start_workflow", start(recipient="Ada Quill")),
        ("get_alert_status", {}),
    ):
        mcp.call(tool, arguments)
        said.append(mcp.text)
    whole = " ".join(said)
    assert "Ada" not in whole
    assert "Checkout" not in whole
    assert "+1" not in whole


def test_the_alerts_of_another_account_do_not_exist(mcp: McpClient, client: Client) -> None:
    code = mcp.call("start_workflow", start())["alert_id"]
    other = McpClient(client, issue_token(AccountFactory(number="+12025550144")))
    assert other.refusal("cancel_alert", {"alert_id": code})["code"] == "ALERT_NOT_FOUND"
    assert other.refusal("get_alert_status", {"alert_ids": [code]})["code"] == "ALERT_NOT_FOUND"
    assert Alert.objects.get().status == "queued"


def test_a_breach_of_the_schema_is_a_tool_error_and_writes_nothing(mcp: McpClient) -> None:
    for arguments, field, rule in (
        ({**start(), "number": "x"}, "number", "unknown_field"),
        ({"workflow_id": "inform", "message": MESSAGE}, "idempotency_key", "required"),
        (start(message=7), "message", "type"),
    ):
        error = mcp.refusal("start_workflow", arguments)
        assert (error["code"], error["details"]["field"], error["details"]["rule"]) == ("CONTENT_REJECTED", field, rule)
    assert not Alert.objects.exists()


def test_a_rate_cap_is_remembered_outside_the_refused_call_and_brakes(mcp: McpClient, settings: Any) -> None:
    settings.ACCOUNT_PER_MINUTE = 1
    mcp.call("send_sms", {"message": "one"})
    for _ in range(3):
        assert mcp.refusal("send_sms", {"message": "two"})["details"]["reason"] == "account_per_minute"
    assert CapHit.objects.count() == 3
    assert mcp.refusal("send_sms", {"message": "two"})["details"]["reason"] == "runaway_brake"
    assert Alert.objects.count() == 1


def test_read_tools_stay_within_eight_queries_with_the_bearer_check(mcp: McpClient, account: Account) -> None:
    for _ in range(4):
        PersonFactory(account=account, number=True)
    code = mcp.call("start_workflow", start())["alert_id"]
    assert count_queries(lambda: mcp.post("tools/call", {"name": "get_setup_status", "arguments": {}})) <= 8
    assert count_queries(lambda: mcp.post("tools/call", {"name": "list_workflows", "arguments": {}})) <= 8
    call = {"name": "get_alert_status", "arguments": {"alert_ids": [code]}}
    assert count_queries(lambda: mcp.post("tools/call", call)) <= 8


def test_start_workflow_stays_within_fourteen_queries_with_the_bearer_check(mcp: McpClient) -> None:
    call = {"name": "start_workflow", "arguments": start()}
    assert count_queries(lambda: mcp.post("tools/call", call)) <= 14
    assert Alert.objects.count() == 1
