"""The only place where money moves: an append-only ledger in whole US cents, and the balances cached over it.

Every function that writes needs the account of `with locked(...)`, and keeps its cached balances true, on the instance
as in the row. A hold settles exactly once, by capture or release (architecture, rule 5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Coalesce

from accounts.locking import locked, require_locked
from accounts.models import Account, LedgerEntry
from breakpass.errors import Refusal
from breakpass.times import day_start

# How entries about an alert's attempt are named; `Attempt.ledger_ref` adds its own id.
ATTEMPT_REF = "attempt:"


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """Money to keep for one thing, which `ref` names ("attempt:<ref>")."""

    ref: str
    amount_cents: int


def top_up(account: Account, *, amount_cents: int, ref: str, now: datetime, note: str = "") -> LedgerEntry:
    """Add money. The same `ref` twice is a bug, which the database refuses."""
    require_locked(account)
    if amount_cents <= 0:
        raise ValueError("a top-up adds money")
    entry = LedgerEntry.objects.create(
        account=account,
        kind=LedgerEntry.Kind.TOP_UP,
        balance_delta_cents=amount_cents,
        reserved_delta_cents=0,
        ref=ref,
        note=note,
        created_at=now,
    )
    _move(account, balance_cents=amount_cents)
    return entry


def hold(account: Account, requests: Sequence[HoldRequest], *, now: datetime) -> None:
    """Keep money for all of the requests or for none. Refuses INSUFFICIENT_BALANCE (seed 001, Errors)."""
    require_locked(account)
    if any(request.amount_cents < 0 for request in requests):
        raise ValueError("a hold keeps money")
    if not requests:
        return
    total_cents = sum(request.amount_cents for request in requests)
    if total_cents > account.available_cents:
        raise insufficient(account, price_cents=total_cents)
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            account=account,
            kind=LedgerEntry.Kind.HOLD,
            balance_delta_cents=0,
            reserved_delta_cents=request.amount_cents,
            ref=request.ref,
            created_at=now,
        )
        for request in requests
    )
    _move(account, reserved_cents=total_cents)


def insufficient(account: Account, *, price_cents: int) -> Refusal:
    """INSUFFICIENT_BALANCE: what it would take, and what can be spent. Without a link (seed 001, Errors)."""
    return Refusal(
        "INSUFFICIENT_BALANCE",
        "The available balance doesn't cover this alert. "
        f"The owner can add balance in their {settings.SERVICE_NAME} account.",
        details={"price_cents": price_cents, "balance_cents": account.available_cents},
    )


def capture(account: Account, *, ref: str, amount_cents: int, now: datetime) -> int:
    """Settle the hold of `ref`: charge `amount_cents` of it, release the rest. Cents charged; 0 without open hold."""
    require_locked(account)
    kept = _open_holds(account, [ref]).first()
    if kept is None:
        return 0
    held_cents = kept.reserved_delta_cents
    if not 0 <= amount_cents <= held_cents:
        raise ValueError("a capture takes no more than was held")
    LedgerEntry.objects.create(
        account=account,
        kind=LedgerEntry.Kind.CAPTURE,
        balance_delta_cents=-amount_cents,
        reserved_delta_cents=-held_cents,
        ref=ref,
        settles=kept,
        created_at=now,
    )
    _move(account, balance_cents=-amount_cents, reserved_cents=-held_cents)
    return amount_cents


def release(account: Account, *, ref: str, now: datetime) -> bool:
    """Give the hold of `ref` back. False when there is no open hold."""
    return release_all(account, [ref], now=now) == 1


def release_all(account: Account, refs: Sequence[str], *, now: datetime) -> int:
    """Give back whichever of these holds are open. How many were."""
    require_locked(account)
    kept = list(_open_holds(account, refs)) if refs else []
    if not kept:
        return 0
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            account=account,
            kind=LedgerEntry.Kind.RELEASE,
            balance_delta_cents=0,
            reserved_delta_cents=-entry.reserved_delta_cents,
            ref=entry.ref,
            settles=entry,
            created_at=now,
        )
        for entry in kept
    )
    _move(account, reserved_cents=-sum(entry.reserved_delta_cents for entry in kept))
    return len(kept)


def adjust(account: Account, *, amount_cents: int, ref: str, note: str, now: datetime) -> bool:
    """Correct the balance by a signed amount, once per `ref`; False when that was done before.

    Refuses INSUFFICIENT_BALANCE when it would take more than can be spent.
    """
    require_locked(account)
    if account.entries.filter(kind=LedgerEntry.Kind.ADJUST, ref=ref).exists():
        return False
    if -amount_cents > account.available_cents:
        raise insufficient(account, price_cents=-amount_cents)
    LedgerEntry.objects.create(
        account=account,
        kind=LedgerEntry.Kind.ADJUST,
        balance_delta_cents=amount_cents,
        reserved_delta_cents=0,
        ref=ref,
        note=note,
        created_at=now,
    )
    _move(account, balance_cents=amount_cents)
    return True


def spent_today_cents(account: Account, now: datetime) -> int:
    """What alerts cost in the UTC day of `now`, net of what was given back for them; never below 0 (one query)."""
    day = day_start(now)
    spent = account.entries.filter(
        kind__in=[LedgerEntry.Kind.CAPTURE, LedgerEntry.Kind.ADJUST],
        ref__startswith=ATTEMPT_REF,
        created_at__gte=day,
        created_at__lt=day + timedelta(days=1),
    ).aggregate(delta=Sum("balance_delta_cents"))["delta"]
    return max(0, -(spent or 0))


def find_differences() -> list[dict[str, Any]]:
    """What does not add up, account by account; empty when all does (`checkledger`).

    Cached balances against the ledger's sums, open holds against attempts that are held and not settled. Whatever looks
    wrong is looked at again under its account's lock, so traffic does not show as a difference.
    """
    sums = Account.objects.annotate(
        balance_sum=Coalesce(Sum("entries__balance_delta_cents"), 0),
        reserved_sum=Coalesce(Sum("entries__reserved_delta_cents"), 0),
    )
    suspects = set(
        sums.exclude(balance_cents=F("balance_sum"), reserved_cents=F("reserved_sum")).values_list("pk", flat=True)
    )
    holds = LedgerEntry.objects.filter(kind=LedgerEntry.Kind.HOLD, settlement=None, ref__startswith=ATTEMPT_REF)
    held = set(holds.values_list("account_id", "ref"))
    # By the reverse relation's name: alerts stand above accounts and are not imported.
    open_attempts = Account.objects.filter(attempts__held_at__isnull=False, attempts__settlement="")
    running = {(pk, f"{ATTEMPT_REF}{ref}") for pk, ref in open_attempts.values_list("pk", "attempts__ref")}
    suspects |= {pk for pk, _ in held ^ running}
    found: list[dict[str, Any]] = []
    for pk in sorted(suspects):
        with locked(pk) as account:
            found += _differences_of(account)
    return found


def _differences_of(account: Account) -> list[dict[str, Any]]:
    sums = account.entries.aggregate(balance=Sum("balance_delta_cents"), reserved=Sum("reserved_delta_cents"))
    found: list[dict[str, Any]] = [
        {"account_id": account.pk, "problem": name, "cached_cents": cached, "ledger_cents": sums[name] or 0}
        for name, cached in (("balance", account.balance_cents), ("reserved", account.reserved_cents))
        if cached != (sums[name] or 0)
    ]
    open_holds = account.entries.filter(kind=LedgerEntry.Kind.HOLD, settlement=None, ref__startswith=ATTEMPT_REF)
    held = set(open_holds.values_list("ref", flat=True))
    open_attempts = account.attempts.filter(held_at__isnull=False, settlement="")
    running = {f"{ATTEMPT_REF}{ref}" for ref in open_attempts.values_list("ref", flat=True)}
    found += [
        {"account_id": account.pk, "problem": "hold without attempt", "ref": ref} for ref in sorted(held - running)
    ]
    found += [
        {"account_id": account.pk, "problem": "attempt without hold", "ref": ref} for ref in sorted(running - held)
    ]
    return found


def _open_holds(account: Account, refs: Sequence[str]) -> QuerySet[LedgerEntry]:
    return account.entries.filter(kind=LedgerEntry.Kind.HOLD, ref__in=refs, settlement=None).order_by("pk")


def _move(account: Account, *, balance_cents: int = 0, reserved_cents: int = 0) -> None:
    """Both caches at once; the database refuses what can never be (reserved below 0, or above the balance)."""
    Account.objects.filter(pk=account.pk).update(
        balance_cents=F("balance_cents") + balance_cents, reserved_cents=F("reserved_cents") + reserved_cents
    )
    account.balance_cents += balance_cents
    account.reserved_cents += reserved_cents
