"""One lock per account, and what a refusal inside it leaves behind."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from accounts.locking import CountedRefusal, lock_holder, locked, require_locked
from accounts.models import Account
from breakpass.errors import Refusal
from tests.factories import AccountFactory, HolderFactory, PlanFactory

pytestmark = pytest.mark.django_db


def rename_then_raise(account: Account, refusal: Refusal) -> None:
    """A write, then a refusal, in a nested block of one unit of work."""
    with locked(account.pk), locked(account.pk) as held:
        held.owner_name = "Renamed"
        held.save()
        raise refusal


def test_the_account_comes_with_its_plan_in_one_locking_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    plan = PlanFactory()
    pk = AccountFactory(plan=plan).pk
    with CaptureQueriesContext(connection) as queries, locked(pk) as account:
        assert account.plan == plan
    selects = [query["sql"] for query in queries if "SELECT" in query["sql"]]
    assert len(selects) == 1
    assert "FOR NO KEY UPDATE OF" in selects[0]


def test_nested_use_gives_the_same_instance_without_a_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    pk = AccountFactory().pk
    with locked(pk) as outer, django_assert_num_queries(0), locked(pk) as inner:
        assert inner is outer


def test_a_second_account_inside_the_block_is_a_bug() -> None:
    first, second = AccountFactory(), AccountFactory()
    with pytest.raises(RuntimeError, match="two accounts"), locked(first.pk), locked(second.pk):
        pass
    with locked(second.pk) as account:
        assert account == second


def test_an_unknown_account_leaves_no_lock_behind() -> None:
    account = AccountFactory()
    with pytest.raises(Account.DoesNotExist), locked(account.pk + 1000):
        pass
    with locked(account.pk) as held:
        assert held == account


def test_a_refusal_undoes_what_was_written() -> None:
    account = AccountFactory()
    with pytest.raises(Refusal):
        rename_then_raise(account, Refusal("NO", "No."))
    account.refresh_from_db()
    assert account.owner_name == "Sam"


def test_a_counted_refusal_keeps_what_was_written_and_is_raised() -> None:
    account = AccountFactory()
    with pytest.raises(CountedRefusal):
        rename_then_raise(account, CountedRefusal("NO", "No."))
    account.refresh_from_db()
    assert account.owner_name == "Renamed"


def test_a_database_error_undoes_everything() -> None:
    account = AccountFactory()
    with pytest.raises(IntegrityError), locked(account.pk):
        Account.objects.filter(pk=account.pk).update(owner_name="Half", reserved_cents=-1)
    account.refresh_from_db()
    assert account.owner_name == "Sam"


def test_only_the_locked_instance_counts_as_locked() -> None:
    account = AccountFactory()
    with pytest.raises(RuntimeError, match="locked"):
        require_locked(account)
    with locked(account.pk) as held:
        require_locked(held)
        with pytest.raises(RuntimeError, match="locked"):
            require_locked(account)
    with pytest.raises(RuntimeError, match="locked"):
        require_locked(held)


def test_a_holder_is_locked_inside_a_unit_of_work() -> None:
    holder = HolderFactory()
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        assert lock_holder(holder.pk) == holder
    assert any("FOR NO KEY UPDATE" in query["sql"] for query in queries)


@pytest.mark.django_db(transaction=True)
def test_a_holder_outside_a_unit_of_work_is_a_bug() -> None:
    holder = HolderFactory()
    with pytest.raises(RuntimeError, match="unit of work"):
        lock_holder(holder.pk)
