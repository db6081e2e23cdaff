"""Guessing a verification code from many connections at once."""

from datetime import timedelta

import pytest

from accounts import numbers
from accounts.locking import locked
from accounts.models import Number, VerificationCode
from accounts.sealing import unseal
from tests import world
from tests.races.test_accept_races import at_once
from tests.world import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def number() -> Number:
    """A number whose holder was invited a moment ago."""
    return world.add_person(world.open_account(), "Ada", number=world.ADA_NUMBER, is_verified=False)


def ask(number: Number) -> tuple[VerificationCode, str]:
    with locked(number.account_id) as account:
        code = numbers.request_code(account, number, channel="sms", is_invite=True, now=NOW)
    assert code.sealed is not None
    return code, unseal(bytes(code.sealed))


def guess(number: Number, digits: str) -> str:
    row = Number.objects.select_related("holder").get(pk=number.pk)
    with locked(row.account_id) as account:
        numbers.check_code(account, row, code=digits, now=NOW + timedelta(seconds=30))
    return "verified"


def test_case_18_of_twenty_guesses_at_once_five_are_compared(number: Number) -> None:
    code, digits = ask(number)
    wrong = [f"{(int(digits) + step) % 1_000_000:06d}" for step in range(1, 21)]
    said = at_once(20, lambda index: guess(number, wrong[index]))
    assert sorted(said) == ["CODE_VOID"] * 16 + ["CODE_WRONG"] * 4
    code.refresh_from_db()
    assert (code.checks, code.closed_at) == (5, NOW + timedelta(seconds=30))
    [late] = at_once(1, lambda _: guess(number, digits))
    assert late == "CODE_VOID"
    assert Number.objects.get(pk=number.pk).verified_at is None


def test_the_right_code_typed_twice_at_once_verifies_once(number: Number) -> None:
    _, digits = ask(number)
    said = at_once(6, lambda _: guess(number, digits))
    assert sorted(said) == ["CODE_EXPIRED"] * 5 + ["verified"]
    assert Number.objects.get(pk=number.pk).verified_at == NOW + timedelta(seconds=30)
