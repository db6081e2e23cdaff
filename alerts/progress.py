"""What follows from a change of an attempt: the engine decides, this carries it out (workflows.engine)."""

from collections.abc import Sequence
from datetime import datetime

from accounts.models import Account
from alerts.carriers.reasons import REASONS
from alerts.closing import close
from alerts.models import Alert, Attempt
from alerts.moves import move_alert, move_attempt
from alerts.outgoing import fits_as_sms
from alerts.settling import settle
from alerts.states import IN_FLIGHT, OPEN_ALERT, REACHED, AlertStatus, AttemptStatus
from alerts.waking import wake
from workflows import engine

# Certain: the carrier itself said that it was not delivered, or it was never handed over. An outcome that stayed
# unknown (PROVIDER_ERROR) may have reached the phone: no second text then.
CONFIRMED = frozenset({"DELIVERY_FAILED", "TEMPLATE_MISMATCH"})
# A number blocked on WhatsApp alone, and the carrier's own errors: the table's words, but another message may go.
FALLBACK_ANYWAY = frozenset({"R05", "R13"})


def tried_of(attempts: Sequence[Attempt]) -> list[engine.Tried]:
    """The attempts of one alert as the engine reads them."""
    return [
        engine.Tried(
            seq=one.seq,
            kind=one.kind,
            channel=one.channel,
            status=one.status,
            failure_code=one.failure_code,
            failure_reason=one.failure_reason,
            allows_fallback=_allows_fallback(one),
            offset_min=one.offset_min,
        )
        for one in attempts
    ]


def _allows_fallback(attempt: Attempt) -> bool:
    if attempt.failure_code not in CONFIRMED:
        return False
    reason = REASONS.get(attempt.failure_reason)
    return attempt.failure_reason in FALLBACK_ANYWAY or (reason is not None and reason.allows_fallback)


def follow(account: Account, alert: Alert, *, now: datetime) -> None:
    """Carry on with an open alert after one of its attempts changed: wait, send the one fallback, or end it.

    Needs the locked account. Does nothing for an alert that has ended.
    """
    if alert.ended_at is not None or alert.status not in OPEN_ALERT:
        return
    attempts = list(Attempt.objects.filter(alert=alert).order_by("seq"))
    if alert.requires_ack and any(one.status in REACHED for one in attempts):
        move_alert(alert, AlertStatus.DELIVERED)
    tried = tried_of(attempts)
    candidate = engine.replaceable(alert.plan, tried) if now < alert.expires_at else None
    fits = candidate is not None and fits_as_sms(alert, _of_seq(attempts, candidate.seq).reminder)
    match engine.decide(alert.plan, tried, fallback_fits=fits):
        case engine.Send() as send if candidate is not None:
            _add_fallback(account, alert, _of_seq(attempts, candidate.seq), send, now)
        case engine.Finish() as finish:
            _finish(account, alert, finish, now)


def end_at_deadline(account: Account, alert: Alert, *, now: datetime) -> bool:
    """End an open alert whose time is up: messages still on their way fail with R14, the rest is skipped.

    Needs the locked account. False when it had ended, or its time is not up. A call in flight may finish.
    """
    if alert.ended_at is not None or now < alert.expires_at:
        return False
    attempts = list(Attempt.objects.filter(alert=alert).order_by("seq"))
    for attempt in attempts:
        attempt.alert = alert
        if attempt.channel != "call" and attempt.status in IN_FLIGHT:
            fail_late(account, attempt, now=now)
    finish = engine.at_deadline(alert.plan, tried_of(attempts))
    return _finish(account, alert, finish, now, skip_code=engine.DEADLINE_PASSED)


def fail_late(account: Account, attempt: Attempt, *, now: datetime) -> bool:
    """A message not delivered by its alert's deadline: R14, released; what comes later is recorded, not charged.

    One that the carrier never said a word about has an unknown outcome (R13), and staff should look.
    """
    is_known = bool(attempt.carrier_sid)
    moved = move_attempt(
        attempt,
        AttemptStatus.FAILED,
        failure_code=engine.DELIVERY_FAILED if is_known else "PROVIDER_ERROR",
        failure_reason=engine.TOO_LATE_REASON if is_known else "R13",
        flagged_at=attempt.flagged_at if is_known else now,
        ended_at=now,
        due_at=None,
    )
    if moved:
        settle(account, attempt, now=now)
    return moved


def _finish(account: Account, alert: Alert, finish: engine.Finish, now: datetime, *, skip_code: str = "") -> bool:
    return close(
        account,
        alert,
        to=finish.status,
        now=now,
        failure_code=finish.failure_code,
        failure_reason=finish.failure_reason,
        skip_code=skip_code,
    )


def _add_fallback(account: Account, alert: Alert, failed: Attempt, send: engine.Send, now: datetime) -> None:
    """The one SMS in place of a WhatsApp message that failed; its money is held when it is claimed."""
    fallback = Attempt.objects.create(
        alert=alert,
        account=account,
        holder_id=alert.holder_id,
        seq=send.seq,
        offset_min=send.offset_min,
        kind=Attempt.Kind.FALLBACK,
        channel=send.channel,
        reminder=failed.reminder,
        scheduled_at=now,
        due_at=now,
        price_cents=0 if alert.is_setup_test else alert.plan.price_of(send.channel).full_cents,
    )
    wake([fallback.pk])


def _of_seq(attempts: Sequence[Attempt], seq: int) -> Attempt:
    return next(one for one in attempts if one.seq == seq)
