"""The demo owner and their one-time link."""

import io
import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from accounts.models import Account, Number, User
from sandbox import Sandbox
from tests import world


def seed() -> dict[str, Any]:
    """What the command prints."""
    out = io.StringIO()
    call_command("seed_demo", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def path_of(answer: dict[str, Any]) -> str:
    """The link without its host."""
    parts = urlsplit(answer["sign_in_url"])
    return f"{parts.path}?{parts.query}"


def test_the_demo_owner_is_ready_and_the_link_signs_in_once() -> None:
    answer = seed()

    assert (answer["email"], answer["person"]) == ("demo@example.com", "Sam")
    account = Account.objects.get()
    assert (account.owner_name, account.residence, account.balance_cents) == ("Sam", "US", 5000)
    assert account.first_payment_at is not None
    assert Number.objects.get().is_verified
    client = Client()
    assert client.get(path_of(answer))["Location"] == "/start/"
    assert "Hello, Sam" in client.get("/start/").content.decode()

    second = Client()
    assert second.get(path_of(answer)).status_code == 410
    assert second.get("/start/").status_code == 302


def test_the_command_can_be_repeated_and_changes_nothing_but_the_link() -> None:
    seed()
    before = list(Account.objects.values()), list(Number.objects.values_list("pk", "verified_at"))
    answer = seed()

    assert (list(Account.objects.values()), list(Number.objects.values_list("pk", "verified_at"))) == before
    assert Client().get(path_of(answer)).status_code == 302


def test_the_link_ends_after_15_minutes() -> None:
    path = path_of(seed())

    with time_machine.travel(world.NOW + timedelta(minutes=15, seconds=2), tick=False):
        response = Client().get(path)

    assert response.status_code == 410
    assert "This sign-in link is used up" in response.content.decode()


@pytest.mark.parametrize("token", ["", "x", "eyJhIjoxfQ:1abc:def"])
def test_a_broken_link_signs_nobody_in(token: str) -> None:
    seed()

    assert Client().get("/demo-sign-in/", {"token": token}).status_code == 410


def test_a_disabled_login_is_not_signed_in() -> None:
    path = path_of(seed())
    User.objects.update(is_active=False)

    assert Client().get(path).status_code == 410


def test_production_has_neither_the_command_nor_the_link(settings: Settings) -> None:
    path = path_of(seed())
    settings.PRODUCTION, settings.ALLOW_TEST_COMMANDS = True, True

    assert Client().get(path).status_code == 404
    with pytest.raises(CommandError):
        seed()


def test_the_demo_owners_phone_lies_ready_in_the_sandbox(settings: Settings) -> None:
    with Sandbox() as sandbox:
        settings.SANDBOX_URL = sandbox.url
        seed()
        names = [(phone.number, phone.name) for phone in sandbox.exchange.phones.values()]

    assert names == [("+12025550110", "Sam")]


def test_a_sandbox_that_is_gone_stops_nothing(settings: Settings) -> None:
    settings.SANDBOX_URL = "http://127.0.0.1:9"

    assert seed()["person"] == "Sam"
