"""Money moves in one place: balances equal the ledger's sums, and a hold settles once."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Sum
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from accounts import ledger
from accounts.ledger import HoldRequest
from accounts.locking import locked
from accounts.models import Account, LedgerEntry
from breakpass.errors import Refusal
from tests.factories import NOW, AccountFactory

pytestmark = pytest.mark.django_db


def balances(account: Account) -> tuple[int, int]:
    """Balance and reserved as the row has them, after checking that they are the ledger's sums."""
    account.refresh_from_db()
    sums = account.entries.aggregate(b=Sum("balance_delta_cents"), r=Sum("reserved_delta_cents"))
    assert (account.balance_cents, account.reserved_cents) == (sums["b"] or 0, sums["r"] or 0)
    return account.balance_cents, account.reserved_cents


def test_a_hold_reserves_and_a_capture_charges_part_of_it_and_releases_the_rest() -> None:
    account = AccountFactory(balance_cents=100)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 30), HoldRequest("attempt:2", 20)], now=NOW)
        assert (held.balance_cents, held.reserved_cents, held.available_cents) == (100, 50, 50)
    assert balances(account) == (100, 50)
    with locked(account.pk) as held:
        assert ledger.capture(held, ref="attempt:1", amount_cents=12, now=NOW) == 12
        assert (held.balance_cents, held.reserved_cents) == (88, 20)
    assert balances(account) == (88, 20)
    with locked(account.pk) as held:
        assert ledger.release(held, ref="attempt:2", now=NOW) is True
    assert balances(account) == (88, 0)


def test_a_hold_that_is_not_covered_holds_nothing_at_all() -> None:
    account = AccountFactory(balance_cents=50)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:0", 10)], now=NOW)
    with pytest.raises(Refusal) as refused, locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 30), HoldRequest("attempt:2", 11)], now=NOW)
    assert refused.value.code == "INSUFFICIENT_BALANCE"
    assert refused.value.details == {"price_cents": 41, "balance_cents": 40}
    assert "http" not in refused.value.message
    assert balances(account) == (50, 10)
    assert account.entries.filter(kind="hold").count() == 1


def test_exactly_the_balance_can_be_held() -> None:
    account = AccountFactory(balance_cents=50)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 50)], now=NOW)
    assert balances(account) == (50, 50)


def test_many_holds_take_one_insert_and_one_update(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    account = AccountFactory(balance_cents=1000)
    with locked(account.pk) as held:
        with django_assert_num_queries(2):
            ledger.hold(held, [HoldRequest(f"attempt:{n}", 10) for n in range(12)], now=NOW)
        with django_assert_num_queries(3):
            assert ledger.release_all(held, [f"attempt:{n}" for n in range(12)], now=NOW) == 12
    assert balances(account) == (1000, 0)


def test_a_settled_hold_is_neither_captured_nor_released_again() -> None:
    account = AccountFactory(balance_cents=100)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 30)], now=NOW)
        assert ledger.capture(held, ref="attempt:1", amount_cents=30, now=NOW) == 30
        assert ledger.capture(held, ref="attempt:1", amount_cents=30, now=NOW) == 0
        assert ledger.release(held, ref="attempt:1", now=NOW) is False
        assert ledger.release_all(held, ["attempt:1", "attempt:9"], now=NOW) == 0
    assert balances(account) == (70, 0)


def test_the_database_refuses_a_second_settlement_of_a_hold() -> None:
    account = AccountFactory(balance_cents=100)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 30)], now=NOW)
        ledger.release(held, ref="attempt:1", now=NOW)
    hold = account.entries.get(kind="hold")
    with pytest.raises(IntegrityError), transaction.atomic():
        LedgerEntry.objects.create(
            account=account,
            kind="capture",
            balance_delta_cents=-30,
            reserved_delta_cents=-30,
            ref="attempt:1",
            settles=hold,
            created_at=NOW,
        )


def test_a_capture_of_more_than_was_held_is_a_bug_and_changes_nothing() -> None:
    account = AccountFactory(balance_cents=100)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 30)], now=NOW)
    with pytest.raises(ValueError, match="no more than was held"), locked(account.pk) as held:
        ledger.capture(held, ref="attempt:1", amount_cents=31, now=NOW)
    assert balances(account) == (100, 30)


def test_a_free_step_holds_and_captures_nothing() -> None:
    account = AccountFactory(balance_cents=0)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 0)], now=NOW)
        assert ledger.capture(held, ref="attempt:1", amount_cents=0, now=NOW) == 0
        assert ledger.release(held, ref="attempt:1", now=NOW) is False
    assert balances(account) == (0, 0)


def test_another_accounts_hold_is_out_of_reach() -> None:
    mine, theirs = AccountFactory(balance_cents=100), AccountFactory(balance_cents=100)
    with locked(theirs.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 30)], now=NOW)
    with locked(mine.pk) as held:
        assert ledger.capture(held, ref="attempt:1", amount_cents=30, now=NOW) == 0
        assert ledger.release(held, ref="attempt:1", now=NOW) is False
    assert balances(mine) == (100, 0)
    assert balances(theirs) == (100, 30)


def test_an_adjustment_happens_once_per_reference_and_never_takes_held_money() -> None:
    account = AccountFactory(balance_cents=100)
    with locked(account.pk) as held:
        assert ledger.adjust(held, amount_cents=25, ref="attempt:1", note="failed after all", now=NOW) is True
        assert ledger.adjust(held, amount_cents=25, ref="attempt:1", note="failed after all", now=NOW) is False
        ledger.hold(held, [HoldRequest("attempt:2", 100)], now=NOW)
    with pytest.raises(Refusal) as refused, locked(account.pk) as held:
        ledger.adjust(held, amount_cents=-26, ref="staff:1", note="", now=NOW)
    assert refused.value.code == "INSUFFICIENT_BALANCE"
    assert balances(account) == (125, 100)


def test_money_moves_only_under_the_lock() -> None:
    account = AccountFactory(balance_cents=100)
    with pytest.raises(RuntimeError):
        ledger.hold(account, [HoldRequest("attempt:1", 1)], now=NOW)
    with pytest.raises(RuntimeError):
        ledger.top_up(account, amount_cents=1, ref="payment:9", now=NOW)
    assert balances(account) == (100, 0)


def test_a_top_up_adds_money_once_per_reference() -> None:
    account = AccountFactory(balance_cents=0)
    with locked(account.pk) as held:
        ledger.top_up(held, amount_cents=70, ref="payment:1", now=NOW)
    with pytest.raises(IntegrityError), locked(account.pk) as held:
        ledger.top_up(held, amount_cents=70, ref="payment:1", now=NOW)
    with pytest.raises(ValueError, match="adds money"), locked(account.pk) as held:
        ledger.top_up(held, amount_cents=0, ref="payment:2", now=NOW)
    assert balances(account) == (70, 0)


def test_spent_today_counts_the_utc_day_of_alerts_net_of_what_came_back() -> None:
    account = AccountFactory(balance_cents=1000)
    midnight = datetime(2026, 10, 3, tzinfo=UTC)
    times = {"a": midnight - timedelta(microseconds=1), "b": midnight, "c": NOW, "d": midnight + timedelta(days=1)}
    with locked(account.pk) as held:
        for ref, at in times.items():
            ledger.hold(held, [HoldRequest(f"attempt:{ref}", 100)], now=at)
            ledger.capture(held, ref=f"attempt:{ref}", amount_cents=10, now=at)
        ledger.adjust(held, amount_cents=4, ref="attempt:b", note="", now=NOW)
        ledger.adjust(held, amount_cents=-500, ref="staff:x", note="not an alert", now=NOW)
    assert ledger.spent_today_cents(account, NOW) == 16
    assert ledger.spent_today_cents(account, NOW - timedelta(days=1)) == 10
    assert ledger.spent_today_cents(account, NOW - timedelta(days=2)) == 0


def test_what_came_back_for_an_earlier_day_does_not_make_today_negative() -> None:
    account = AccountFactory(balance_cents=100)
    with locked(account.pk) as held:
        ledger.adjust(held, amount_cents=9, ref="attempt:old", note="", now=NOW)
    assert ledger.spent_today_cents(account, NOW) == 0


def test_differences_name_what_does_not_add_up() -> None:
    fine, wrong, stray = (AccountFactory(balance_cents=100) for _ in range(3))
    assert ledger.find_differences() == []
    Account.objects.filter(pk=wrong.pk).update(balance_cents=99)
    with locked(stray.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:gone", 5)], now=NOW)
    assert ledger.find_differences() == [
        {"account_id": wrong.pk, "problem": "balance", "cached_cents": 99, "ledger_cents": 100},
        {"account_id": stray.pk, "problem": "hold without attempt", "ref": "attempt:gone"},
    ]
    assert fine.pk not in {wrong.pk, stray.pk}


Step = tuple[str, int, int]


@given(
    st.lists(
        st.tuples(st.sampled_from(["hold", "capture", "release", "adjust"]), st.integers(0, 5), st.integers(0, 60)),
        max_size=25,
    )
)
@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_of_movements_keeps_the_sums_and_settles_each_hold_once(steps: list[Step]) -> None:
    account = AccountFactory(balance_cents=100)
    held_refs: dict[str, int] = {}
    with locked(account.pk) as held:
        for number, (kind, which, amount) in enumerate(steps):
            ref = f"attempt:{which}"
            before = (held.balance_cents, held.reserved_cents)
            if kind == "hold" and not account.entries.filter(kind="hold", ref=ref).exists():
                try:
                    ledger.hold(held, [HoldRequest(ref, amount)], now=NOW)
                    held_refs[ref] = amount
                except Refusal:
                    assert (held.balance_cents, held.reserved_cents) == before
                    assert amount > before[0] - before[1]
            elif kind == "capture":
                wanted = min(amount, held_refs.get(ref, 0))
                assert ledger.capture(held, ref=ref, amount_cents=wanted, now=NOW) == wanted
                held_refs.pop(ref, None)
            elif kind == "release":
                assert ledger.release(held, ref=ref, now=NOW) is (held_refs.pop(ref, None) is not None)
            elif kind == "adjust":
                ledger.adjust(held, amount_cents=amount, ref=f"staff:{number}", note="", now=NOW)
            assert held.reserved_cents == sum(held_refs.values())
    balance, reserved = balances(account)
    assert 0 <= reserved <= balance
    settled = account.entries.filter(settles__isnull=False).count()
    assert settled + len(held_refs) == account.entries.filter(kind="hold").count()
