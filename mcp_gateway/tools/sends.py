"""send_whatsapp, send_sms, make_call: one message or one call, once."""

from datetime import datetime

from accounts.models import Account, Connection
from alerts import sending, status
from mcp_gateway.auth import Principal
from mcp_gateway.tools.base import Answer, Arguments, accept_send


def whatsapp(principal: Principal, arguments: Arguments, now: datetime) -> Answer:
    """One WhatsApp message."""
    return send("whatsapp", principal, arguments, now)


def sms(principal: Principal, arguments: Arguments, now: datetime) -> Answer:
    """One SMS."""
    return send("sms", principal, arguments, now)


def call(principal: Principal, arguments: Arguments, now: datetime) -> Answer:
    """One phone call."""
    return send("call", principal, arguments, now)


def send(channel: str, principal: Principal, arguments: Arguments, now: datetime) -> Answer:
    """Accept the alert, or say which alert a repeat stands for."""

    def start(account: Account, connection: Connection) -> Answer:
        return status.direct_answer(sending.start_direct(account, connection, channel=channel, now=now, **arguments))

    return accept_send(principal, now, start)


def summarise(answer: Answer) -> str:
    """Accepted, or already accepted; what to do next."""
    state = "repeats an earlier request; nothing new is sent" if answer["idempotent_replay"] else "queued"
    return f"{answer['alert_id']}: {state}. Poll get_alert_status."
