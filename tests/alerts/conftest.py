"""What the tests of the delivery path start from: an account with money in a country with prices, and its number."""

import pytest

from accounts.models import Account, Number
from tests.alerts.rows import make_account, make_number, make_rates


@pytest.fixture
def account() -> Account:
    """An account with 1000 cents."""
    make_rates()
    return make_account()


@pytest.fixture
def number(account: Account) -> Number:
    """The account's only number, verified."""
    return make_number(account)
