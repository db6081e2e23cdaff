"""What staff do by command, and what agents notice of it: standing and payments (docs/operations.md)."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts import payments
from accounts.locking import locked
from accounts.models import Account, Letter
from tests.accounts.staff import SAM, TOOLS, refusal_of
from tests.contract.course import Course, send, shown
from tests.factories import AccountFactory, UserFactory
from tests.mcp_client import McpClient

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("load_rates", "course")]


# --- standing


def test_suspending_refuses_sends_until_it_is_lifted_and_reading_goes_on(
    run: Any, account: Account, agent: McpClient, course: Course
) -> None:
    code = send(agent, "sms")
    assert run("suspend_account", SAM.upper(), "--reason", "spam complaints") == {
        "account_id": account.pk,
        "status": "suspended",
        "changed": True,
    }
    said = {"code": "ACCOUNT_SUSPENDED", "message": "This BreakPass account is suspended."}
    assert [refusal_of(agent, tool) for tool in TOOLS] == [said] * 4
    assert agent.call("get_setup_status")["account_state"] == "suspended"
    course.run()
    assert course.sent == []
    assert shown(agent, code)["failure"]["code"] == "ACCOUNT_SUSPENDED"
    assert run("lift_suspension", SAM)["status"] == "active"
    assert agent.call("send_sms", {"message": "It is lifted."})["status"] == "queued"
    letters = list(Letter.objects.filter(account=account).order_by("pk").values_list("kind", flat=True))
    assert letters[-2:] == ["account_suspended", "suspension_lifted"]
    # The reason is for staff.
    assert not Letter.objects.filter(body__contains="spam").exists()
    assert "spam" not in json.dumps(agent.call("get_setup_status"))


def test_lifting_what_is_not_suspended_changes_nothing(run: Any, account: Account) -> None:
    assert run("lift_suspension", SAM) == {"account_id": account.pk, "status": "active", "changed": False}
    run("close_account", SAM)
    assert run("lift_suspension", SAM) == {"account_id": account.pk, "status": "closed", "changed": False}
    assert run("suspend_account", SAM, "--reason", "late")["status"] == "closed"


def test_a_closed_account_is_told_so(run: Any, account: Account, agent: McpClient) -> None:
    assert run("close_account", SAM, "--reason", "asked to") == {
        "account_id": account.pk,
        "status": "closed",
        "changed": True,
    }
    said = {"code": "ACCOUNT_SUSPENDED", "message": "This BreakPass account is closed."}
    assert [refusal_of(agent, tool) for tool in TOOLS] == [said] * 4
    assert agent.refusal("get_setup_status") == said
    assert run("close_account", SAM)["changed"] is False
    account.refresh_from_db()
    assert account.status_reason == "asked to"


@pytest.mark.parametrize(
    "command", [("suspend_account", "--reason", "x"), ("lift_suspension",), ("close_account",), ("confirm_payment",)]
)
def test_an_unknown_login_is_said_and_nothing_happens(account: Account, command: tuple[str, ...]) -> None:
    name, *rest = command
    with pytest.raises(CommandError, match=r"^No account belongs to a login with this e-mail address\.$") as failed:
        call_command(name, "nobody@example.com", *rest)
    assert failed.value.returncode == 1
    account.refresh_from_db()
    assert account.status == "active"


# --- payments


def test_the_first_payment_takes_the_blocker_away_and_can_be_spent(
    run: Any, account: Account, agent: McpClient
) -> None:
    Account.objects.filter(pk=account.pk).update(first_payment_at=None)
    refused = refusal_of(agent, "send_sms")
    assert (refused["code"], [one["code"] for one in refused["details"]["blockers"]]) == (
        "SETUP_INCOMPLETE",
        ["payment_needed"],
    )
    with locked(account.pk) as held:
        payment = payments.record(held, amount_cents=900, method="manual", external_ref="", now=timezone.now())
    assert run("confirm_payment", SAM) == {"payment_id": payment.pk, "changed": True, "balance_cents": 5900}
    answer = agent.call("get_setup_status")
    assert (answer["account_state"], answer["balance_cents"]) == ("ready", 5900)
    account.refresh_from_db()
    assert account.first_payment_at == timezone.now()


def test_a_payment_is_confirmed_once_and_of_this_account_only(run: Any, account: Account) -> None:
    other = AccountFactory(user=UserFactory(email="eve@example.com"))
    with locked(account.pk) as held:
        payment = payments.record(held, amount_cents=900, method="manual", external_ref="", now=timezone.now())
    with pytest.raises(CommandError, match=r"^This account has no payment of that id\.$"):
        call_command("confirm_payment", "eve@example.com", "--payment", str(payment.pk))
    run("confirm_payment", SAM, "--payment", str(payment.pk))
    again = run("confirm_payment", SAM, "--payment", str(payment.pk))
    assert again == {"payment_id": payment.pk, "changed": False, "balance_cents": 5900}
    run("confirm_payment", SAM, "--amount-cents", "50", "--reference", "bank-7")
    with pytest.raises(CommandError, match=r"^This payment reference belongs to another account\.$"):
        call_command("confirm_payment", "eve@example.com", "--amount-cents", "50", "--reference", "bank-7")
    other.refresh_from_db()
    assert other.balance_cents == 5000


@pytest.mark.parametrize("cents", ["0", "-5"])
def test_a_payment_brings_money(account: Account, cents: str) -> None:
    with pytest.raises(CommandError, match=r"^A payment brings money\.$"):
        call_command("confirm_payment", SAM, "--amount-cents", cents, "--reference", "bank-8")
    assert not account.payments.exists()
