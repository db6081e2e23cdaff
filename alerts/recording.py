"""One report of the carrier, taken in under the locks: the event row, one move, the number's facts, the money."""

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from accounts.models import Account, Holder
from alerts import lines, timers
from alerts.carriers.base import Report
from alerts.carriers.reasons import Reason
from alerts.models import Attempt, CarrierEvent
from alerts.moves import move_alert, move_attempt, note
from alerts.progress import follow
from alerts.readings import Reading, read
from alerts.settling import give_back, settle
from alerts.states import ENDED_UNREACHED, REACHED, AlertStatus, AttemptStatus
from workflows import engine

PARAM_CHARS = 200


@dataclass(frozen=True, slots=True)
class Taken:
    """What a report did. `opts_out`: the carrier blocks every send to this number, so the person stopped us."""

    moved: bool = False
    opts_out: bool = False


def take(account: Account, holder: Holder, attempt: Attempt, report: Report, *, now: datetime) -> Taken:
    """Record a report once, and let it move its attempt if it is news. Needs both locks and `attempt.alert`."""
    fingerprint = report.fingerprint(str(attempt.ref))
    if CarrierEvent.objects.filter(fingerprint=fingerprint).exists():
        return Taken()
    if not _is_about(attempt, report):
        keep(report, fingerprint, now=now, attempt=attempt, is_flagged=True)
        return Taken()
    was = AttemptStatus(attempt.status)
    if was == AttemptStatus.SCHEDULED and attempt.tries:
        # We thought that the carrier had nothing; it has. Taken back before it can go a second time.
        move_attempt(attempt, AttemptStatus.SENDING, claimed_at=now)
    is_late = _note_sequence(attempt, report)
    reading = read(report, channel=attempt.channel, was_answered=attempt.answered_at is not None)
    # That a call is over holds whatever else was heard before: otherwise it would never end, and its hold never settle.
    counts = reading.is_over or not is_late
    moved = counts and reading.status is not None and _move(attempt, reading, now)
    contradicts = not moved and _contradicts(attempt, reading)
    keep(report, fingerprint, now=now, attempt=attempt, moved=moved, is_flagged=contradicts)
    if contradicts:
        note(attempt, flagged_at=attempt.flagged_at or now)
    _note_times(attempt, reading, moved, now)
    opts_out = moved and _learn(holder, attempt, reading.reason, now)
    if moved and was == AttemptStatus.DELIVERED_UNCONFIRMED and attempt.status == AttemptStatus.FAILED:
        give_back(account, attempt, now=now)
    elif moved:
        settle(account, attempt, now=now)
    if attempt.channel == "call" and attempt.ended_at is not None:
        lines.free(holder, attempt, now=now)
    if opts_out:
        _leave_stop_due(attempt, now)
    elif moved:
        follow(account, attempt.alert, now=now)
    return Taken(moved, opts_out)


def fail(
    account: Account, holder: Holder, attempt: Attempt, *, code: str, reason: Reason, now: datetime, flag: bool = False
) -> Taken:
    """An attempt that the carrier refused or never had: failed, settled, and the alert carried on. Needs both locks."""
    flagged_at = attempt.flagged_at or (now if flag or reason.tells_staff else None)
    moved = move_attempt(
        attempt,
        AttemptStatus.FAILED,
        failure_code=code,
        failure_reason=reason.code,
        ended_at=now,
        due_at=None,
        flagged_at=flagged_at,
    )
    if not moved:
        return Taken()
    opts_out = _learn(holder, attempt, reason, now)
    settle(account, attempt, now=now)
    if attempt.channel == "call":
        lines.free(holder, attempt, now=now)
    if opts_out:
        _leave_stop_due(attempt, now)
    else:
        follow(account, attempt.alert, now=now)
    return Taken(True, opts_out)


def keep(
    report: Report,
    fingerprint: str,
    *,
    now: datetime,
    attempt: Attempt | None = None,
    kind: str = "",
    moved: bool = False,
    is_flagged: bool = False,
) -> None:
    """Write the event row; a repeat at the same moment is the same row. Nothing of it is a number or a text."""
    event = CarrierEvent(
        attempt=attempt,
        kind=(kind or report.source)[:20],
        fingerprint=fingerprint,
        carrier_sid=report.sid[:40],
        status=report.status[:30],
        error_code=report.error_code,
        params={name: value[:PARAM_CHARS] for name, value in report.params.items()},
        received_at=now,
        moved=moved,
        is_flagged=is_flagged,
    )
    CarrierEvent.objects.bulk_create([event], ignore_conflicts=True)


def _is_about(attempt: Attempt, report: Report) -> bool:
    """Whether the carrier's id is this attempt's; the first id heard is adopted, whoever says it first."""
    if not report.sid or attempt.carrier_sid == report.sid:
        return True
    if attempt.carrier_sid:
        return False
    try:
        with transaction.atomic():
            note(attempt, carrier_sid=report.sid)
    except IntegrityError:
        # Another attempt has it.
        attempt.carrier_sid = ""
        return False
    return True


def _note_sequence(attempt: Attempt, report: Report) -> bool:
    """Whether something later was heard of this call before."""
    if report.sequence is None:
        return False
    if report.sequence <= attempt.last_sequence:
        return True
    note(attempt, last_sequence=report.sequence)
    return False


def _move(attempt: Attempt, reading: Reading, now: datetime) -> bool:
    status = reading.status
    assert status is not None
    fields: dict[str, object] = {}
    if status == AttemptStatus.FAILED:
        corrects = attempt.status == AttemptStatus.DELIVERED_UNCONFIRMED
        if corrects and attempt.settled_at is not None and now - attempt.settled_at > timers.CORRECTABLE_FOR:
            return False
        fields["failure_code"] = engine.DELIVERY_FAILED
    if reading.reason is not None:
        fields["failure_reason"] = reading.reason.code
        if reading.reason.tells_staff:
            fields["flagged_at"] = attempt.flagged_at or now
    if status in (AttemptStatus.NO_ANSWER, AttemptStatus.BUSY):
        fields["outcome"] = "not_picked_up"
    return move_attempt(attempt, status, **fields)


def _contradicts(attempt: Attempt, reading: Reading) -> bool:
    """Whether a report says otherwise than what is final. A late delivery after our own deadline is no surprise."""
    if reading.status is None or reading.status == attempt.status:
        return False
    if attempt.status in REACHED:
        return reading.status in ENDED_UNREACHED
    if attempt.status in ENDED_UNREACHED:
        is_own_deadline = attempt.failure_reason == engine.TOO_LATE_REASON
        return not is_own_deadline and reading.status in REACHED | ENDED_UNREACHED
    return False


def _note_times(attempt: Attempt, reading: Reading, moved: bool, now: datetime) -> None:
    """Fill the times that are known now, and set the timer for what is still to come; news alone sets it anew."""
    fields: dict[str, object] = {}
    if attempt.status in (AttemptStatus.DELIVERED, AttemptStatus.READ) and attempt.delivered_at is None:
        fields["delivered_at"] = now
    if reading.shows_answer and attempt.answered_at is None:
        fields["answered_at"] = now
    if attempt.status == AttemptStatus.ANSWERED and attempt.delivered_at is None:
        # "The call was answered" is a call's delivery (seed 001, Delivery and acknowledgement).
        fields["delivered_at"] = now
    if reading.status is not None and attempt.sent_at is None and attempt.status != AttemptStatus.SKIPPED:
        fields["sent_at"] = now
    if attempt.ended_at is None and _is_over(attempt, reading):
        fields["ended_at"] = now
    note(attempt, **fields)
    if moved or "ended_at" in fields:
        note(attempt, due_at=timers.next_look(attempt, now))
    if attempt.sent_at is not None and attempt.alert.status == AlertStatus.QUEUED:
        move_alert(attempt.alert, AlertStatus.SENT)


def _is_over(attempt: Attempt, reading: Reading) -> bool:
    """Whether nothing more is expected. An SMS without a receipt may still be corrected, a delivered one only read."""
    if attempt.channel == "call":
        return reading.is_over or attempt.status in ENDED_UNREACHED
    return attempt.status in REACHED | ENDED_UNREACHED


def _learn(holder: Holder, attempt: Attempt, reason: Reason | None, now: datetime) -> bool:
    """Keep what the report says about the number itself; whether it says that the person stopped us altogether."""
    if attempt.channel == "whatsapp" and attempt.status in (AttemptStatus.DELIVERED, AttemptStatus.READ):
        _set(holder, whatsapp=Holder.Whatsapp.YES)
    if attempt.status != AttemptStatus.FAILED or reason is None:
        return False
    if reason.marks_whatsapp_no and attempt.channel == "whatsapp":
        _set(holder, whatsapp=Holder.Whatsapp.NO)
    if reason.pauses_whatsapp:
        _set(holder, whatsapp_paused_at=holder.whatsapp_paused_at or now)
    if reason.flags_number:
        _set(holder, flagged_at=holder.flagged_at or now)
    return reason.opts_out


def _leave_stop_due(attempt: Attempt, now: datetime) -> None:
    """Opting out ends the alert, with every other one to this number, but after this unit of work.

    Whoever comes by if the process dies in between finishes it (alerts.delivery).
    """
    note(attempt, due_at=now + timers.LOST_AFTER)


def _set(holder: Holder, **fields: object) -> None:
    changed = [name for name, value in fields.items() if getattr(holder, name) != value]
    for name in changed:
        setattr(holder, name, fields[name])
    if changed:
        holder.save(update_fields=changed)
