"""Real threads, real commits: money for one goes to one, and a code is compared five times at most."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import pytest
from django.db import connection

from accounts import codes, ledger, letters
from accounts.ledger import HoldRequest
from accounts.locking import locked
from accounts.models import Account, Letter, Number, VerificationCode
from accounts.people import open_account
from accounts.sealing import unseal
from breakpass.errors import Refusal
from tests.factories import NOW, AccountFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)
T = TypeVar("T")


def at_once(count: int, action: Callable[[int], T]) -> list[T | str]:
    """What each of `count` threads got, started together; a Refusal's code where there was one."""
    barrier = Barrier(count)

    def run(index: int) -> T | str:
        try:
            barrier.wait(timeout=20)
            return action(index)
        except Refusal as refusal:
            return refusal.code
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_of_ten_holds_on_a_balance_for_one_exactly_one_goes() -> None:
    account = AccountFactory(balance_cents=30)

    def hold(index: int) -> str:
        with locked(account.pk) as held:
            ledger.hold(held, [HoldRequest(f"attempt:{index}", 20)], now=NOW)
        return "held"

    assert sorted(at_once(10, hold)) == ["INSUFFICIENT_BALANCE"] * 9 + ["held"]
    account.refresh_from_db()
    assert (account.balance_cents, account.reserved_cents) == (30, 20)
    assert account.entries.filter(kind="hold").count() == 1


def test_of_eight_settlements_of_one_hold_exactly_one_counts() -> None:
    account = AccountFactory(balance_cents=100)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 40)], now=NOW)

    def settle(index: int) -> int:
        with locked(account.pk) as held:
            if index % 2:
                return ledger.capture(held, ref="attempt:1", amount_cents=40, now=NOW)
            return int(ledger.release(held, ref="attempt:1", now=NOW))

    assert sum(1 for outcome in at_once(8, settle) if outcome) == 1
    account.refresh_from_db()
    assert account.reserved_cents == 0
    assert account.balance_cents in (60, 100)
    assert account.entries.exclude(settles=None).count() == 1


def wrong(right: str, index: int) -> str:
    """A code that is not the right one."""
    return f"{(int(right) + 1 + index) % 1_000_000:06d}"


@pytest.mark.usefixtures("load_rates")
def test_of_twenty_guesses_at_once_at_most_five_are_compared() -> None:
    account = AccountFactory(is_verified=False)
    number = Number.objects.get(account=account)
    with locked(account.pk) as held:
        code = codes.request_code(held, number, channel="sms", now=NOW)
    assert code.sealed is not None
    right = unseal(code.sealed)

    def guess(index: int) -> str:
        mine = Number.objects.get(pk=number.pk)
        with locked(account.pk) as held:
            codes.check_code(held, mine, code=wrong(right, index), now=NOW)
        return "verified"

    assert sorted(at_once(20, guess)) == ["CODE_VOID"] * 16 + ["CODE_WRONG"] * 4
    code.refresh_from_db()
    assert code.checks == 5
    assert code.closed_at == NOW
    # The right one comes too late.
    assert at_once(1, lambda _: _check(account, number, right)) == ["CODE_VOID"]
    assert Number.objects.get(pk=number.pk).verified_at is None


def _check(account: Account, number: Number, digits: str) -> str:
    with locked(account.pk) as held:
        codes.check_code(held, number, code=digits, now=NOW)
    return "verified"


@pytest.mark.usefixtures("load_rates")
def test_of_six_requests_for_a_code_at_once_one_is_granted() -> None:
    account = AccountFactory(is_verified=False)
    number = Number.objects.get(account=account)

    def ask(index: int) -> str:
        with locked(account.pk) as held:
            codes.request_code(held, Number.objects.get(pk=number.pk), channel="sms", now=NOW)
        return "asked"

    assert sorted(at_once(6, ask)) == ["RATE_LIMITED"] * 5 + ["asked"]
    assert VerificationCode.objects.count() == 1


def test_a_login_that_signs_up_twice_at_once_has_one_account() -> None:
    user = UserFactory()
    opened = at_once(4, lambda _: open_account(user, owner_name="Sam", now=NOW).pk)
    assert len(set(opened)) == 1
    assert Account.objects.count() == 1


def test_letters_sent_by_several_workers_at_once_leave_once_each(mailoutbox: list[object]) -> None:
    account = AccountFactory()
    for number in range(6):
        letters.write(account, kind="test", subject=f"Letter {number}", body="Hello.", now=NOW)
    assert sum(int(sent) for sent in at_once(4, lambda _: letters.send_waiting(NOW))) == 6
    assert len(mailoutbox) == 6
    assert Letter.objects.filter(sent_at=NOW, tries=1).count() == 6
