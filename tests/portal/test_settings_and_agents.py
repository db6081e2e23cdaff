"""Settings, and the agents that have access."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Account
from tests import world
from tests.portal.test_start import words_of


def test_settings_are_kept(owner: Account, browser: Client) -> None:
    typed = {"owner_name": " Sam  Lee ", "timezone": "Europe/Berlin", "max_price": "0.50"}

    response = browser.post(reverse("settings"), typed, follow=True)

    owner.refresh_from_db()
    assert words_of(response) == ["Saved."]
    assert (owner.owner_name, owner.timezone, owner.max_price_cents) == ("Sam Lee", "Europe/Berlin", 50)
    assert 'value="0.50"' in response.content.decode()


def test_an_empty_price_lifts_the_limit(owner: Account, browser: Client) -> None:
    owner.max_price_cents = 10
    owner.save()

    browser.post(reverse("settings"), {"owner_name": "", "timezone": "UTC", "max_price": ""})

    owner.refresh_from_db()
    assert owner.owner_name == ""
    assert owner.max_price_cents is None


@pytest.mark.parametrize(
    ("typed", "field", "message"),
    [
        ({"max_price": "cheap"}, "max_price", "Enter an amount such as 0.50."),
        ({"max_price": "0"}, "max_price", "The lowest limit is $0.01."),
        ({"max_price": "-1"}, "max_price", "The lowest limit is $0.01."),
        ({"timezone": "Mars/Olympus"}, "timezone", "Choose a time zone from the list."),
        ({"owner_name": "https://example.com"}, "owner_name", "“Your name” is a name and can't hold a link."),
    ],
)
def test_bad_settings_are_refused_beside_the_field(
    owner: Account, browser: Client, typed: dict[str, str], field: str, message: str
) -> None:
    whole = {"owner_name": "Sam", "timezone": "UTC", "max_price": ""} | typed

    response = browser.post(reverse("settings"), whole)

    assert response.status_code == 422
    assert response.context["form"].errors == {field: [message]}
    owner.refresh_from_db()
    assert (owner.owner_name, owner.timezone, owner.max_price_cents) == ("Sam", "UTC", None)


def test_the_agents_page_has_ready_snippets_with_this_address(browser: Client) -> None:
    page = browser.get(reverse("agents")).content.decode()

    assert "claude mcp add --transport http breakpass http://127.0.0.1:8000/mcp" in page
    assert "&quot;type&quot;: &quot;http&quot;" in page
    assert "No agent is connected yet." in page


def test_an_agent_is_renamed(owner: Account, browser: Client) -> None:
    agent = world.connect(owner)

    empty = browser.post(reverse("agent", args=[agent.pk]), {"name": "  "})
    assert empty.context["form"].errors == {"name": ["Enter a name."]}

    browser.post(reverse("agent", args=[agent.pk]), {"name": "My agent"})

    agent.refresh_from_db()
    assert agent.name == "My agent"


def test_an_agent_is_switched_off_and_on(owner: Account, browser: Client) -> None:
    agent = world.connect(owner)

    browser.post(reverse("switch-agent", args=[agent.pk]), {"to": "off"})
    agent.refresh_from_db()
    assert agent.deactivated_at == world.NOW
    assert "Deactivated" in browser.get(reverse("agents")).content.decode()

    browser.post(reverse("switch-agent", args=[agent.pk]), {"to": "on"})
    agent.refresh_from_db()
    assert agent.deactivated_at is None


def test_revoking_asks_first_and_takes_the_agent_off_the_list(owner: Account, browser: Client) -> None:
    agent = world.connect(owner)
    asked = browser.get(reverse("revoke-agent", args=[agent.pk]))
    agent.refresh_from_db()
    assert "Take away access from Checkout monitor?" in asked.content.decode()
    assert agent.revoked_at is None

    response = browser.post(reverse("revoke-agent", args=[agent.pk]), follow=True)

    agent.refresh_from_db()
    assert agent.revoked_at == world.NOW
    assert words_of(response) == ["Checkout monitor has no access any more."]
    assert response.context["agents"] == []
    assert browser.get(reverse("agent", args=[agent.pk])).status_code == 404
