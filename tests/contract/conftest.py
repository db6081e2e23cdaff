"""An MCP client over HTTP for the tests: every result that any test gets is checked against the served schema."""

import pytest
from django.test import Client

from tests.mcp_client import McpClient, issue_token


@pytest.fixture
def mcp(client: Client, account: object) -> McpClient:
    """A connected agent of the ready account, with both scopes."""
    return McpClient(client, issue_token(account))
