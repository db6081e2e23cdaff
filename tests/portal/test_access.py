"""Who may open which page: the owner, nobody signed in, a stranger, a login without an account."""

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.views.defaults import server_error

from accounts.models import Account, User
from alerts.models import Alert
from tests import world

PAGES = ["start", "people", "add-person", "settings", "agents", "alerts", "workflows"]


@pytest.mark.parametrize("name", PAGES)
def test_the_owner_sees_every_page(browser: Client, name: str) -> None:
    response = browser.get(reverse(name))

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize("name", PAGES)
def test_nobody_signed_in_is_sent_to_sign_in_and_back(name: str) -> None:
    response = Client().get(reverse(name))

    assert response.status_code == 302
    assert response["Location"] == f"/sign-in/?next={reverse(name)}"


@pytest.mark.parametrize("name", PAGES)
def test_a_login_without_an_account_gets_a_friendly_page(name: str) -> None:
    staff = Client()
    staff.force_login(User.objects.create_user("staff@example.com", is_staff=True))

    response = staff.get(reverse(name))

    assert response.status_code == 403
    assert "This login has no account" in response.content.decode()


def addresses_of(account: Account) -> list[tuple[str, str]]:
    """Every address that names something of the account, with its method."""
    person = world.add_person(account, "Ada", number=world.ADA_NUMBER).person
    connection = world.connect(account)
    alert: Alert = world.run(account).alert
    gets = [
        reverse("person", args=[person.pk]),
        reverse("code-status", args=[person.pk]),
        reverse("remove-person", args=[person.pk]),
        reverse("agent", args=[connection.pk]),
        reverse("revoke-agent", args=[connection.pk]),
        reverse("alert", args=[alert.code]),
        reverse("cancel-alert", args=[alert.code]),
    ]
    posts = [
        reverse("send-code", args=[person.pk]),
        reverse("check-code", args=[person.pk]),
        reverse("hand-over-link", args=[person.pk]),
        reverse("rename-person", args=[person.pk]),
        reverse("remove-person", args=[person.pk]),
        reverse("agent", args=[connection.pk]),
        reverse("switch-agent", args=[connection.pk]),
        reverse("revoke-agent", args=[connection.pk]),
        reverse("acknowledge", args=[alert.code]),
        reverse("cancel-alert", args=[alert.code]),
    ]
    return [("get", address) for address in gets] + [("post", address) for address in posts]


def test_a_stranger_finds_nothing_of_others(owner: Account, strange_browser: Client) -> None:
    addresses = addresses_of(owner)

    for method, address in addresses:
        response = getattr(strange_browser, method)(address, {"name": "Mine", "code": "123456", "channel": "sms"})
        assert (method, address, response.status_code) == (method, address, 404)

    alert = Alert.objects.get()
    assert (alert.status, alert.acknowledged_at, alert.cancelled_at) == ("queued", None, None)
    assert set(owner.people.values_list("name", "removed_at")) == {("", None), ("Ada", None)}
    assert list(owner.connections.values_list("name", "revoked_at", "deactivated_at")) == [
        ("Checkout monitor", None, None)
    ]


def test_the_owner_opens_everything_of_their_own(owner: Account, browser: Client) -> None:
    for method, address in addresses_of(owner):
        if method == "get":
            assert (address, browser.get(address).status_code) == (address, 200)


@pytest.mark.parametrize("name", ["confirm-residence", "ask-top-up", "tick-guidance", "pick-owner", "send-test"])
def test_what_changes_something_is_not_done_by_a_get(browser: Client, name: str) -> None:
    assert browser.get(reverse(name)).status_code == 405


def test_forms_are_protected_against_being_sent_by_others(owner: Account) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner.members.get().user, backend="django.contrib.auth.backends.ModelBackend")

    response = client.post(reverse("tick-guidance"), {"configured": "1"})

    assert response.status_code == 403
    assert "That form was too old to send" in response.content.decode()
    owner.refresh_from_db()
    assert owner.is_agent_guidance_configured is False


def test_an_unknown_address_gets_a_page_that_says_so() -> None:
    response = Client().get("/nowhere/at-all/")

    assert response.status_code == 404
    assert "There is nothing here" in response.content.decode()


def test_a_fault_on_our_side_gets_a_page_that_needs_nothing() -> None:
    page = server_error(RequestFactory().get("/")).content.decode()

    assert "Something went wrong on our side" in page
    assert "<title>Something went wrong · BreakPass</title>" in page


def test_the_first_page_tells_what_this_is_and_leads_members_on(browser: Client) -> None:
    page = Client().get("/").content.decode()

    assert "Create an account" in page
    assert 'href="/sign-in/"' in page
    assert browser.get("/")["Location"] == "/start/"


def test_a_suspended_account_is_told_on_every_page(owner: Account, browser: Client) -> None:
    owner.status = Account.Status.SUSPENDED
    owner.save()

    assert "This account is suspended." in browser.get(reverse("alerts")).content.decode()
