"""The one door through which an alert ends: unsent attempts are skipped, and their holds released."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from accounts import ledger
from accounts.models import Account
from alerts.models import Alert, Attempt
from alerts.moves import move_alert
from alerts.states import AlertStatus, AttemptStatus

# What the steps that were not sent any more say about it (behaviour, Alerts).
SKIP_CODES = {
    AlertStatus.DELIVERED: "SUPERSEDED",
    AlertStatus.ACKNOWLEDGED: "ACKNOWLEDGED",
    AlertStatus.CANCELLED: "CANCELLED",
    AlertStatus.EXPIRED: "DEADLINE_PASSED",
}


def close(
    account: Account,
    alert: Alert,
    *,
    to: str,
    now: datetime,
    failure_code: str = "",
    failure_reason: str = "",
    skip_code: str = "",
    **fields: Any,
) -> bool:
    """End an open alert as `to` and skip what is unsent; False when it had ended. Needs the locked account.

    A failed alert says why in `failure_code`, which its unsent attempts carry too unless `skip_code` says otherwise.
    `fields` are further columns of the alert (`acknowledged_at`, `cancelled_by`, …). An attempt in flight may finish;
    its money settles by its own outcome.
    """
    if not move_alert(alert, to, ended_at=now, failure_code=failure_code, failure_reason=failure_reason, **fields):
        return False
    unsent = list(Attempt.objects.filter(alert=alert, status=AttemptStatus.SCHEDULED).order_by("seq"))
    skip(account, unsent, code=skip_code or failure_code or SKIP_CODES[AlertStatus(to)], now=now)
    return True


def skip(account: Account, unsent: Sequence[Attempt], *, code: str, reason: str = "", now: datetime) -> int:
    """Mark scheduled attempts as never sent and release their holds; how many. Needs the locked account."""
    if not unsent:
        return 0
    keys = [attempt.pk for attempt in unsent]
    skipped = Attempt.objects.filter(pk__in=keys, status=AttemptStatus.SCHEDULED).update(
        status=AttemptStatus.SKIPPED, failure_code=code, failure_reason=reason, due_at=None, ended_at=now
    )
    held = [attempt for attempt in unsent if attempt.held_at is not None and not attempt.settlement]
    if held:
        ledger.release_all(account, [attempt.ledger_ref for attempt in held], now=now)
        Attempt.objects.filter(pk__in=[attempt.pk for attempt in held], settlement="").update(
            settlement=Attempt.Settlement.RELEASED, settled_at=now
        )
    for attempt in unsent:
        attempt.status, attempt.failure_code, attempt.failure_reason = AttemptStatus.SKIPPED, code, reason
        attempt.due_at, attempt.ended_at = None, now
        if attempt in held:
            attempt.settlement, attempt.settled_at = Attempt.Settlement.RELEASED, now
    return skipped
