"""Amounts that commands are given: whole US cents that fit, else one sentence and no change."""

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Account, Payment, Rate, User
from tests.factories import AccountFactory, UserFactory

pytestmark = pytest.mark.django_db

OWNER = ("sam@example.com", "--name", "Sam", "--number", "+12025550143")
REFUSED = r"Write whole US cents, at most 100000000\.$"


@pytest.mark.parametrize("amount", ["100000001", "99999999999999999999", "12.50", "free"])
def test_an_owners_balance_that_is_no_sensible_amount_is_refused(amount: str) -> None:
    with pytest.raises(CommandError, match=REFUSED):
        call_command("create_owner", *OWNER, "--balance-cents", amount)
    assert User.objects.count() == 0


@pytest.mark.parametrize("amount", ["100000001", "99999999999", "12.50"])
def test_a_payment_that_is_no_sensible_amount_is_refused(amount: str) -> None:
    account = AccountFactory(balance_cents=0, user=UserFactory(email="sam@example.com"))
    with pytest.raises(CommandError, match=REFUSED):
        call_command("confirm_payment", "sam@example.com", "--amount-cents", amount, "--reference", "wire-1")
    assert (Payment.objects.count(), Account.objects.get(pk=account.pk).balance_cents) == (0, 0)


@pytest.mark.parametrize("option", ["--price-cents", "--reduced-cents"])
def test_a_price_that_does_not_fit_is_refused(option: str) -> None:
    call_command("load_rates")
    before = Rate.objects.values_list("price_cents", "reduced_cents").get(country_id="US", channel="call")
    with pytest.raises(CommandError, match=REFUSED):
        call_command("set_rate", "US", "call", option, "99999999999")
    after = Rate.objects.values_list("price_cents", "reduced_cents").get(country_id="US", channel="call")
    assert after == before


def test_the_most_is_still_taken(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_owner", *OWNER, "--balance-cents", "100000000")
    assert Account.objects.get().balance_cents == 100_000_000
