"""What an attempt costs in the end: every hold is settled once, by the attempt's status (behaviour, Money)."""

from datetime import datetime

from accounts import ledger
from accounts.models import Account
from alerts.carriers.reasons import REASONS
from alerts.models import Attempt
from alerts.moves import note
from alerts.states import REACHED, AttemptStatus

NOT_PICKED_UP = frozenset({AttemptStatus.NO_ANSWER, AttemptStatus.BUSY})


def settle(account: Account, attempt: Attempt, *, now: datetime) -> None:
    """Capture or release what is held for an attempt that ended; nothing when it was settled, or never held.

    Needs the locked account and `attempt.alert`.
    """
    if attempt.settlement or attempt.held_at is None:
        return
    if attempt.status in REACHED:
        _charge(account, attempt, attempt.price_cents, Attempt.Settlement.CHARGED, now)
    elif attempt.status in NOT_PICKED_UP:
        _charge(account, attempt, attempt.reduced_cents, Attempt.Settlement.REDUCED, now)
    elif attempt.status == AttemptStatus.FAILED and is_charged_when_failed(attempt):
        _charge(account, attempt, attempt.price_cents, Attempt.Settlement.CHARGED, now)
    elif attempt.status in (AttemptStatus.FAILED, AttemptStatus.SKIPPED):
        ledger.release(account, ref=attempt.ledger_ref, now=now)
        note(attempt, settlement=Attempt.Settlement.RELEASED, settled_at=now)


def is_charged_when_failed(attempt: Attempt) -> bool:
    """A text blocked as spam, of an alert accepted after the day's fifth failed send."""
    reason = REASONS.get(attempt.failure_reason)
    return reason is not None and reason.money == "release_or_charge" and attempt.alert.charges_spam_blocks


def give_back(account: Account, attempt: Attempt, *, now: datetime) -> None:
    """Return the price of an SMS that was counted as delivered without a receipt and failed after all."""
    if attempt.settlement != Attempt.Settlement.CHARGED or is_charged_when_failed(attempt):
        return
    if attempt.charged_cents:
        ledger.adjust(
            account, amount_cents=attempt.charged_cents, ref=attempt.ledger_ref, note="failed after all", now=now
        )
    note(attempt, settlement=Attempt.Settlement.RELEASED, settled_at=now, charged_cents=0)


def _charge(
    account: Account, attempt: Attempt, amount_cents: int, settlement: Attempt.Settlement, now: datetime
) -> None:
    charged = ledger.capture(account, ref=attempt.ledger_ref, amount_cents=amount_cents, now=now)
    note(attempt, settlement=settlement, settled_at=now, charged_cents=charged)
