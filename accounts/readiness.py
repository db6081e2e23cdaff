"""Where an account is in setup: what blocks sending, the state agents see, and the whole `get_setup_status` answer."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from django.conf import settings

from accounts.channels import ChannelState, channel_states, tested_channels
from accounts.ledger import spent_today_cents
from accounts.models import Account, Holder, Number
from accounts.pauses import open_pauses
from accounts.people import Recipient, list_recipients
from accounts.rates import Rates, rates_for
from accounts.standing import refuse_inactive
from breakpass.errors import Refusal

SETUP_PATH: Final = "/start/"
# Each blocker's sentence, and its place on the setup page.
SENTENCES: Final = {
    "payment_needed": ("Payment is missing: the owner adds balance first.", "payment"),
    "residence_needed": ("The owner has not confirmed their country of residence.", "residence"),
    "verification_needed": ("No phone number on the account is verified yet.", "number"),
}
VERIFY_AGAIN: Final = "Sending is paused until a phone number on the account is verified again."

# The longest message per channel for a number, from how its SMS sender shows and its channels (`alerts` knows texts).
MaxChars = Callable[[str, dict[str, ChannelState]], dict[str, int | None]]


def check_standing(account: Account) -> None:
    """ACCOUNT_SUSPENDED: suspended, closed, or sends paused until a number is verified (seed 001, Errors)."""
    refuse_inactive(account)
    if account.is_paused_until_verified:
        raise Refusal("ACCOUNT_SUSPENDED", VERIFY_AGAIN)


def check_ready(account: Account, *, is_verified: bool = False) -> None:
    """SETUP_INCOMPLETE with what is missing; `setup_url` only once payment is there (seed 001, Errors).

    `is_verified`: the caller has seen a verified number already, which saves the query.
    """
    missing = _blockers(account, is_verified=True) if is_verified else blockers(account)
    if not missing:
        return
    details: dict[str, Any] = {"blockers": missing}
    if account.first_payment_at is not None:
        details["setup_url"] = setup_url()
    raise Refusal("SETUP_INCOMPLETE", f"Setup isn't finished. {missing[0]['message']}", details=details)


def blockers(account: Account) -> list[dict[str, str]]:
    """What still blocks sending, in order: payment, residence, verification. Links only once payment is there."""
    is_verified = Number.objects.filter(account=account, verified_at__isnull=False).exists()
    return _blockers(account, is_verified=is_verified)


def setup_url() -> str:
    """Where the owner finishes setup."""
    return f"{settings.BASE_URL}{SETUP_PATH}"


def setup_status(account: Account, *, is_connected: bool, max_chars: MaxChars, now: datetime) -> dict[str, Any]:
    """The whole `get_setup_status` answer, in five queries at most for any number of people.

    Refuses ACCOUNT_SUSPENDED for a closed account; a suspended one is answered.
    """
    if account.status == Account.Status.CLOSED:
        refuse_inactive(account)
    people = [each for each in list_recipients(account) if each.number is not None and each.holder is not None]
    missing = _blockers(account, is_verified=any(each.number and each.number.is_verified for each in people))
    state = _state(account, missing)
    is_deliverable = not missing and account.status == Account.Status.ACTIVE
    answer: dict[str, Any] = {
        "account_state": state,
        "readiness": {
            "account_connected": is_connected,
            "delivery_ready": is_deliverable,
            "agent_guidance_configured": account.is_agent_guidance_configured,
        },
        "onboarding_complete": is_connected and is_deliverable,
        "blockers": missing,
        "recipients": _recipients(account, people, max_chars, now),
        "default_recipient": next((each.shown for each in people if each.is_owner), None),
        "owner_name": account.owner_name or None,
        "balance_cents": account.available_cents,
        "reserved_cents": account.reserved_cents,
        "spent_today_cents": spent_today_cents(account, now),
        "workflows_version": account.workflows_version,
    }
    if account.first_payment_at is not None:
        answer["setup_url"] = setup_url()
    return answer


def _blockers(account: Account, *, is_verified: bool) -> list[dict[str, str]]:
    codes = []
    if account.first_payment_at is None:
        codes.append("payment_needed")
    if account.residence_confirmed_at is None:
        codes.append("residence_needed")
    if not is_verified or account.is_paused_until_verified:
        codes.append("verification_needed")
    found = []
    for code in codes:
        message, place = SENTENCES[code]
        if code == "verification_needed" and is_verified:
            message = VERIFY_AGAIN
        blocker = {"code": code, "message": message}
        if account.first_payment_at is not None:
            blocker["action_url"] = f"{setup_url()}#{place}"
        found.append(blocker)
    return found


def _state(account: Account, missing: list[dict[str, str]]) -> str:
    """Where the account is in setup, as agents see it (seed 001, `account_state`; behaviour, Accounts)."""
    if account.status != Account.Status.ACTIVE:
        return "suspended"
    if not missing:
        return "ready"
    return "payment_needed" if missing[0]["code"] == "payment_needed" else "verification_needed"


def _recipients(account: Account, people: list[Recipient], max_chars: MaxChars, now: datetime) -> list[dict[str, Any]]:
    if not people:
        return []
    by_country = rates_for({each.holder.country for each in people if each.holder})
    flags = open_pauses(account)
    needs_tests = any(rate.needs_test for rates in by_country.values() for rate in rates.by_channel.values())
    tested = tested_channels(account) if needs_tests else set()
    answers = []
    for each in people:
        assert each.number is not None
        assert each.holder is not None
        rates = by_country[each.holder.country]
        states = channel_states(account, each.number, each.holder, rates, flags, now=now, tested=tested)
        answers.append(_recipient(each, each.number, each.holder, rates, states, max_chars))
    return answers


def _recipient(
    recipient: Recipient,
    number: Number,
    holder: Holder,
    rates: Rates,
    states: dict[str, ChannelState],
    max_chars: MaxChars,
) -> dict[str, Any]:
    """One entry of `recipients`: never a number, never a country."""
    sms = rates.status("sms")
    if sms == "available" and not states["sms"].is_offered:
        sms = "unavailable"
    if not rates.is_offered:
        sms = "unavailable"
    return {
        "name": recipient.shown,
        "is_owner": recipient.is_owner,
        # Stopping does not take the verification back (behaviour, Numbers).
        "verified": number.is_verified,
        "channels": {
            "whatsapp": holder.whatsapp if states["whatsapp"].is_offered else "no",
            "sms": sms,
            "call": "available" if states["call"].is_offered else "unavailable",
        },
        "price_cents": {channel: state.full_cents if state.is_offered else None for channel, state in states.items()},
        "max_chars": max_chars(rates.sms_sender, states),
    }
