"""An owner who is signed in, an app that may ask, and an empty cache, so that no throttle remembers another test."""

import uuid
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from time_machine import TimeMachineFixture

from accounts import people
from accounts.models import Account, User
from mcp_gateway.models import Application
from tests.gateway.flow import LOOPBACK


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def owner(db: None) -> User:
    """A login with an account of its own."""
    user = User.objects.create_user(f"sam-{uuid.uuid4().hex[:8]}@example.com")
    people.open_account(user, owner_name="Sam", now=timezone.now())
    return user


@pytest.fixture
def account(owner: User) -> Account:
    """The owner's account."""
    return owner.member.account


@pytest.fixture
def app(db: None) -> Application:
    """A public client with a loopback and a web redirect."""
    app: Application = Application.objects.create(
        client_id="checkout-monitor",
        name="Checkout monitor",
        client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        registration_source=Application.RegistrationSource.DCR,
        redirect_uris=f"{LOOPBACK} https://agent.example/callback",
    )
    return app


@pytest.fixture
def browser(client: Client, owner: User) -> Client:
    """The owner's browser, signed in."""
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def stranger() -> Client:
    """Somebody's program without a session."""
    return Client()


@pytest.fixture
def clock(time_machine: TimeMachineFixture) -> TimeMachineFixture:
    """The edges' clock, standing still until a test shifts it."""
    time_machine.move_to(timezone.now(), tick=False)
    return time_machine
