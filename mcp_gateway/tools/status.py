"""get_alert_status: alerts as they stand."""

from datetime import datetime

from alerts import status
from mcp_gateway.auth import Principal
from mcp_gateway.tools.base import Answer, Arguments, account_by_id


def run(principal: Principal, arguments: Arguments, now: datetime) -> Answer:
    """By ids, by reference, or the open ones."""
    return status.find(
        account_by_id(principal),
        alert_ids=arguments.get("alert_ids"),
        event_reference=arguments.get("event_reference"),
    )


def summarise(answer: Answer) -> str:
    """How many there are, and how a single one stands."""
    alerts, missing = answer["alerts"], len(answer["not_found"])
    if len(alerts) == 1:
        said = describe(alerts[0])
    else:
        said = f"{len(alerts)} alerts, {sum(not alert['terminal'] for alert in alerts)} still open."
    return f"{said} {missing} not found." if missing else said


def describe(alert: Answer) -> str:
    """One alert in one line."""
    state = "closed" if alert["terminal"] else "still open"
    waiting = ", waiting for an acknowledgement" if alert["awaiting_ack"] else ""
    return f"{alert['alert_id']}: {alert['status']}, {state}{waiting}."
