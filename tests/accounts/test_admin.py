"""The staff admin: no digits, nothing changed by hand, actions through the domain."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from accounts import payments
from accounts.locking import locked
from accounts.models import Account, Number, Payment, User
from tests.factories import NOW, AccountFactory, PersonFactory, PlanFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> User:
    """A signed-in member of staff who may do everything."""
    user = User.objects.create_superuser("staff@example.com")
    client.force_login(user)
    return user


def act(client: Client, model: str, action: str, *pks: int) -> str:
    """Run an admin action on rows; what it says."""
    data: dict[str, Any] = {"action": action, "_selected_action": [str(pk) for pk in pks]}
    answer = client.post(reverse(f"admin:accounts_{model}_changelist"), data, follow=True)
    assert answer.status_code == 200
    return " ".join(str(message) for message in answer.context["messages"])


def shown_models() -> list[str]:
    """Every model of accounts that staff can see."""
    ours = [model for model in apps.get_app_config("accounts").get_models() if admin.site.is_registered(model)]
    return [model._meta.model_name or "" for model in ours]


def test_the_digits_are_on_no_page(client: Client, staff: User, load_rates: None) -> None:
    account = AccountFactory(number="+12025550143")
    number = Number.objects.get(account=account)
    assert len(shown_models()) == 13
    for model in shown_models():
        page = client.get(reverse(f"admin:accounts_{model}_changelist"))
        assert page.status_code == 200
        assert "2025550143" not in page.content.decode()
    page = client.get(reverse("admin:accounts_number_change", args=[number.pk]))
    assert "+1 ••• ••• ••43" in page.content.decode()
    assert "2025550143" not in page.content.decode()
    assert number.holder.number_hash not in page.content.decode()
    holder = client.get(reverse("admin:accounts_holder_change", args=[number.holder_id])).content.decode()
    assert number.holder.number_hash not in holder


@pytest.mark.parametrize("model", ["ledgerentry", "payment", "number", "holder", "person", "connection", "pause"])
def test_what_only_the_domain_writes_cannot_be_added_by_hand(client: Client, staff: User, model: str) -> None:
    assert client.get(reverse(f"admin:accounts_{model}_add")).status_code == 403


def test_a_stranger_is_sent_to_sign_in(client: Client) -> None:
    client.force_login(User.objects.create_user("owner@example.com"))
    assert client.get(reverse("admin:accounts_account_changelist")).status_code == 302


def test_staff_confirm_a_payment_once(client: Client, staff: User) -> None:
    account = AccountFactory(balance_cents=0)
    with locked(account.pk) as held:
        payment = payments.record(held, amount_cents=900, method="manual", external_ref="", now=NOW)
    assert act(client, "payment", "confirm", payment.pk) == "1 confirmed."
    assert act(client, "payment", "confirm", payment.pk) == "0 confirmed."
    account.refresh_from_db()
    payment.refresh_from_db()
    assert (account.balance_cents, payment.confirmed_by) == (900, staff)
    assert act(client, "payment", "refuse", payment.pk) == (
        f"Payment {payment.pk}: This payment is confirmed, not pending. 0 refused."
    )
    assert act(client, "payment", "dispute", payment.pk) == "1 disputed."
    account.refresh_from_db()
    assert (account.status, Payment.objects.get().status) == ("suspended", "disputed")


def test_staff_suspend_lift_pause_and_close(client: Client, staff: User) -> None:
    account = AccountFactory()
    assert act(client, "account", "suspend", account.pk) == "1 suspended."
    assert act(client, "account", "lift_suspension", account.pk) == "1 lifted."
    assert act(client, "account", "pause_until_verified", account.pk) == "1 paused until a number is verified."
    assert act(client, "account", "pause_sending", account.pk) == "1 paused."
    pause = account.pauses.get()
    assert (pause.flag, pause.lifted_at) == ("account", None)
    assert act(client, "account", "resume_sending", account.pk) == "1 resumed."
    assert act(client, "account", "pause_sending", account.pk) == "1 paused."
    assert act(client, "pause", "lift", account.pauses.get(lifted_at=None).pk) == "1 lifted."
    assert account.pauses.filter(lifted_at=None).count() == 0
    assert act(client, "account", "close", account.pk) == "1 closed."
    account.refresh_from_db()
    assert (account.status, account.is_paused_until_verified) == ("closed", True)


def test_staff_change_plan_and_caps_and_nothing_else(client: Client, staff: User) -> None:
    account = AccountFactory()
    PersonFactory(account=account, number=True)
    plan = PlanFactory(number_cap=1)
    data = {
        "plan": plan.pk,
        "max_price_cents": "",
        "has_new_account_caps_lifted": "on",
        "holder_calls_per_hour": 30,
        "balance_cents": 1_000_000,
        "status": "closed",
        "members-TOTAL_FORMS": 0,
        "members-INITIAL_FORMS": 0,
    }
    answer = client.post(reverse("admin:accounts_account_change", args=[account.pk]), data)
    assert answer.status_code == 302
    changed = Account.objects.get(pk=account.pk)
    assert (changed.plan, changed.holder_calls_per_hour, changed.has_new_account_caps_lifted) == (plan, 30, True)
    assert (changed.balance_cents, changed.status) == (5000, "active")
    assert Number.objects.filter(account=account, is_over_plan=True).count() == 1


def test_a_new_cap_of_a_plan_counts_at_once(client: Client, staff: User) -> None:
    plan = PlanFactory(number_cap=10)
    account = AccountFactory(plan=plan)
    PersonFactory(account=account, number=True)
    data = {"name": plan.name, "is_paid": "on", "number_cap": 1}
    assert client.post(reverse("admin:accounts_plan_change", args=[plan.pk]), data).status_code == 302
    assert Number.objects.filter(account=account, is_over_plan=True).count() == 1
