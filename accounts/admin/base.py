"""What the admin of accounts shares: rows that only the domain writes, and actions under the account's lock."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from accounts.locking import locked
from accounts.models import (
    Account,
    Member,
)

if TYPE_CHECKING:
    Rows = admin.ModelAdmin[Any]
    Inline = admin.TabularInline[Member, Account]
else:
    Rows, Inline = admin.ModelAdmin, admin.TabularInline


class ReadOnly(Rows):
    """Rows that only the domain writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is made by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is changed by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is deleted by hand."""
        return False


def tell(request: HttpRequest, done: int, what: str) -> None:
    """Say how many rows an action changed."""
    messages.info(request, f"{done} {what}.")


def each_locked(accounts: QuerySet[Account], action: Callable[[Account], bool]) -> int:
    """Run an action on each account under its lock, one after the other; how many it changed."""
    done = 0
    for pk in accounts.order_by("pk").values_list("pk", flat=True):
        with locked(pk) as account:
            done += action(account)
    return done
