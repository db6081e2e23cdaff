"""What staff's commands are tried on: Sam's account, and the senders whose refusals say what a command did."""

from typing import Any

from accounts.models import LedgerEntry
from alerts.models import Alert
from tests.mcp_client import McpClient

SAM = "sam@example.com"
TOOLS: dict[str, dict[str, str]] = {
    "send_whatsapp": {},
    "send_sms": {},
    "make_call": {},
    "start_workflow": {"workflow_id": "escalate", "idempotency_key": "k1"},
}


def refusal_of(agent: McpClient, tool: str) -> dict[str, Any]:
    """Why this sender is refused, and that it left nothing behind."""
    before = Alert.objects.count(), LedgerEntry.objects.count()
    error = agent.refusal(tool, {"message": "Is it paused?", **TOOLS[tool]})
    assert (Alert.objects.count(), LedgerEntry.objects.count()) == before
    return error
