"""cancel_alert: stops what is unsent."""

from datetime import datetime

from accounts.locking import locked
from alerts import sending, status
from mcp_gateway.auth import Principal
from mcp_gateway.tools.base import Answer, Arguments


def run(principal: Principal, arguments: Arguments, now: datetime) -> Answer:
    """The alert's final status; an ended alert comes back unchanged."""
    with locked(principal.account_id) as account:
        alert = sending.cancel(account, arguments["alert_id"], by="agent", now=now)
        return status.as_contract(alert, list(alert.attempts.order_by("seq")))


def summarise(answer: Answer) -> str:
    """How the alert ended."""
    return f"{answer['alert_id']}: {answer['status']}."
