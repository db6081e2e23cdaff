"""Whether an account may act at all: suspended and lifted by staff or a dispute, closed, paused until verified."""

from datetime import datetime

from django.conf import settings

from accounts import letters
from accounts.locking import require_locked
from accounts.models import Account
from breakpass.errors import Refusal


def refuse_inactive(account: Account) -> None:
    """ACCOUNT_SUSPENDED for a suspended or closed account (seed 001, Errors)."""
    if account.status == Account.Status.CLOSED:
        raise Refusal("ACCOUNT_SUSPENDED", f"This {settings.SERVICE_NAME} account is closed.")
    if account.status == Account.Status.SUSPENDED:
        raise Refusal("ACCOUNT_SUSPENDED", f"This {settings.SERVICE_NAME} account is suspended.")


def suspend(account: Account, *, reason: str, now: datetime) -> bool:
    """Stop an active account's sending; its tokens go on, to be told so. The owner gets a letter, without the reason.

    False when it was not active. Needs the locked account.
    """
    require_locked(account)
    if account.status != Account.Status.ACTIVE:
        return False
    _set(account, Account.Status.SUSPENDED, reason)
    _tell(account, "account_suspended", "is suspended", "No alerts are sent from it until this is lifted.", now)
    return True


def lift_suspension(account: Account, *, now: datetime) -> bool:
    """Let a suspended account send again. False when it was not suspended. Needs the locked account."""
    require_locked(account)
    if account.status != Account.Status.SUSPENDED:
        return False
    _set(account, Account.Status.ACTIVE, "")
    _tell(account, "suspension_lifted", "can send again", "Alerts are sent from it again.", now)
    return True


def close(account: Account, *, reason: str = "", now: datetime) -> bool:
    """Close an account for good: reading ends too. False when it was closed. Needs the locked account."""
    require_locked(account)
    if account.status == Account.Status.CLOSED:
        return False
    _set(account, Account.Status.CLOSED, reason)
    _tell(account, "account_closed", "is closed", "No alerts are sent from it any more.", now)
    return True


def pause_until_verified(account: Account) -> bool:
    """Refuse sends until a number is verified again (behaviour, Accounts). False when they were. Needs the lock."""
    require_locked(account)
    if account.is_paused_until_verified:
        return False
    account.is_paused_until_verified = True
    account.save(update_fields=["is_paused_until_verified"])
    return True


def _set(account: Account, status: Account.Status, reason: str) -> None:
    account.status = status
    account.status_reason = reason[:200]
    account.save(update_fields=["status", "status_reason"])


def _tell(account: Account, kind: str, what: str, meaning: str, now: datetime) -> None:
    service = settings.SERVICE_NAME
    letters.write(
        account,
        kind=kind,
        subject=f"Your {service} account {what}",
        body=f"Your {service} account {what}. {meaning}\n\nQuestions: {settings.SUPPORT_EMAIL}\n",
        now=now,
    )
