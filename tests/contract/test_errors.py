"""Every code of the Errors table that all senders share: its exact words and details, and that nothing happened."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts import pauses, payments, standing
from accounts.locking import locked
from accounts.models import Account, Number
from alerts import breaker
from tests.contract import sends
from tests.contract.sends import CHANNELS, TOOLS, Sender
from tests.factories import NOW, AccountFactory, NumberFactory, PersonFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db
each_tool = pytest.mark.parametrize("tool", TOOLS)

PAYMENT = {"code": "payment_needed", "message": "Payment is missing: the owner adds balance first."}
RESIDENCE = {"code": "residence_needed", "message": "The owner has not confirmed their country of residence."}
VERIFICATION = {"code": "verification_needed", "message": "No phone number on the account is verified yet."}
START = "/start/"


@each_tool
def test_before_payment_setup_is_incomplete_and_no_link_is_given(sender: Sender, tool: str) -> None:
    sender.set(first_payment_at=None)
    assert sender.refused(tool) == {
        "code": "SETUP_INCOMPLETE",
        "message": "Setup isn't finished. Payment is missing: the owner adds balance first.",
        "details": {"blockers": [PAYMENT]},
    }


@each_tool
def test_all_that_is_missing_is_told_in_order_without_links_before_payment(sender: Sender, tool: str) -> None:
    sender.set(first_payment_at=None, residence_confirmed_at=None)
    Number.objects.update(verified_at=None)
    error = sender.refused(tool)
    assert error["details"] == {"blockers": [PAYMENT, RESIDENCE, VERIFICATION]}


@each_tool
@pytest.mark.parametrize(
    ("missing", "place", "undo"),
    [
        (RESIDENCE, "residence", lambda sender: sender.set(residence_confirmed_at=None)),
        (VERIFICATION, "number", lambda sender: Number.objects.update(verified_at=None)),
        (VERIFICATION, "number", lambda sender: Number.objects.all().delete()),
    ],
)
def test_after_payment_each_blocker_has_its_link(
    sender: Sender, settings: Any, tool: str, missing: dict[str, str], place: str, undo: Callable[[Sender], object]
) -> None:
    undo(sender)
    url = f"{settings.BASE_URL}{START}"
    assert sender.refused(tool) == {
        "code": "SETUP_INCOMPLETE",
        "message": f"Setup isn't finished. {missing['message']}",
        "details": {"blockers": [{**missing, "action_url": f"{url}#{place}"}], "setup_url": url},
    }


@each_tool
def test_a_name_that_nobody_has_is_not_found(sender: Sender, tool: str) -> None:
    sender.add("Ada")
    PersonFactory(account=AccountFactory(), name="Bob", number=True)
    for name in ("Bob", "Ad", sends.OWNER_NUMBER):
        assert sender.refused(tool, recipient=name) == {
            "code": "RECIPIENT_NOT_FOUND",
            "message": "No one on this account has that name. Use a name from `recipients` in `get_setup_status`, or "
            "`owner` for the user's own number.",
        }


@each_tool
def test_a_name_that_two_people_share_is_ambiguous(sender: Sender, tool: str) -> None:
    sender.add("Ada", sends.ADA_NUMBER)
    sender.add("ada ", "+12025550172")
    assert sender.refused(tool, recipient="ADA") == {
        "code": "RECIPIENT_AMBIGUOUS",
        "message": "Two or more people on the account share the name, so nothing was sent. The owner renames one in "
        "Settings > Phone numbers.",
    }


@each_tool
@pytest.mark.parametrize(
    ("name", "change", "whose", "why", "reason"),
    [
        ("Ada", {"verified_at": None}, "This person's number", "isn't verified yet.", "pending"),
        (
            "Ada",
            {"is_over_plan": True},
            "This person's number",
            "is paused, because the plan allows fewer numbers.",
            "plan_limit",
        ),
        ("owner", {"verified_at": None}, "This person's number", "isn't verified yet.", "pending"),
        (None, {"verified_at": None}, "The owner's number", "isn't verified yet.", "number_not_verified"),
        (
            None,
            {"is_over_plan": True},
            "The owner's number",
            "is paused, because the plan allows fewer numbers.",
            "number_paused",
        ),
    ],
)
def test_a_number_that_is_not_verified_or_paused_by_the_plan_gets_nothing(
    sender: Sender, tool: str, name: str | None, change: dict[str, Any], whose: str, why: str, reason: str
) -> None:
    ada = sender.add("Ada")
    meant = ada if name == "Ada" else sender.account.own_person
    Number.objects.filter(person=meant).update(**change)
    assert sender.refused(tool, recipient=name) == {
        "code": "RECIPIENT_NOT_VERIFIED",
        "message": f"{whose} {why}",
        "details": {"reason": reason},
    }


@each_tool
def test_while_the_owner_has_no_number_nobody_named_is_a_number_not_verified(sender: Sender, tool: str) -> None:
    sender.add("Ada")
    Number.objects.filter(person=sender.account.own_person).delete()
    assert sender.refused(tool) == {
        "code": "RECIPIENT_NOT_VERIFIED",
        "message": "The owner's number isn't verified yet.",
        "details": {"reason": "number_not_verified"},
    }
    assert sender.refused(tool, recipient="owner")["code"] == "RECIPIENT_NOT_FOUND"
    assert sender.send(tool, recipient="Ada")["recipient"] == "Ada"


@each_tool
def test_who_stopped_all_alerts_gets_nothing_until_verified_again(sender: Sender, tool: str) -> None:
    ada = sender.add("Ada", sends.ADA_NUMBER)
    holder = sends.holder_of(ada)
    holder.opted_out_at = NOW
    holder.save()
    assert sender.refused(tool, recipient="Ada") == {
        "code": "RECIPIENT_OPTED_OUT",
        "message": "This person stopped all BreakPass alerts to the number. Only a new invite and verification restart "
        "them.",
    }
    Number.objects.filter(person=ada).update(verified_at=NOW.replace(minute=1))
    assert sender.send(tool, recipient="Ada")["status"] == "queued"


def suspend(account: Account) -> None:
    """Staff suspend it."""
    standing.suspend(account, reason="abuse", now=NOW)


def dispute(account: Account) -> None:
    """A payer disputes a payment."""
    payment = payments.record(account, amount_cents=100, method="manual", external_ref="p-1", now=NOW)
    payments.confirm(account, payment, by=None, now=NOW)
    payments.dispute(account, payment, now=NOW)


def close(account: Account) -> None:
    """It is closed for good."""
    standing.close(account, now=NOW)


def pause_until_verified(account: Account) -> None:
    """Staff ask for a verified number first."""
    standing.pause_until_verified(account)


@each_tool
@pytest.mark.parametrize(
    ("stop", "message"),
    [
        (suspend, "This BreakPass account is suspended."),
        (dispute, "This BreakPass account is suspended."),
        (close, "This BreakPass account is closed."),
        (pause_until_verified, "Sending is paused until a phone number on the account is verified again."),
    ],
)
def test_an_account_that_is_suspended_in_any_form_sends_nothing(
    sender: Sender, tool: str, stop: Callable[[Account], None], message: str
) -> None:
    with locked(sender.account.pk) as account:
        stop(account)
    assert sender.refused(tool) == {"code": "ACCOUNT_SUSPENDED", "message": message}


@each_tool
@pytest.mark.parametrize("flag", ["all", "account"])
def test_a_pause_of_everything_or_of_the_account_stops_every_tool(sender: Sender, tool: str, flag: str) -> None:
    account = sender.account if flag == "account" else None
    pauses.pause(flag, reason="maintenance", account=account, now=NOW)
    assert sender.refused(tool) == paused(flag)
    pauses.resume(flag, account=account, now=NOW)
    assert sender.send(tool)["status"] == "queued"


@each_tool
def test_a_pause_of_another_account_stops_nothing(sender: Sender, tool: str) -> None:
    pauses.pause("account", reason="abuse", account=AccountFactory(), now=NOW)
    assert sender.send(tool)["status"] == "queued"


@pytest.mark.parametrize("flag", ["whatsapp", "sms", "call"])
def test_a_pause_of_a_channel_stops_what_needs_it_and_nothing_else(sender: Sender, flag: str) -> None:
    pauses.pause(flag, reason="maintenance", now=NOW)
    for tool, channel in CHANNELS.items():
        if channel == flag:
            assert sender.refused(tool) == paused(flag)
        else:
            assert sender.send(tool)["status"] == "queued"
    if flag == "sms":
        assert sender.send("start_workflow")["status"] == "queued"
    else:
        assert sender.refused("start_workflow") == paused(flag)
    if flag == "call":
        assert sender.send("start_workflow", workflow_id="inform")["status"] == "queued"


@each_tool
def test_a_pause_of_a_destination_names_no_country(sender: Sender, tool: str) -> None:
    sender.add("Ada", sends.NUMBERS["alphanumeric"])
    pauses.pause("destination", reason="war", countries=["GB", "FR"], now=NOW)
    error = sender.refused(tool, recipient="Ada")
    assert error == paused("destination")
    said = json.dumps(error) + sender.mcp.text
    assert [word for word in ("GB", "FR", "Kingdom", "44") if word in said] == []
    assert sender.send(tool, recipient="owner")["status"] == "queued"


def paused(flag: str) -> dict[str, Any]:
    """SERVICE_PAUSED as the seed has it."""
    return {
        "code": "SERVICE_PAUSED",
        "message": "Sending is paused right now. Try again later.",
        "retry_after_s": 300,
        "details": {"flag": flag},
    }


@each_tool
def test_while_the_carrier_only_fails_nothing_is_accepted(sender: Sender, tool: str) -> None:
    for _ in range(4):
        breaker.note("sms", succeeded=False, now=NOW)
    accepted = sender.send(tool, message="One error is not an outage.")
    assert accepted["status"] == "queued"
    sender.mcp.call("cancel_alert", {"alert_id": accepted["alert_id"]})
    breaker.note("call", succeeded=False, now=NOW)
    assert sender.refused(tool) == {
        "code": "PROVIDER_ERROR",
        "message": "The delivery network isn't working right now. Try again in 30 seconds.",
        "retry_after_s": 30,
    }
    breaker.note("whatsapp", succeeded=True, now=NOW)
    assert sender.send(tool)["status"] == "queued"


@each_tool
def test_a_balance_below_the_price_is_refused_with_both_figures_and_no_link(sender: Sender, tool: str) -> None:
    price_cents = 23 if tool == "start_workflow" else sends.CENTS[CHANNELS[tool]][0]
    sender.set_balance(price_cents - 1)
    assert sender.refused(tool) == {
        "code": "INSUFFICIENT_BALANCE",
        "message": "The available balance doesn't cover this alert. The owner can add balance in their BreakPass "
        "account.",
        "details": {"price_cents": price_cents, "balance_cents": price_cents - 1},
    }
    sender.set_balance(price_cents)
    assert sender.send(tool)["status"] == "queued"
    assert sender.money() == (0, price_cents)


@each_tool
def test_no_error_says_a_number_a_country_or_the_message(sender: Sender, tool: str) -> None:
    sender.add("Ada", sends.NUMBERS["alphanumeric"])
    for channel in sends.CENTS:
        sends.change_rate("GB", channel, status="unavailable")
    error = sender.refused(tool, recipient="Ada", message="Zebra crossing.")
    said = json.dumps(error) + sender.mcp.text
    assert [word for word in ("Zebra", "GB", "Kingdom", "7700", "+44", "Ada") if word in said] == []


@each_tool
def test_an_account_of_another_owner_is_reached_by_no_name(sender: Sender, client: Client, tool: str) -> None:
    other = AccountFactory(owner_name="Kim", number="+12025550177")
    agent = Sender(other, McpClient(client, issue_token(other)))
    NumberFactory(person__account=other, person__name="Zed")
    assert sender.refused(tool, recipient="Zed")["code"] == "RECIPIENT_NOT_FOUND"
    assert agent.send(tool, recipient="Zed")["recipient"] == "Zed"
