"""Many clients with one token at once, on real transactions: never a 500, and one living chain in the end."""

import collections
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections as databases
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_refresh_token_model

from accounts import people
from accounts.models import User
from mcp_gateway.models import Application
from tests.gateway import flow

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def app() -> Application:
    """A public client."""
    app: Application = Application.objects.create(
        client_id="racer",
        name="Racer",
        client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris=flow.LOOPBACK,
    )
    return app


@pytest.fixture
def browser(client: Client) -> Client:
    """An owner's browser."""
    user = User.objects.create_user("sam@example.com")
    people.open_account(user, owner_name="Sam", now=timezone.now())
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def at_once(count: int, act: Callable[[], Any]) -> list[Any]:
    """Run `act` in `count` threads that start together; the responses."""
    answers: list[Any] = []
    barrier = threading.Barrier(count)

    def run() -> None:
        barrier.wait()
        try:
            answers.append(act())
        finally:
            databases.close_all()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def living() -> list[Any]:
    """The refresh tokens that can still be used."""
    return list(get_refresh_token_model().objects.filter(revoked=None, access_token__isnull=False))


def test_25_refreshes_at_once_leave_one_living_chain(browser: Client, app: Application) -> None:
    tokens = flow.connect(browser, Client(), app)
    answers = at_once(25, lambda: flow.refresh(Client(), app, tokens["refresh_token"]))
    assert collections.Counter(answer.status_code for answer in answers) == {200: 25}
    given = {json.loads(answer.content)["access_token"] for answer in answers}
    assert len(given) == 25
    assert len(living()) == 1
    assert get_access_token_model().objects.count() == 1
    working = [token for token in given if flow.status_at_mcp(Client(), token) == 200]
    assert len(working) == 1


def test_a_code_used_by_many_at_once_gives_at_most_one_chain_and_no_500(browser: Client, app: Application) -> None:
    verifier, challenge = flow.pkce()
    code = flow.decide(browser, flow.request_of(app, challenge))["code"]
    answers = at_once(8, lambda: flow.exchange(Client(), app, code, verifier))
    assert collections.Counter(answer.status_code for answer in answers) == {200: 1, 400: 7}
    # Whoever came second proved that the code is known to more than one: nothing of it lives.
    assert living() == []


def test_revoking_and_refreshing_at_once_leaves_nothing_alive(browser: Client, app: Application) -> None:
    tokens = flow.connect(browser, Client(), app)
    acts = iter([True, False] * 5)
    lock = threading.Lock()

    def act() -> Any:
        with lock:
            is_refresh = next(acts)
        if is_refresh:
            return flow.refresh(Client(), app, tokens["refresh_token"])
        return Client().post("/token", {"token": tokens["refresh_token"], "client_id": app.client_id})

    answers = at_once(10, act)
    assert {answer.status_code for answer in answers} <= {200, 400}
    Client().post("/token", {"token": tokens["refresh_token"], "client_id": app.client_id})
    assert living() == []
