"""The setup page: its steps, its forms, and the test alert."""

from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Account, Number, Payment
from alerts.models import Alert, Attempt
from tests import world
from tests.portal.conftest import signed_in, with_login


def steps_of(client: Client) -> dict[str, str]:
    """The state of each step on the page."""
    return {step.key: step.state for step in client.get(reverse("start")).context["steps"]}


def words_of(response: Any) -> list[str]:
    """What the next page tells."""
    return [str(message) for message in response.context["messages"]]


@pytest.fixture
def new_owner() -> Account:
    """Somebody who has just signed up."""
    account = world.open_account(number="+12025550177", balance_cents=0)
    Number.objects.filter(account=account).delete()
    account.residence, account.residence_confirmed_at, account.first_payment_at = "", None, None
    account.plan = None
    account.save()
    return with_login(account, "new@example.com")


def test_a_new_owner_starts_with_their_number(new_owner: Account) -> None:
    assert steps_of(signed_in(new_owner)) == {
        "number": "next",
        "residence": "later",
        "payment": "later",
        "agent": "later",
        "test": "later",
    }


def test_a_ready_owner_has_only_the_agent_and_the_test_left(owner: Account, browser: Client) -> None:
    assert steps_of(browser) == {
        "number": "done",
        "residence": "done",
        "payment": "done",
        "agent": "next",
        "test": "later",
    }


def test_the_number_is_shown_masked_and_never_whole(browser: Client) -> None:
    page = browser.get(reverse("start")).content.decode()

    assert "+1 ••• ••• ••43" in page
    assert "5550143" not in page


def test_the_balance_is_what_is_not_reserved(owner: Account, browser: Client) -> None:
    world.send(owner, "call")

    page = browser.get(reverse("start")).content.decode()

    assert "$23.80" in page
    assert "$0.20" in page


def test_residence_needs_a_country_and_the_tick(new_owner: Account) -> None:
    response = signed_in(new_owner).post(reverse("confirm-residence"), {"residence": ""})

    assert response.status_code == 422
    form = response.context["residence_form"]
    assert form.errors["residence"] == ["Choose your country of residence."]
    assert form.errors["is_confirmed"] == ["Tick the box to confirm that you live there."]
    new_owner.refresh_from_db()
    assert (new_owner.residence, new_owner.residence_confirmed_at) == ("", None)


def test_residence_is_kept_with_its_time(new_owner: Account) -> None:
    client = signed_in(new_owner)

    response = client.post(reverse("confirm-residence"), {"residence": "CA", "is_confirmed": "on"}, follow=True)

    assert words_of(response) == ["Your country of residence is confirmed."]
    new_owner.refresh_from_db()
    assert (new_owner.residence, new_owner.residence_confirmed_at) == ("CA", world.NOW)
    assert steps_of(client)["residence"] == "done"


def test_a_made_up_country_is_refused(new_owner: Account) -> None:
    response = signed_in(new_owner).post(reverse("confirm-residence"), {"residence": "QQ", "is_confirmed": "on"})

    assert response.status_code == 422
    assert response.context["residence_form"].errors["residence"] == ["Choose a country from the list."]
    new_owner.refresh_from_db()
    assert new_owner.residence == ""


def test_a_payment_waits_for_staff_and_adds_nothing_yet(new_owner: Account) -> None:
    client = signed_in(new_owner)

    client.post(reverse("ask-top-up"), {"amount_cents": "2500"})
    again = client.post(reverse("ask-top-up"), {"amount_cents": "5000"}, follow=True)

    assert words_of(again)[-1] == "A payment is already waiting to be confirmed."
    assert list(Payment.objects.values_list("amount_cents", "status")) == [(2500, "pending")]
    new_owner.refresh_from_db()
    assert (new_owner.balance_cents, new_owner.first_payment_at) == (0, None)
    assert "Waiting for staff" in client.get(reverse("start")).content.decode()


def test_where_phones_are_pretended_the_page_says_how_to_confirm_the_payment(
    new_owner: Account, settings: Settings
) -> None:
    client = signed_in(new_owner)
    client.post(reverse("ask-top-up"), {"amount_cents": "2500"})
    command = "manage.py confirm_payment new@example.com"

    settings.SANDBOX_URL = ""
    assert command not in client.get(reverse("start")).content.decode()
    settings.SANDBOX_URL = "http://127.0.0.1:9"
    assert command in client.get(reverse("start")).content.decode()

    call_command(*command.split()[1:])
    new_owner.refresh_from_db()
    assert new_owner.balance_cents == 2500


def test_an_amount_that_is_not_offered_is_refused(new_owner: Account) -> None:
    response = signed_in(new_owner).post(reverse("ask-top-up"), {"amount_cents": "-500"})

    assert response.status_code == 422
    assert not Payment.objects.exists()


def test_the_guidance_tick_goes_on_and_off(owner: Account, browser: Client) -> None:
    browser.post(reverse("tick-guidance"), {"configured": "1"})
    owner.refresh_from_db()
    assert owner.is_agent_guidance_configured is True

    browser.post(reverse("tick-guidance"), {"configured": "0"})
    owner.refresh_from_db()
    assert owner.is_agent_guidance_configured is False


@pytest.mark.parametrize("channel", ["whatsapp", "sms", "call"])
def test_a_test_alert_goes_out_free_and_shows_its_live_page(owner: Account, browser: Client, channel: str) -> None:
    response = browser.post(reverse("send-test"), {"channel": channel})

    alert = Alert.objects.get()
    assert response["Location"] == reverse("alert", args=[alert.code])
    assert (alert.is_setup_test, alert.account_id, alert.status) == (True, owner.pk, "queued")
    assert list(Attempt.objects.values_list("channel", "price_cents")) == [(channel, 0)]
    owner.refresh_from_db()
    assert (owner.balance_cents, owner.reserved_cents) == (2400, 0)


def test_no_test_alert_before_the_number_is_verified(owner: Account, browser: Client) -> None:
    Number.objects.update(verified_at=None)

    response = browser.post(reverse("send-test"), {"channel": "sms"}, follow=True)

    assert not Alert.objects.exists()
    assert len(words_of(response)) == 1
    assert "Test by SMS" not in response.content.decode()


def test_no_test_alert_without_a_number_or_on_a_made_up_channel(new_owner: Account, browser: Client) -> None:
    without = signed_in(new_owner).post(reverse("send-test"), {"channel": "sms"}, follow=True)
    made_up = browser.post(reverse("send-test"), {"channel": "fax"}, follow=True)

    assert words_of(without) == ["Add and verify your number first."]
    assert words_of(made_up) == ["Choose a channel for the test alert."]
    assert not Alert.objects.exists()


def test_a_channel_that_is_not_there_says_why_and_can_not_be_pressed(owner: Account, browser: Client) -> None:
    world.set_rate("US", "sms", status="coming_soon")

    tests = {test.channel: test for test in browser.get(reverse("start")).context["tests"]}

    assert tests["whatsapp"].is_open is True
    assert tests["sms"].is_open is False
    assert tests["sms"].why_not != ""
