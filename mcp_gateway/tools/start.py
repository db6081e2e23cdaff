"""start_workflow: runs a saved workflow on our servers."""

from datetime import datetime

from accounts.models import Account, Connection
from alerts import sending, status
from mcp_gateway.auth import Principal
from mcp_gateway.tools.base import Answer, Arguments, accept_send


def run(principal: Principal, arguments: Arguments, now: datetime) -> Answer:
    """Accept the alert, or say which alert the key stands for."""

    def start(account: Account, connection: Connection) -> Answer:
        return status.workflow_answer(sending.start_workflow(account, connection, now=now, **arguments))

    return accept_send(principal, now, start)


def summarise(answer: Answer) -> str:
    """Accepted, or already accepted; what to do next."""
    name, steps = answer["workflow"]["name"], len(answer["steps"])
    state = "repeats an earlier request; nothing new is sent" if answer["idempotent_replay"] else "queued"
    return f"{answer['alert_id']}: {name} with {steps} {'step' if steps == 1 else 'steps'}, {state}. " + (
        "Poll get_alert_status."
    )
