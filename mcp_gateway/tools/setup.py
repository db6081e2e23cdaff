"""get_setup_status: where the account is in setup."""

from datetime import datetime

from django.conf import settings

from accounts import readiness
from accounts.channels import ChannelState
from alerts import content, wording
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
    return readiness.setup_status(account_of(principal), is_connected=True, max_chars=max_chars, now=now)


def max_chars(sms_sender: str, states: dict[str, ChannelState]) -> dict[str, int | None]:
    """The longest message per channel for one number (seed 001, `recipients[].max_chars`)."""
    return content.max_chars(
        content.sender_kind(sms_sender),
        link_base_url=settings.LINK_BASE_URL,
        has_whatsapp=states["whatsapp"].is_offered,
        has_sms=states["sms"].is_offered,
        has_call=states["call"].is_offered,
        wording=wording.in_use(),
    )


def summarise(answer: Answer) -> str:
    """Whether the account can send."""
    return WORDS.get(answer["account_state"], "Setup status read.")
