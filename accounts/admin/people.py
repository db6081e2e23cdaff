"""Staff on people: logins, persons, numbers (masked, never the digits), agents, letters."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from accounts.admin.base import ReadOnly, Rows
from accounts.models import (
    Connection,
    Holder,
    Letter,
    Number,
    Person,
    User,
)
from accounts.numbers import mask, reveal


@admin.register(User)
class UserAdmin(Rows):
    """Logins: disabled here, never deleted (their tokens stop at once)."""

    list_display = ("id", "email", "is_active", "is_staff", "last_login")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email",)
    fields = ("email", "is_active", "is_staff", "groups", "last_login", "date_joined")
    readonly_fields = ("email", "last_login", "date_joined")
    filter_horizontal = ("groups",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Logins come by signing up, or by `createsuperuser`."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A login is disabled instead."""
        return False


@admin.register(Person)
class PersonAdmin(ReadOnly):
    """People on accounts."""

    list_display = ("id", "account", "name", "language", "created_at", "removed_at")
    search_fields = ("=account__id", "name")
    list_select_related = ("account",)


@admin.register(Number)
class NumberAdmin(ReadOnly):
    """Numbers, masked: staff never see the digits."""

    list_display = ("id", "account", "person", "masked", "verified_at", "is_over_plan", "created_at")
    list_filter = ("is_over_plan",)
    search_fields = ("=account__id", "person__name")
    list_select_related = ("account", "person")
    exclude = ("sealed", "invite_token_hash")
    readonly_fields = ("masked",)

    @admin.display(description="number")
    def masked(self, number: Number) -> str:
        """The calling code and the last two digits."""
        return mask(reveal(number))


@admin.register(Holder)
class HolderAdmin(ReadOnly):
    """Who holds a number, across accounts: what is known of it, never the number."""

    list_display = ("id", "country", "whatsapp", "opted_out_at", "opted_out_via", "whatsapp_paused_at", "flagged_at")
    list_filter = ("whatsapp", "country", ("flagged_at", admin.EmptyFieldListFilter))
    exclude = ("number_hash",)


@admin.register(Connection)
class ConnectionAdmin(ReadOnly):
    """Agents that may act for an account."""

    list_display = (
        "id",
        "account",
        "name",
        "created_at",
        "last_used_at",
        "deactivated_at",
        "revoked_at",
        "braked_until",
    )
    search_fields = ("=account__id", "name", "client_id")
    list_select_related = ("account",)


@admin.register(Letter)
class LetterAdmin(ReadOnly):
    """E-mails to owners, and whether they left."""

    list_display = ("id", "account", "kind", "created_at", "claimed_at", "sent_at")
    list_filter = ("kind", ("sent_at", admin.EmptyFieldListFilter))
    list_select_related = ("account",)
