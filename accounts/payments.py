"""Payments: noted, confirmed by staff (which tops the account up), refused, disputed (behaviour, Money)."""

from datetime import datetime

from accounts import ledger, standing
from accounts.locking import require_locked
from accounts.models import Account, Payment, User
from breakpass.errors import Refusal


def record(account: Account, *, amount_cents: int, method: str, external_ref: str, now: datetime) -> Payment:
    """Note a payment that is to be confirmed. The same external reference of a method is the same payment."""
    require_locked(account)
    if amount_cents <= 0:
        raise ValueError("a payment brings money")
    if external_ref:
        known = Payment.objects.filter(method=method, external_ref=external_ref).first()
        if known is not None:
            if known.account_id != account.pk:
                raise Refusal("PAYMENT_ELSEWHERE", "This payment reference belongs to another account.")
            return known
    return Payment.objects.create(
        account=account, amount_cents=amount_cents, method=method, external_ref=external_ref, created_at=now
    )


def confirm(account: Account, payment: Payment, *, by: User | None, now: datetime) -> bool:
    """The money arrived: top the account up; the first one starts its 7 days as a new account. Needs the lock.

    False when it was confirmed before, which changes nothing. Refuses PAYMENT_NOT_PENDING for any other status.
    """
    fresh = _fresh(account, payment)
    if fresh.status == Payment.Status.CONFIRMED:
        return False
    _require(fresh, Payment.Status.PENDING)
    ledger.top_up(account, amount_cents=fresh.amount_cents, ref=f"payment:{fresh.pk}", now=now)
    payment.status = Payment.Status.CONFIRMED
    payment.confirmed_at = now
    payment.confirmed_by = by
    payment.save(update_fields=["status", "confirmed_at", "confirmed_by"])
    if account.first_payment_at is None:
        account.first_payment_at = now
        account.save(update_fields=["first_payment_at"])
    return True


def refuse(account: Account, payment: Payment) -> bool:
    """The money will not come. False when it was refused before. Refuses PAYMENT_NOT_PENDING. Needs the lock."""
    fresh = _fresh(account, payment)
    if fresh.status == Payment.Status.REFUSED:
        return False
    _require(fresh, Payment.Status.PENDING)
    payment.status = Payment.Status.REFUSED
    payment.save(update_fields=["status"])
    return True


def dispute(account: Account, payment: Payment, *, now: datetime) -> bool:
    """The payer disputes a confirmed payment: the account is suspended until staff lift that. Needs the locked account.

    False when it was disputed before. Refuses PAYMENT_NOT_CONFIRMED.
    """
    fresh = _fresh(account, payment)
    if fresh.status == Payment.Status.DISPUTED:
        return False
    _require(fresh, Payment.Status.CONFIRMED)
    payment.status = Payment.Status.DISPUTED
    payment.save(update_fields=["status"])
    standing.suspend(account, reason="payment dispute", now=now)
    return True


def _fresh(account: Account, payment: Payment) -> Payment:
    require_locked(account)
    return account.payments.get(pk=payment.pk)


def _require(payment: Payment, status: Payment.Status) -> None:
    if payment.status != status:
        raise Refusal(f"PAYMENT_NOT_{status.upper()}", f"This payment is {payment.status}, not {status.value}.")
