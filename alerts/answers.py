"""What an answer of the carrier means for the attempt it is about, and what its silence means. Needs both locks."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.models import Account, Holder
from alerts import lines, timers
from alerts.carriers.base import Refused, Report, Sent
from alerts.carriers.reasons import NETWORK_ERROR, REASONS, reason_for
from alerts.closing import SKIP_CODES, skip
from alerts.models import Attempt
from alerts.moves import move_alert, move_attempt, note
from alerts.progress import fail_late, follow
from alerts.recording import Taken, fail, keep, take
from alerts.settling import settle
from alerts.states import IN_FLIGHT, AlertStatus, AttemptStatus

# The first question after an answer that was lost.
SOON = timedelta(seconds=5)
# What an attempt failed with whose outcome never became known.
GIVEN_UP = "PROVIDER_ERROR"
SHORTEST_BACKOFF_S, LONGEST_BACKOFF_S = 2, 60


@dataclass(frozen=True, slots=True)
class Question:
    """How an attempt stood when the carrier was asked, and which moment that was for."""

    was: AttemptStatus
    due_at: datetime | None


def accept(account: Account, holder: Holder, attempt: Attempt, sent: Sent, *, now: datetime) -> Taken:
    """The carrier took it. Reports may have come before this answer: nothing goes back (cases, 2)."""
    taken = take(account, holder, attempt, Report(source="answer", sid=sent.sid, status=sent.status), now=now)
    if attempt.sent_at is None and attempt.status in IN_FLIGHT:
        note(attempt, sent_at=now)
    if attempt.failure_code == GIVEN_UP:
        # Given up while its request was still on the wire: it went after all.
        note(attempt, flagged_at=attempt.flagged_at or now)
    if attempt.alert.status == AlertStatus.QUEUED:
        move_alert(attempt.alert, AlertStatus.SENT)
    if not taken.moved and attempt.status == AttemptStatus.SENDING:
        note(attempt, due_at=timers.next_look(attempt, now))
    return taken


def refuse(account: Account, holder: Holder, attempt: Attempt, refused: Refused, *, now: datetime) -> Taken:
    """The carrier answered no: never asked again (cases, 8)."""
    report = Report(source="answer", sid="", status="refused", error_code=refused.error_code)
    keep(report, report.fingerprint(f"{attempt.ref} {attempt.tries}"), now=now, attempt=attempt, moved=True)
    reason = reason_for(refused.error_code, http=refused.http_status)
    return fail(account, holder, attempt, code="DELIVERY_FAILED", reason=reason, now=now)


def mismatch(account: Account, holder: Holder, attempt: Attempt, *, now: datetime) -> Taken:
    """The approved template is not the one we mean: nothing left us, and staff should look."""
    return fail(account, holder, attempt, code="TEMPLATE_MISMATCH", reason=REASONS["R10"], now=now)


def backoff_s(tries: int) -> int:
    """Seconds to wait after a request that certainly did not go: longer each time, a minute at most."""
    doublings = max(0, min(tries - 1, 5))
    return min(LONGEST_BACKOFF_S, SHORTEST_BACKOFF_S << doublings)


def put_back(account: Account, holder: Holder, attempt: Attempt, *, wait_s: int, now: datetime) -> Taken:
    """The carrier certainly has nothing: scheduled again in `wait_s` seconds. Nobody waits for it (cases, 9)."""
    if not move_attempt(attempt, AttemptStatus.SCHEDULED, claimed_at=None, due_at=now + timedelta(seconds=wait_s)):
        return Taken()
    if attempt.channel == "call":
        lines.free(holder, attempt, now=now)
    alert = attempt.alert
    if alert.ended_at is not None:
        skip(account, [attempt], code=alert.failure_code or SKIP_CODES[AlertStatus(alert.status)], now=now)
    return Taken(moved=True)


def ask_soon(attempt: Attempt, *, now: datetime) -> Taken:
    """The answer was lost: it stays `sending`, and the carrier is asked what it has."""
    if attempt.status == AttemptStatus.SENDING and not attempt.carrier_sid:
        note(attempt, due_at=now + SOON)
    return Taken()


def postpone(attempt: Attempt, *, now: datetime) -> None:
    """Keep others from asking the same question while this one is asked."""
    note(attempt, due_at=now + timers.LOST_AFTER)


def conclude(
    account: Account, holder: Holder, attempt: Attempt, question: Question, *, has_nothing: bool, now: datetime
) -> Taken:
    """Decide after asking. `has_nothing`: the carrier answered, and certainly does not have it (yet)."""
    never_had = has_nothing and not attempt.carrier_sid and _age(attempt, now) >= timers.GIVE_UP_AFTER
    if attempt.channel == "call":
        return _conclude_call(account, holder, attempt, never_had=never_had, now=now)
    if attempt.status not in IN_FLIGHT:
        note(attempt, due_at=None)
        return Taken()
    expires_at = attempt.alert.expires_at
    waited = attempt.channel == "sms" and question.was == attempt.status == AttemptStatus.SENT
    if waited and question.due_at is not None and question.due_at < expires_at:
        move_attempt(attempt, AttemptStatus.DELIVERED_UNCONFIRMED, due_at=None, ended_at=now)
        settle(account, attempt, now=now)
    elif now >= expires_at:
        fail_late(account, attempt, now=now)
    elif never_had:
        return fail(account, holder, attempt, code=GIVEN_UP, reason=NETWORK_ERROR, now=now)
    else:
        note(attempt, due_at=timers.next_look(attempt, now))
        return Taken()
    follow(account, attempt.alert, now=now)
    return Taken(moved=True)


def _conclude_call(account: Account, holder: Holder, attempt: Attempt, *, never_had: bool, now: datetime) -> Taken:
    """A call whose reports were lost: given up when the carrier knows nothing, ended when it must have ended."""
    if attempt.status in IN_FLIGHT:
        is_forgotten = _age(attempt, now) >= timers.GIVE_UP_CALL_AFTER
        if never_had or is_forgotten:
            return fail(account, holder, attempt, code=GIVEN_UP, reason=NETWORK_ERROR, now=now, flag=not never_had)
    elif attempt.ended_at is None and now >= timers.line_busy_until(attempt, attempt.claimed_at or now):
        note(attempt, ended_at=now)
        lines.free(holder, attempt, now=now)
    note(attempt, due_at=timers.next_look(attempt, now))
    return Taken()


def _age(attempt: Attempt, now: datetime) -> timedelta:
    return now - (attempt.claimed_at or now)
