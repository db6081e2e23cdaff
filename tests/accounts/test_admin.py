"""The staff admin: no digits, nothing changed by hand, actions through the domain."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts import codes, invites, letters, pauses, payments, standing
from accounts.locking import locked
from accounts.models import Account, Number, Payment, User
from tests.factories import NOW, AccountFactory, ConnectionFactory, PersonFactory, PlanFactory

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


def pages() -> Iterator[tuple[str, str]]:
    """Every list, and the page of one row of every model that has one."""
    for name in shown_models():
        yield name, reverse(f"admin:accounts_{name}_changelist")
        row = apps.get_model("accounts", name)._default_manager.first()
        if row is not None:
            yield name, reverse(f"admin:accounts_{name}_change", args=[row.pk])


def test_every_page_loads_for_staff_and_tells_no_secret(client: Client, staff: User, load_rates: None) -> None:
    account = AccountFactory(number="+12025550143", plan=PlanFactory())
    ConnectionFactory(account=account)
    number = Number.objects.select_related("holder").get(account=account)
    with locked(account.pk) as held:
        payments.record(held, amount_cents=900, method="manual", external_ref="", now=NOW)
        invites.renew_link(held, number)
        codes.request_code(held, number, channel="sms", now=NOW)
        letters.write(held, kind="test", subject="A letter", body="Dear Sam", now=NOW)
    pauses.pause("account", reason="abuse", account=account, now=NOW)
    number.refresh_from_db()
    assert number.invite_token_hash
    seen = list(pages())
    assert {name for name, _ in seen} == set(shown_models())
    assert len(seen) == 2 * len(shown_models())
    for _, address in seen:
        page = client.get(address)
        assert page.status_code == 200
        told = page.content.decode()
        assert not any(hidden in told for hidden in ("5550143", number.holder.number_hash, number.invite_token_hash))


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


@pytest.mark.parametrize("who", ["nobody", "owner", "disabled"])
def test_a_stranger_is_sent_to_sign_in_from_every_page(client: Client, load_rates: None, who: str) -> None:
    account = AccountFactory(number="+12025550143")
    if who == "owner":
        client.force_login(account.members.get().user)
    elif who == "disabled":
        client.force_login(User.objects.create_superuser("gone@example.com"))
        User.objects.filter(email="gone@example.com").update(is_active=False)
    for address in ["/admin/", *(address for _, address in pages())]:
        answer = client.get(address)
        assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/admin/login/")
    for action in ("suspend", "close", "pause_sending", "pause_until_verified"):
        data = {"action": action, "_selected_action": [str(account.pk)]}
        assert client.post(reverse("admin:accounts_account_changelist"), data).status_code == 302
    account.refresh_from_db()
    assert (account.status, account.is_paused_until_verified, account.pauses.count()) == ("active", False, 0)


def test_staff_see_and_do_only_what_they_are_allowed_to(client: Client) -> None:
    account = AccountFactory()
    user = User.objects.create_user("helper@example.com", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=["view_account", "view_payment"]))
    client.force_login(user)
    assert client.get(reverse("admin:accounts_account_changelist")).status_code == 200
    assert client.get(reverse("admin:accounts_number_changelist")).status_code == 403
    data = {"action": "suspend", "_selected_action": [str(account.pk)]}
    client.post(reverse("admin:accounts_account_changelist"), data)
    changed = client.post(reverse("admin:accounts_account_change", args=[account.pk]), {"max_price_cents": 1})
    assert changed.status_code == 403
    account.refresh_from_db()
    assert (account.status, account.max_price_cents) == ("active", None)


@pytest.mark.parametrize(
    ("model", "action"),
    [
        *(("account", name) for name in ("suspend", "lift_suspension", "close", "pause_until_verified")),
        *(("account", name) for name in ("pause_sending", "resume_sending")),
        *(("payment", name) for name in ("confirm", "refuse", "dispute")),
    ],
)
def test_every_action_on_an_account_takes_its_lock(client: Client, staff: User, model: str, action: str) -> None:
    account = AccountFactory()
    with locked(account.pk) as held:
        payment = payments.record(held, amount_cents=900, method="manual", external_ref="", now=NOW)
    with CaptureQueriesContext(connection) as captured:
        act(client, model, action, account.pk if model == "account" else payment.pk)
    locking = [query["sql"] for query in captured.captured_queries if "FOR NO KEY UPDATE" in query["sql"]]
    assert len(locking) == 1
    assert f'"accounts_account"."id" = {account.pk}' in locking[0]


def test_what_staff_do_to_many_accounts_is_done_to_each(client: Client, staff: User) -> None:
    accounts = [AccountFactory() for _ in range(3)]
    with locked(accounts[1].pk) as held:
        standing.close(held, now=NOW)
    assert act(client, "account", "suspend", *(each.pk for each in accounts)) == "2 suspended."
    statuses = [Account.objects.get(pk=each.pk).status for each in accounts]
    assert statuses == ["suspended", "closed", "suspended"]


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
