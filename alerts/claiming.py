"""The claim: one short unit of work that decides at the last moment whether an attempt goes (architecture, rule 4)."""

from dataclasses import dataclass
from datetime import datetime

from accounts import ledger, pauses
from accounts.locking import lock_holder, locked
from accounts.models import Account, Holder
from alerts import timers
from alerts.carriers.base import Outgoing
from alerts.carriers.reasons import REASONS
from alerts.closing import SKIP_CODES, close, skip
from alerts.models import Alert, Attempt
from alerts.moves import move_attempt, note
from alerts.outgoing import compose, fits_as_sms
from alerts.progress import end_at_deadline, follow, tried_of
from alerts.states import AlertStatus, AttemptStatus
from breakpass.errors import Refusal
from workflows import engine

# Flags that take WhatsApp out of use without pausing what would have used it.
WHATSAPP_CLOSED = frozenset({"whatsapp_capacity", "whatsapp_not_live"})
STOPPING = frozenset(reason.code for reason in REASONS.values() if reason.stops_channel)


@dataclass(frozen=True, slots=True)
class Skip:
    """It does not go, now or later: the attempt's failure code and reason."""

    code: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Later:
    """It may go, but the line is busy until then."""

    at: datetime


def claim(attempt_id: int, now: datetime) -> Outgoing | None:
    """Commit a due attempt as `sending` and give back its request; None when there is nothing to send.

    Repeatable and safe at once with itself: only one caller gets the request, and it is for that caller to send it,
    once. What is in the way is settled here: skipped with its code, moved to SMS, or put off until the line is free.
    """
    found = Attempt.objects.filter(pk=attempt_id, status=AttemptStatus.SCHEDULED, due_at__lte=now)
    keys = found.values_list("account_id", "holder_id").first()
    if keys is None:
        return None
    with locked(keys[0]) as account:
        holder = lock_holder(keys[1])
        attempt = found.select_related("alert__number").first()
        if attempt is None:
            return None
        alert = attempt.alert
        alert.account, alert.holder, attempt.holder = account, holder, holder
        if alert.number is not None:
            alert.number.holder = holder
        verdict = _decide(account, holder, alert, attempt, now)
        if isinstance(verdict, Later):
            note(attempt, due_at=verdict.at)
            return None
        if verdict is None:
            verdict = _hold(account, attempt, now)
        outgoing = compose(attempt, now) if verdict is None else None
        if outgoing is None:
            _pass_over(account, alert, attempt, verdict or Skip("CHANNEL_UNAVAILABLE"), now)
            return None
        move_attempt(
            attempt,
            AttemptStatus.SENDING,
            claimed_at=now,
            due_at=now + timers.LOST_AFTER,
            tries=attempt.tries + 1,
        )
        if attempt.channel == "call":
            holder.live_call, holder.live_call_until = str(attempt.ref), timers.line_busy_until(attempt, now)
            holder.save(update_fields=["live_call", "live_call_until"])
        return outgoing


def _decide(account: Account, holder: Holder, alert: Alert, attempt: Attempt, now: datetime) -> Skip | Later | None:
    """Why the attempt must not go now; None when it may. May move a message from WhatsApp to SMS."""
    if alert.ended_at is not None:
        return Skip(alert.failure_code or SKIP_CODES[AlertStatus(alert.status)])
    if now >= alert.expires_at:
        return Skip(engine.DEADLINE_PASSED)
    siblings = list(Attempt.objects.filter(alert=alert).order_by("seq"))
    elapsed_min = (now - alert.created_at).total_seconds() / 60
    code = engine.superseded(alert.plan, tried_of(siblings), elapsed_min=elapsed_min).get(attempt.seq)
    if code is not None:
        return Skip(code)
    if account.status != Account.Status.ACTIVE or account.is_paused_until_verified:
        return Skip("ACCOUNT_SUSPENDED")
    if alert.number is None:
        return Skip("CHANNEL_UNAVAILABLE")
    if alert.number.is_opted_out():
        return Skip("RECIPIENT_OPTED_OUT", "R05")
    stops = pauses.open_pauses(account)
    if attempt.channel == "whatsapp" and _is_whatsapp_gone(holder, siblings, stops):
        moved = _move_to_sms(alert, attempt)
        if moved is not None:
            return moved
    if pauses.pause_flag(stops, channel=attempt.channel, country=holder.country) is not None:
        return Skip("SERVICE_PAUSED")
    stopped = _stopped_by(siblings, attempt.channel)
    if stopped:
        return Skip("CHANNEL_UNAVAILABLE", stopped)
    if attempt.channel == "call" and holder.has_live_call(now) and holder.live_call_until is not None:
        return Later(holder.live_call_until)
    return None


def _is_whatsapp_gone(holder: Holder, siblings: list[Attempt], stops: pauses.OpenPauses) -> bool:
    """Whether WhatsApp was lost since the alert was accepted: not there, blocked by the person, or switched off."""
    return (
        holder.whatsapp == Holder.Whatsapp.NO
        or holder.whatsapp_paused_at is not None
        or bool(_stopped_by(siblings, "whatsapp"))
        or bool(WHATSAPP_CLOSED & stops.flags)
    )


def _stopped_by(siblings: list[Attempt], channel: str) -> str:
    """The reason for which this alert does not try a channel again (behaviour, Failure reasons), or nothing."""
    failed = (one for one in siblings if one.channel == channel and one.status == AttemptStatus.FAILED)
    return next((one.failure_reason for one in failed if one.failure_reason in STOPPING), "")


def _move_to_sms(alert: Alert, attempt: Attempt) -> Skip | None:
    """Send a workflow's message by SMS instead, at no more than what is held for it already."""
    # A direct WhatsApp message is what its agent asked for: it never turns into something else.
    if not alert.workflow_key or "sms" not in alert.plan.prices:
        return Skip("CHANNEL_UNAVAILABLE")
    if not fits_as_sms(alert, attempt.reminder):
        return Skip("TEXT_TOO_LONG")
    price_cents = alert.plan.price_of("sms").full_cents
    if attempt.held_at is not None:
        price_cents = min(price_cents, attempt.price_cents)
    note(attempt, channel="sms", price_cents=price_cents)
    return None


def _hold(account: Account, attempt: Attempt, now: datetime) -> Skip | None:
    """Hold the price of a later step, now that it is due."""
    if attempt.held_at is not None:
        return None
    try:
        ledger.hold(account, [ledger.HoldRequest(attempt.ledger_ref, attempt.price_cents)], now=now)
    except Refusal as refusal:
        return Skip(refusal.code)
    note(attempt, held_at=now)
    return None


def _pass_over(account: Account, alert: Alert, attempt: Attempt, verdict: Skip, now: datetime) -> None:
    """Skip the attempt, and see what that means for its alert."""
    if verdict.code == "RECIPIENT_OPTED_OUT":
        # Nothing may reach the person any more: the alert is over with all its steps.
        skip(account, [attempt], code=verdict.code, reason=verdict.reason, now=now)
        close(account, alert, to=AlertStatus.FAILED, now=now, failure_code=verdict.code, failure_reason=verdict.reason)
        return
    if verdict.code == engine.DEADLINE_PASSED and end_at_deadline(account, alert, now=now):
        return
    skip(account, [attempt], code=verdict.code, reason=verdict.reason, now=now)
    follow(account, alert, now=now)
