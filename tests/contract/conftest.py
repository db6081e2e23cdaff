"""An MCP client over HTTP for the tests: every result that any test gets is checked against the served schema."""

import pytest
from django.test import Client

from accounts.models import Account
from tests.factories import AccountFactory
from tests.mcp_client import McpClient, issue_token


@pytest.fixture
def account(load_rates: None) -> Account:
    """A ready account in the US with balance and without a paid plan; tests change what they are about."""
    return AccountFactory(number="+12025550143")


@pytest.fixture
def mcp(client: Client, account: Account) -> McpClient:
    """A connected agent of the account, with both scopes. `mcp.call(tool, {...})`, `mcp.refusal(tool, {...})`."""
    return McpClient(client, issue_token(account))
