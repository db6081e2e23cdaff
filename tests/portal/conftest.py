"""An owner who is ready to send, their browser, and a stranger with an account of their own."""

from collections.abc import Iterator

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from accounts.models import Account, Member, User
from tests import world

STRANGER_NUMBER = "+12025550188"


@pytest.fixture(autouse=True)
def _still_clock(settings: Settings, db: None) -> Iterator[None]:
    """A fixed moment, and nothing from an earlier test in the cache."""
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    cache.clear()
    with time_machine.travel(world.NOW, tick=False):
        yield


@pytest.fixture
def owner() -> Account:
    """Sam's account: paid, resident, a verified number, balance."""
    return with_login(world.open_account(), "sam@example.com")


@pytest.fixture
def stranger() -> Account:
    """Somebody else's account."""
    return with_login(world.open_account(number=STRANGER_NUMBER, name="Eve"), "eve@example.com")


@pytest.fixture
def browser(owner: Account) -> Client:
    """Sam, signed in."""
    return signed_in(owner)


@pytest.fixture
def strange_browser(stranger: Account) -> Client:
    """Eve, signed in."""
    return signed_in(stranger)


def with_login(account: Account, email: str) -> Account:
    """Give the account its owner's login."""
    user = User.objects.create_user(email)
    Member.objects.create(account=account, user=user, is_owner=True, created_at=world.NOW)
    return account


def signed_in(account: Account) -> Client:
    """A browser in which the account's owner is signed in."""
    client = Client()
    client.force_login(account.members.get().user, backend="django.contrib.auth.backends.ModelBackend")
    return client
