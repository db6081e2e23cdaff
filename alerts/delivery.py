"""Sending a claimed attempt once, and the one door for every word heard of it afterwards (architecture, rule 3)."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from accounts.locking import lock_holder, locked
from accounts.models import Account, Holder
from alerts import adopting, answers, breaker, timers
from alerts.acks import opt_out
from alerts.carriers import templates
from alerts.carriers.base import Carrier, CarrierProblem, Outgoing, Refused, Report, Throttled, Unreachable
from alerts.carriers.current import current
from alerts.claiming import claim
from alerts.models import Alert, Attempt
from alerts.outgoing import compose
from alerts.progress import end_at_deadline
from alerts.recording import Taken, keep, take
from alerts.states import AttemptStatus

Clock = Callable[[], datetime]
# Not the message's fault: our credentials. The carrier does not work for us then.
UNAUTHORIZED = frozenset({401, 403})


def send_attempt(attempt_id: int, now: datetime, *, carrier: Carrier | None = None, clock: Clock | None = None) -> bool:
    """Do what is due for one attempt: send it, or ask and decide about one on its way; whether anything was due.

    Repeatable, and safe at once with itself. `clock` reads the time after a request; without one, time stands still.
    """
    carrier, clock = carrier or current(), clock or (lambda: now)
    outgoing = claim(attempt_id, now)
    if outgoing is None:
        return look_after(attempt_id, now, carrier=carrier, clock=clock)
    send(outgoing, carrier=carrier, clock=clock)
    return True


def send(outgoing: Outgoing, *, carrier: Carrier, clock: Clock) -> None:
    """Hand a claimed attempt to the carrier, once, and keep the answer. Outside any transaction.

    Only an answer that says that nothing went (429, no connection), or a claim that grew old before anything left,
    lets it be sent again, later and by the sweep.
    """
    if outgoing.template is not None and templates.look(outgoing.template, carrier) == "differs":
        _under_locks(outgoing.ref, lambda a, h, one: answers.mismatch(a, h, one, now=clock()), now=clock())
        return
    if clock() >= outgoing.claimed_at + timers.SEND_WITHIN:
        # This worker slept. It may be given up already, and what follows from that is on its way.
        _under_locks(outgoing.ref, lambda a, h, one: answers.put_back(a, h, one, wait_s=0, now=clock()), now=clock())
        return
    try:
        sent = carrier.place_call(outgoing) if outgoing.channel == "call" else carrier.send_message(outgoing)
    except CarrierProblem as caught:
        problem, now = caught, clock()
        breaker.note(outgoing.channel, succeeded=works_for_us(problem), now=now)
        _under_locks(outgoing.ref, lambda a, h, one: _take_problem(a, h, one, problem, now), now=now)
        return
    now = clock()
    breaker.note(outgoing.channel, succeeded=True, now=now)
    _under_locks(outgoing.ref, lambda a, h, one: answers.accept(a, h, one, sent, now=now), now=now)


def works_for_us(problem: CarrierProblem) -> bool:
    """Whether the carrier is in order: it answered, and not that it does not know us."""
    return isinstance(problem, Throttled) or (isinstance(problem, Refused) and problem.http_status not in UNAUTHORIZED)


def _take_problem(account: Account, holder: Holder, attempt: Attempt, problem: CarrierProblem, now: datetime) -> Taken:
    match problem:
        case Refused():
            return answers.refuse(account, holder, attempt, problem, now=now)
        case Throttled():
            # What it asks for; from the third time on longer, or one that is busy for hours is asked every second.
            wait_s = max(problem.retry_after_s, answers.backoff_s(attempt.tries - 1))
            return answers.put_back(account, holder, attempt, wait_s=wait_s, now=now)
        case Unreachable():
            return answers.put_back(account, holder, attempt, wait_s=answers.backoff_s(attempt.tries), now=now)
    return answers.ask_soon(attempt, now=now)


def record(attempt_ref: str, report: Report, *, now: datetime) -> bool:
    """Take in one report, in any order, as often as it comes; whether it moved the attempt. Opens the locks itself.

    A report about an attempt that is not ours is kept and flagged. Never called inside another account's lock.
    """
    if not Attempt.objects.filter(ref=attempt_ref).exists():
        keep(report, report.fingerprint(attempt_ref), now=now, is_flagged=True)
        return False
    return _under_locks(attempt_ref, lambda a, h, one: take(a, h, one, report, now=now), now=now).moved


def look_after(attempt_id: int, now: datetime, *, carrier: Carrier, clock: Clock) -> bool:
    """Ask the carrier about an attempt on its way that is due for it, and decide; whether one was due.

    Heals lost reports, adopts what a dead worker sent, gives up what the carrier certainly never had, counts an SMS
    without a receipt, and fails a message at its alert's deadline. Nothing is ever sent from here.
    """
    due = Attempt.objects.filter(pk=attempt_id, due_at__lte=now).exclude(status=AttemptStatus.SCHEDULED)
    account_id = due.values_list("account_id", flat=True).first()
    if account_id is None:
        return False
    with locked(account_id):
        attempt = due.select_related("alert__number", "alert__holder").first()
        if attempt is None:
            return False
        is_stop_unfinished = attempt.status == AttemptStatus.FAILED
        question = answers.Question(AttemptStatus(attempt.status), attempt.due_at)
        answers.postpone(attempt, now=now)
        outgoing = compose(attempt, attempt.claimed_at) if attempt.claimed_at is not None else None
    if is_stop_unfinished:
        _finish_stop(str(attempt.ref), attempt.holder_id, now=now)
        return True
    has_nothing = False
    if outgoing is not None:
        with suppress(CarrierProblem):
            has_nothing = not _ask(attempt, outgoing, carrier, now)
    _under_locks(
        str(attempt.ref),
        lambda a, h, one: answers.conclude(a, h, one, question, has_nothing=has_nothing, now=clock()),
        now=now,
    )
    return True


def _ask(attempt: Attempt, outgoing: Outgoing, carrier: Carrier, now: datetime) -> bool:
    """Record what the carrier has; False when it certainly has nothing. Raises `Unknown` when it cannot be told."""
    if attempt.carrier_sid:
        record(outgoing.ref, carrier.fetch(outgoing.channel, attempt.carrier_sid), now=now)
        return True
    ours = adopting.pick(attempt, carrier.find(outgoing), now=now)
    if ours is None:
        return False
    record(outgoing.ref, ours, now=now)
    return True


def expire(alert_id: int, now: datetime) -> bool:
    """End an alert whose deadline has passed; whether this did it."""
    account_id = Alert.objects.filter(pk=alert_id, ended_at=None).values_list("account_id", flat=True).first()
    if account_id is None:
        return False
    with locked(account_id) as account:
        alert = Alert.objects.select_related("holder").get(pk=alert_id)
        return end_at_deadline(account, alert, now=now)


def _under_locks(ref: str, work: Callable[[Account, Holder, Attempt], Taken], *, now: datetime) -> Taken:
    """One unit of work on one attempt, under its account's lock and then its holder's."""
    account_id, holder_id = Attempt.objects.values_list("account_id", "holder_id").get(ref=ref)
    with locked(account_id) as account:
        holder = lock_holder(holder_id)
        attempt = Attempt.objects.select_related("alert").get(ref=ref)
        attempt.holder = attempt.alert.holder = holder
        taken = work(account, holder, attempt)
    if taken.opts_out:
        # Every account that reaches this number, each under its own lock: after this one is let go.
        _finish_stop(ref, holder_id, now=now)
    return taken


def _finish_stop(ref: str, holder_id: int, *, now: datetime) -> None:
    """Stop everything to a number that the carrier blocks; until that is done, the attempt stays due for it."""
    opt_out(holder_id, via="carrier", now=now)
    Attempt.objects.filter(ref=ref, status=AttemptStatus.FAILED).update(due_at=None)
