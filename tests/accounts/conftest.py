"""What the tests of accounts share: time in their hands, commands, Sam's account, and two accounts that know Ada."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import Account
from tests.accounts.sides import Side
from tests.accounts.staff import SAM
from tests.contract.course import Course, following
from tests.factories import AccountFactory, PlanFactory, UserFactory
from tests.mcp_client import McpClient, issue_token


@pytest.fixture
def course() -> Iterator[Course]:
    """Time and the carrier in the test's hands."""
    with following() as begun:
        yield begun


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """A command's whole standard output, which is one JSON object."""

    def run_command(name: str, *args: str) -> Any:
        capsys.readouterr()
        call_command(name, *args)
        return json.loads(capsys.readouterr().out)

    return run_command


@pytest.fixture
def account() -> Account:
    """Sam's, ready to send, on a paid plan."""
    return AccountFactory(user=UserFactory(email=SAM), number="+12025550143", plan=PlanFactory())


@pytest.fixture
def agent(account: Account) -> McpClient:
    """Sam's agent."""
    return McpClient(Client(), issue_token(account))


@pytest.fixture
def mine() -> Side:
    """Ada agreed to alerts of this account."""
    return Side("+12025550143")


@pytest.fixture
def theirs() -> Side:
    """And to those of this one."""
    return Side("+12025550144")
