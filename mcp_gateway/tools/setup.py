"""get_setup_status: where the account is in setup."""

from datetime import datetime

from accounts import readiness
from mcp_gateway.auth import Principal
from mcp_gateway.tools.base import Answer, Arguments, account_of

WORDS = {
    "ready": "The account can send alerts.",
    "payment_needed": "The account can't send yet: payment is missing.",
    "verification_needed": "The account can't send yet: setup isn't finished.",
    "suspended": "The account is suspended.",
}


def run(principal: Principal, arguments: Arguments, now: datetime) -> Answer:
    """The whole answer. Whoever asks is a connected agent."""
    return readiness.setup_status(account_of(principal), is_connected=True, now=now)


def summarise(answer: Answer) -> str:
    """Whether the account can send."""
    return WORDS.get(answer["account_state"], "Setup status read.")
