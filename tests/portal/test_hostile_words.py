"""Names and texts that would be markup or code: every page shows them as the words they are."""

from html.parser import HTMLParser

import pytest
from django.test import Client

from accounts import connections, invites, people
from accounts.locking import locked
from accounts.models import Account, Connection, Number
from alerts.models import Alert
from tests import world

NAME = "\"'><svg/onload=x()>{{ 7*7 }}"
TEXT = "Disk is < 5 % full \"here' onclick=x() <!-- {% now %} --> & there"


class Reading(HTMLParser):
    """What a browser would make of a page: its words, and every attribute that runs code."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.handlers: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handlers += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]
        self.words += [value for name, value in attrs if value and name == "value"]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture
def ada(owner: Account) -> Number:
    """Named by an owner who means ill."""
    number = world.add_person(owner, "Ada", number=world.ADA_NUMBER, is_verified=False)
    with locked(owner.pk) as held:
        people.rename(held, number.person, name=NAME)
        held.owner_name = NAME
        held.save()
    return number


@pytest.fixture
def agent(owner: Account) -> Connection:
    """Named by whoever made it."""
    connection = world.connect(owner)
    with locked(owner.pk) as held:
        connections.rename(held, connection, name=NAME)
    return connection


@pytest.fixture
def alert(owner: Account, ada: Number, agent: Connection) -> Alert:
    """Worded by an agent who means ill."""
    return world.run(owner, message=TEXT, agent_name=NAME, event_reference=NAME, connection=agent).alert


def read(client: Client, address: str) -> str:
    """The words of a page on which nothing runs."""
    response = client.get(address)
    assert response.status_code == 200
    reading = Reading(response.content.decode())
    assert reading.handlers == []
    return "".join(reading.words)


def test_the_pages_of_an_owner(browser: Client, ada: Number, agent: Connection, alert: Alert) -> None:
    assert NAME in read(browser, "/settings/")
    assert NAME in read(browser, "/settings/numbers/")
    assert NAME in read(browser, f"/settings/numbers/{ada.person_id}/")
    assert NAME in read(browser, f"/settings/numbers/{ada.person_id}/remove/")
    assert NAME in read(browser, "/agents/")
    assert NAME in read(browser, f"/agents/{agent.pk}/")
    assert NAME in read(browser, f"/agents/{agent.pk}/revoke/")
    assert alert.message in read(browser, "/alerts/")
    assert alert.message in read(browser, f"/alerts/{alert.code}/")
    assert alert.message in read(browser, f"/alerts/{alert.code}/cancel/")
    read(browser, "/start/")


def test_the_pages_of_those_who_get_alerts(owner: Account, ada: Number, alert: Alert) -> None:
    with locked(owner.pk) as held:
        link = invites.renew_link(held, ada)
    assert NAME in read(Client(), link.removeprefix("http://127.0.0.1:8000"))
    assert alert.message in read(Client(), f"/a/{alert.ack_token}")


def test_the_words_are_what_was_said(alert: Alert) -> None:
    assert alert.message == "Disk is < 5 % full \"here' onclick=x() & there"
    assert alert.agent_name == NAME
