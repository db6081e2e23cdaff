"""Accepting at the same moment: real transactions, threads and a barrier."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounts import numbers
from accounts.locking import locked
from accounts.models import Account, CapHit
from alerts import limits
from alerts.models import Alert, IdempotencyKey
from breakpass.errors import Refusal
from tests import world
from tests.world import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(count: int, call: Callable[[int], Any]) -> list[Any]:
    """Run `call` so many times at the same moment; what each gave, a refusal's code included."""
    barrier = threading.Barrier(count)

    def one(index: int) -> Any:
        barrier.wait(timeout=20)
        try:
            return call(index)
        except Refusal as refusal:
            return refusal.code
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_case_21_ten_calls_at_once_with_one_key_give_one_alert_and_nine_replays() -> None:
    account = world.open_account()
    results = at_once(10, lambda _: world.run(account, "escalate", key="k1"))
    assert sorted(result.is_replay for result in results) == [False] + [True] * 9
    assert len({result.alert.pk for result in results}) == 1
    assert (Alert.objects.count(), IdempotencyKey.objects.count()) == (1, 1)
    account.refresh_from_db()
    assert account.reserved_cents == 23


def test_case_21_two_direct_sends_at_once_without_a_key_give_one_alert() -> None:
    account = world.open_account()
    results = at_once(4, lambda index: world.send(account, "sms", now=NOW + timedelta(milliseconds=index)))
    assert sorted(result.is_replay for result in results) == [False, True, True, True]
    assert Alert.objects.count() == 1


def test_ten_sends_at_once_on_a_balance_for_one_let_one_go() -> None:
    account = world.open_account(balance_cents=4)
    results = at_once(10, lambda index: world.send(account, "sms", f"number {index}"))
    assert results.count("INSUFFICIENT_BALANCE") == 9
    assert Alert.objects.count() == 1
    account.refresh_from_db()
    assert (account.balance_cents, account.reserved_cents) == (4, 4)
    assert account.entries.filter(kind="hold").count() == 1


def test_a_holders_hour_has_one_last_place_for_accounts_that_send_at_once() -> None:
    accounts = [world.open_account() for _ in range(4)]
    for number in range(19):
        alert = world.send(accounts[number % 4], "sms", f"before {number}").alert
        world.finish(alert, settlement="charged", status="delivered")
    results = at_once(4, lambda index: world.send(accounts[index], "sms", "the twentieth"))
    assert results.count("RATE_LIMITED") == 3
    assert Alert.objects.count() == 20


def test_of_calls_to_one_number_from_accounts_at_once_one_gets_the_line() -> None:
    accounts = [world.open_account() for _ in range(4)]
    results = at_once(4, lambda index: world.send(accounts[index], "call"))
    assert results.count("RATE_LIMITED") == 3
    assert Alert.objects.count() == 1


def test_an_opt_out_and_a_send_at_once_end_in_order() -> None:
    """Either the send was first, or it is refused; never accepted after the person stopped."""
    account = world.open_account()
    holder = world.owner_holder(account)

    def stop() -> str:
        with locked(account.pk):
            numbers.opt_out(holder, via="sms", now=NOW)
            return "stopped at " + str(Alert.objects.count())

    results = at_once(2, lambda index: stop() if index else world.send(account, "sms"))
    assert (results[0] == "RECIPIENT_OPTED_OUT") is (results[1] == "stopped at 0")
    assert Alert.objects.count() == (0 if results[1] == "stopped at 0" else 1)


def test_three_caps_at_once_brake_the_connection() -> None:
    account = world.open_account(is_paid=False)
    agent = world.connect(account)
    refusal = Refusal("RATE_LIMITED", "…", details={"reason": "account_per_minute"}, retry_after_s=5)
    at_once(3, lambda _: limits.note_refusal(agent.pk, refusal, NOW))
    agent.refresh_from_db()
    assert agent.braked_until == NOW + timedelta(minutes=15)
    assert CapHit.objects.count() == 3
    assert Account.objects.get().pk == account.pk
