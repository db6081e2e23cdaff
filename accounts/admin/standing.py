"""Staff on accounts: their standing, plan, caps, and pauses of sending."""

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts import pauses, plans, standing
from accounts.admin.base import Inline, ReadOnly, Rows, each_locked, tell
from accounts.locking import locked
from accounts.models import (
    Account,
    Member,
    Pause,
    Plan,
)
from accounts.numbers import recount_plan

REASON = "by staff in the admin"


class MemberInline(Inline):
    """Who signs in to an account."""

    model = Member
    extra = 0
    can_delete = False
    readonly_fields = ("user", "is_owner", "created_at")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Signing up does that."""
        return False


@admin.register(Account)
class AccountAdmin(ReadOnly):
    """Accounts: their standing, plan, caps and money."""

    list_display = ("id", "owner_name", "status", "plan", "balance_cents", "reserved_cents", "first_payment_at")
    list_filter = ("status", "plan", "is_paused_until_verified")
    search_fields = ("=id", "owner_name", "members__user__email")
    inlines = (MemberInline,)
    editable = ("plan", "max_price_cents", "has_new_account_caps_lifted", "holder_calls_per_hour")
    actions = ("suspend", "lift_suspension", "close", "pause_until_verified", "pause_sending", "resume_sending")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Plan and caps can be changed; the rest moves by actions."""
        return request.user.has_perm("accounts.change_account")

    def has_close_permission(self, request: HttpRequest) -> bool:
        """Who might delete, had accounts not to be kept."""
        return request.user.has_perm("accounts.delete_account")

    def get_readonly_fields(self, request: HttpRequest, obj: Account | None = None) -> list[str]:
        """All but the few that staff set."""
        return [field.name for field in Account._meta.fields if field.name not in self.editable]

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        """Under the lock, only what was changed, and the numbers counted against the plan again."""
        changed = [name for name in form.changed_data if name in self.editable]
        with locked(obj.pk) as account:
            for name in changed:
                setattr(account, name, getattr(obj, name))
            account.save(update_fields=changed)
            if "plan" in changed:
                plans.set_plan(account, account.plan, now=timezone.now())

    @admin.action(description="Suspend", permissions=["change"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        """Refuse their sends until lifted."""
        now = timezone.now()
        done = each_locked(queryset, lambda account: standing.suspend(account, reason=REASON, now=now))
        tell(request, done, "suspended")

    @admin.action(description="Lift suspension", permissions=["change"])
    def lift_suspension(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        """Let them send again."""
        now = timezone.now()
        tell(request, each_locked(queryset, lambda account: standing.lift_suspension(account, now=now)), "lifted")

    @admin.action(description="Close for good", permissions=["close"])
    def close(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        """End them."""
        now = timezone.now()
        done = each_locked(queryset, lambda account: standing.close(account, reason=REASON, now=now))
        tell(request, done, "closed")

    @admin.action(description="Pause sends until a number is verified", permissions=["change"])
    def pause_until_verified(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        """Refuse their sends until the next verification."""
        done = each_locked(queryset, standing.pause_until_verified)
        tell(request, done, "paused until a number is verified")

    @admin.action(description="Pause sending (SERVICE_PAUSED, account)", permissions=["change"])
    def pause_sending(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        """A pause of these accounts."""
        now = timezone.now()
        done = each_locked(
            queryset, lambda account: bool(pauses.pause("account", reason=REASON, account=account, now=now))
        )
        tell(request, done, "paused")

    @admin.action(description="Resume sending", permissions=["change"])
    def resume_sending(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        """Lift the pause of these accounts."""
        now = timezone.now()
        done = each_locked(queryset, lambda account: pauses.resume("account", account=account, now=now))
        tell(request, done, "resumed")


@admin.register(Plan)
class PlanAdmin(Rows):
    """Plans; a new cap counts for the accounts that are on it at once."""

    list_display = ("name", "is_paid", "number_cap")

    def save_model(self, request: HttpRequest, obj: Plan, form: Any, change: bool) -> None:
        """Save, and pause or free numbers by the new cap."""
        super().save_model(request, obj, form, change)
        if "number_cap" in form.changed_data:
            now = timezone.now()
            for pk in Account.objects.filter(plan=obj).order_by("pk").values_list("pk", flat=True):
                with locked(pk) as account:
                    recount_plan(account, now=now)


@admin.register(Pause)
class PauseAdmin(ReadOnly):
    """Stops on sending; set by the command `pause_sending` or on an account, lifted here."""

    list_display = ("id", "flag", "countries", "account", "reason", "created_at", "lifted_at")
    list_filter = ("flag", ("lifted_at", admin.EmptyFieldListFilter))
    list_select_related = ("account",)
    actions = ("lift",)

    @admin.action(description="Lift", permissions=["lift"])
    def lift(self, request: HttpRequest, queryset: QuerySet[Pause]) -> None:
        """Let sending go on."""
        tell(request, queryset.filter(lifted_at=None).update(lifted_at=timezone.now()), "lifted")

    def has_lift_permission(self, request: HttpRequest) -> bool:
        """Who may change pauses."""
        return request.user.has_perm("accounts.change_pause")
