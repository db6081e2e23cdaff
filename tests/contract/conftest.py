"""An MCP client over HTTP for the tests: every result that any test gets is checked against the served schema."""

import pytest
from django.core.cache import cache
from django.test import Client
from time_machine import TimeMachineFixture

from accounts.models import Account
from tests.contract import sends
from tests.contract.sends import Sender
from tests.factories import NOW, AccountFactory
from tests.mcp_client import McpClient, issue_token


@pytest.fixture
def account(load_rates: None) -> Account:
    """A ready account in the US with balance and without a paid plan; tests change what they are about."""
    return AccountFactory(number=sends.OWNER_NUMBER)


@pytest.fixture
def mcp(client: Client, account: Account) -> McpClient:
    """A connected agent of the account, with both scopes. `mcp.call(tool, {...})`, `mcp.refusal(tool, {...})`."""
    return McpClient(client, issue_token(account))


@pytest.fixture
def clock(time_machine: TimeMachineFixture) -> TimeMachineFixture:
    """The edges' clock, standing still at NOW until a test shifts it; ask for it before `mcp`."""
    time_machine.move_to(NOW, tick=False)
    return time_machine


@pytest.fixture
def sender(db: None, client: Client, clock: TimeMachineFixture) -> Sender:
    """An agent of a ready account without a paid plan, at a standing clock, in a world of three countries.

    It watches what its refusals leave behind.
    """
    cache.clear()
    for country, kind in sends.COUNTRIES.items():
        sends.offer(country, sender=kind)
    account = AccountFactory(number=sends.OWNER_NUMBER)
    return Sender(account, McpClient(client, issue_token(account)))
