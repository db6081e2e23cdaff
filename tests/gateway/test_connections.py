"""Connections as the owner manages them, and tokens for agents without a browser."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import get_access_token_model

from accounts import connections
from accounts.locking import locked
from accounts.models import Account, Connection, User
from breakpass.errors import Refusal
from mcp_gateway.models import Application
from tests.gateway import flow

pytestmark = pytest.mark.django_db


def issue(*arguments: str) -> dict[str, Any]:
    """The command's answer."""
    out = StringIO()
    call_command("issue_token", *arguments, stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def test_every_connection_is_listed_with_what_it_may_do(
    browser: Client, stranger: Client, app: Application, account: Account
) -> None:
    flow.connect(browser, stranger, app, scopes=())
    issue(account.members.get().user.email, "--client", "Nightly job")
    listed = connections.list_connections(account)
    assert {connection.name: connection.scopes for connection in listed} == {
        "Checkout monitor": ("alerts.read",),
        "Nightly job": ("alerts.read", "alerts.send"),
    }


def test_a_connection_is_renamed_within_its_rules(account: Account, owner: User) -> None:
    issue(owner.email, "--client", "Nightly job")
    connection = Connection.objects.get()
    with locked(account.pk) as held:
        connections.rename(held, connection, name="  Backup \n job ")
        for name in ("", "   ", "\u200b", "x" * 81):
            with pytest.raises(Refusal):
                connections.rename(held, connection, name=name)
    connection.refresh_from_db()
    assert connection.name == "Backup job"


def test_a_connection_of_another_account_cannot_be_touched(account: Account, owner: User) -> None:
    issue(owner.email, "--client", "Nightly job")
    connection = Connection.objects.get()
    other = Account.objects.create(workflows_updated_at=timezone.now(), created_at=timezone.now())
    with locked(other.pk) as held:
        connections.rename(held, connection, name="Stolen")
        connections.deactivate(held, connection, now=timezone.now())
        connections.revoke(held, connection, now=timezone.now())
    connection.refresh_from_db()
    assert (connection.name, connection.deactivated_at, connection.revoked_at) == ("Nightly job", None, None)
    assert get_access_token_model().objects.count() == 1


def test_a_connection_is_switched_off_and_on(account: Account, owner: User) -> None:
    issue(owner.email, "--client", "Nightly job")
    connection, now = Connection.objects.get(), timezone.now()
    with locked(account.pk) as held:
        connections.deactivate(held, connection, now=now)
        connection.refresh_from_db()
        assert connection.deactivated_at == now
        connections.reactivate(held, connection)
    connection.refresh_from_db()
    assert connection.deactivated_at is None


def test_issue_token_gives_a_fresh_token_of_the_same_connection(stranger: Client, owner: User) -> None:
    first = issue(owner.email.upper(), "--client", "Nightly job")
    second = issue(owner.email, "--client", "Nightly  job")
    assert first["access_token"] != second["access_token"]
    assert first["scopes"] == ["alerts.read", "alerts.send"]
    assert first["expires_at"].endswith("Z")
    assert (Connection.objects.count(), Application.objects.count()) == (1, 1)
    for answer in (first, second):
        assert flow.status_at_mcp(stranger, answer["access_token"]) == 200


def test_issue_token_takes_scopes(owner: User) -> None:
    assert issue(owner.email, "--client", "Reader", "--scopes", "alerts.read")["scopes"] == ["alerts.read"]
    assert get_access_token_model().objects.get().scope == "alerts.read"


@pytest.mark.parametrize(
    "arguments",
    [
        ("nobody@example.com", "--client", "Job"),
        ("OWNER", "--client", " "),
        ("OWNER", "--client", "x" * 81),
        ("OWNER", "--client", "Job", "--scopes", "alerts.read everything"),
        ("OWNER", "--client", "Job", "--scopes", ""),
    ],
)
def test_issue_token_refuses_what_cannot_be(owner: User, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        issue(*(owner.email if argument == "OWNER" else argument for argument in arguments))
    assert not Connection.objects.exists()


def test_issue_token_skips_consent_and_so_is_refused_in_production(owner: User, settings: Any) -> None:
    settings.ALLOW_TEST_COMMANDS = False
    with pytest.raises(CommandError, match="ALLOW_TEST_COMMANDS"):
        issue(owner.email, "--client", "Job")
    assert not Connection.objects.exists()


def test_issuing_to_a_revoked_connection_brings_it_back(account: Account, owner: User, stranger: Client) -> None:
    first = issue(owner.email, "--client", "Job")
    with locked(account.pk) as held:
        connections.revoke(held, Connection.objects.get(), now=timezone.now())
    assert flow.status_at_mcp(stranger, first["access_token"]) == 401
    second = issue(owner.email, "--client", "Job")
    assert flow.status_at_mcp(stranger, second["access_token"]) == 200
    assert flow.status_at_mcp(stranger, first["access_token"]) == 401
