"""Plans: how many numbers an account may have, and whether account-wide caps are lifted."""

from datetime import datetime
from typing import Final

from accounts.locking import require_locked
from accounts.models import Account, Plan
from accounts.numbers import recount_plan
from breakpass.errors import Refusal

# name: (is it paid, numbers)
DEFAULTS: Final = {"Free": (False, 3), "Plus": (True, 10)}


def ensure_plans() -> None:
    """Make the default plans that are missing; plans that are there stay as staff left them."""
    for name, (is_paid, number_cap) in DEFAULTS.items():
        Plan.objects.get_or_create(name=name, defaults={"is_paid": is_paid, "number_cap": number_cap})


def plan_named(name: str) -> Plan:
    """The plan of that name, in any case. Refuses PLAN_NOT_FOUND, naming the plans there are."""
    ensure_plans()
    plan = Plan.objects.filter(name__iexact=name.strip()).first()
    if plan is None:
        names = ", ".join(Plan.objects.order_by("name").values_list("name", flat=True))
        raise Refusal("PLAN_NOT_FOUND", f"There is no plan of that name. The plans are: {names}.")
    return plan


def set_plan(account: Account, plan: Plan | None, *, now: datetime) -> None:
    """Move an account to a plan, or to none, and pause or free numbers by its cap. Needs the locked account."""
    require_locked(account)
    account.plan = plan
    account.save(update_fields=["plan"])
    recount_plan(account, now=now)
