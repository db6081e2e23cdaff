"""One lock per account, the holder's after it: what keeps every decision about money, caps and alerts true (ADR 2)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connection, transaction

from accounts.models import Account, Holder
from breakpass.errors import Refusal

_held: ContextVar[Account | None] = ContextVar("held_account", default=None)


class CountedRefusal(Refusal):
    """A refusal that must be remembered, such as a wrong code: `locked` keeps what was written, then raises it."""


@contextmanager
def locked(account_id: int) -> Iterator[Account]:
    """The account, with its plan, in one unit of work and under its row lock until the block ends.

    Nested use for the same account gives the same instance and adds nothing; a second account inside the block is a
    bug. Any exception undoes everything, but for a CountedRefusal. Raises Account.DoesNotExist.
    """
    held = _held.get()
    if held is not None:
        if held.pk != account_id:
            raise RuntimeError("two accounts are never locked at once")
        yield held
        return
    counted: CountedRefusal | None = None
    with transaction.atomic():
        # Without the key part, rows that only point to the account can still be inserted meanwhile.
        rows = Account.objects.select_for_update(of=("self",), no_key=True).select_related("plan")
        account = rows.get(pk=account_id)
        token = _held.set(account)
        try:
            yield account
        except CountedRefusal as refusal:
            counted = refusal
        finally:
            _held.reset(token)
    if counted is not None:
        raise counted


def require_locked(account: Account) -> None:
    """Raises RuntimeError unless this very instance came from `locked` in a block that is still open."""
    if _held.get() is not account:
        raise RuntimeError("this needs the account that `with locked(...)` gave")


def lock_holder(holder_id: int) -> Holder:
    """The holder under its row lock until the surrounding unit of work ends. Taken after the account, never before."""
    if not connection.in_atomic_block:
        raise RuntimeError("a holder is locked inside a unit of work")
    return Holder.objects.select_for_update(no_key=True).get(pk=holder_id)
