"""Staff on money: payments to confirm, the ledger as it is, and what each country costs."""

from collections.abc import Callable
from typing import cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts import payments
from accounts.admin.base import ReadOnly, Rows, tell
from accounts.locking import locked
from accounts.models import (
    Account,
    Country,
    LedgerEntry,
    Payment,
    Rate,
    User,
)
from breakpass.errors import Refusal


@admin.register(Payment)
class PaymentAdmin(ReadOnly):
    """Payments: confirmed when the money is there."""

    list_display = ("id", "account", "amount_cents", "status", "method", "external_ref", "created_at", "confirmed_by")
    list_filter = ("status", "method")
    search_fields = ("=id", "=account__id", "external_ref")
    actions = ("confirm", "refuse", "dispute")

    @admin.action(description="Confirm: the money arrived", permissions=["confirm"])
    def confirm(self, request: HttpRequest, queryset: QuerySet[Payment]) -> None:
        """Top the accounts up."""
        by, now = cast(User, request.user), timezone.now()
        self._each(request, queryset, "confirmed", lambda a, p: payments.confirm(a, p, by=by, now=now))

    @admin.action(description="Refuse: the money will not come", permissions=["confirm"])
    def refuse(self, request: HttpRequest, queryset: QuerySet[Payment]) -> None:
        """Nothing is added."""
        self._each(request, queryset, "refused", payments.refuse)

    @admin.action(description="Disputed by the payer: suspend the account", permissions=["confirm"])
    def dispute(self, request: HttpRequest, queryset: QuerySet[Payment]) -> None:
        """The account is suspended until staff lift that."""
        now = timezone.now()
        self._each(request, queryset, "disputed", lambda a, p: payments.dispute(a, p, now=now))

    def has_confirm_permission(self, request: HttpRequest) -> bool:
        """Who may change payments."""
        return request.user.has_perm("accounts.change_payment")

    def _each(
        self,
        request: HttpRequest,
        queryset: QuerySet[Payment],
        what: str,
        action: Callable[[Account, Payment], bool],
    ) -> None:
        done = 0
        for payment in queryset.order_by("pk"):
            try:
                with locked(payment.account_id) as account:
                    done += action(account, payment)
            except Refusal as refusal:
                messages.error(request, f"Payment {payment.pk}: {refusal.message}")
        tell(request, done, what)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnly):
    """Every movement of money, as it happened."""

    list_display = ("id", "account", "kind", "balance_delta_cents", "reserved_delta_cents", "ref", "note", "created_at")
    list_filter = ("kind",)
    search_fields = ("=account__id", "=ref")
    list_select_related = ("account",)


@admin.register(Country)
class CountryAdmin(Rows):
    """Which countries are offered at all."""

    list_display = ("code", "is_offered")
    list_editable = ("is_offered",)
    search_fields = ("=code",)


@admin.register(Rate)
class RateAdmin(Rows):
    """What each channel costs where."""

    list_display = ("country", "channel", "status", "price_cents", "reduced_cents", "sender", "needs_test")
    list_filter = ("channel", "status", "sender", "needs_test")
    list_editable = ("status", "price_cents", "reduced_cents", "needs_test")
    search_fields = ("=country__code",)
    list_select_related = ("country",)
