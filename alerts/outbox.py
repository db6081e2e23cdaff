"""The queue that is the `Attempt` table: finding what is due, and the sweep that makes sure."""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.core.cache import cache
from django.db import DatabaseError

from accounts.models import VerificationCode
from alerts import breaker, codes, delivery, keys
from alerts.carriers import templates
from alerts.carriers.base import Carrier, Template
from alerts.carriers.current import current
from alerts.models import Alert, Attempt

logger = logging.getLogger(__name__)
BATCH = 200
# A pass ends after this and leaves the rest to the next one, which begins a second later.
PASS_FOR = timedelta(seconds=20)
# A row that cannot be dealt with is looked at again then: it must not stand before the others every second.
SET_ASIDE_FOR = timedelta(minutes=1)
PRUNE_EVERY_S = 3600
TEMPLATES: tuple[Template, ...] = ("alert", "alert_ack")


@dataclass(slots=True)
class SweepReport:
    """What one pass did: attempts looked at, alerts ended by their deadline, codes sent, rows that raised."""

    attempts: int = 0
    expired: int = 0
    codes: int = 0
    failed: int = 0

    def as_json(self) -> dict[str, int]:
        """For the command's standard output."""
        return asdict(self)


def due_ids(now: datetime, limit: int = BATCH) -> list[int]:
    """The attempts that need something now, the longest overdue first: sending, asking, or giving up."""
    due = Attempt.objects.filter(due_at__lte=now).order_by("due_at", "pk")
    return list(due.values_list("pk", flat=True)[:limit])


def sweep(now: datetime, *, carrier: Carrier | None = None, clock: Callable[[], datetime] | None = None) -> SweepReport:
    """One pass over everything that time alone brings about. Safe at once with itself, late, or never.

    Every row is its own unit of work; one that raises is logged by its id and set aside, and the rest goes on.
    `clock` reads the time as it passes; without one it stands still.
    """
    carrier, clock = carrier or current(), clock or (lambda: now)
    report = SweepReport()
    ends_at = now + PASS_FOR
    for attempt_id in due_ids(now):
        if clock() >= ends_at:
            return report
        if _alone(report, attempt_id, lambda pk: delivery.send_attempt(pk, clock(), carrier=carrier, clock=clock)):
            report.attempts += 1
    overdue = Alert.objects.filter(ended_at=None, expires_at__lte=now).order_by("expires_at", "pk")
    for alert_id in list(overdue.values_list("pk", flat=True)[:BATCH]):
        report.expired += _alone(report, alert_id, lambda pk: delivery.expire(pk, clock()), of=Alert)
    for code_id in codes.waiting_ids(now, BATCH):
        report.codes += _alone(
            report, code_id, lambda pk: codes.send(pk, clock(), carrier=carrier, clock=clock), of=VerificationCode
        )
    # So that a tool can refuse by the cache alone, before anything is accepted (TEMPLATE_MISMATCH).
    for template in TEMPLATES:
        templates.look(template, carrier)
    _prune(now)
    return report


def _alone(report: SweepReport, pk: int, work: Callable[[int], bool], *, of: type = Attempt) -> bool:
    """Do one row's work; a failure is that row's alone."""
    try:
        return work(pk)
    except Exception as error:
        report.failed += 1
        logger.error("sweep: %s %s failed: %s", of.__name__, pk, where(error))
        if of is Attempt:
            _set_aside(pk, report)
        return False


def where(error: BaseException) -> str:
    """An error's type and place. Never its words: a database error quotes the row, and rows hold numbers and texts."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}{place}"


def _set_aside(attempt_id: int, report: SweepReport) -> None:
    try:
        row = Attempt.objects.filter(pk=attempt_id, due_at__isnull=False)
        due_at = row.values_list("due_at", flat=True).first()
        if due_at is not None:
            row.filter(due_at=due_at).update(due_at=due_at + SET_ASIDE_FOR)
    except DatabaseError as error:
        logger.error("sweep: Attempt %s not set aside: %s", attempt_id, type(error).__name__)


def _prune(now: datetime) -> None:
    """Forget what no rule looks at any more; about once an hour."""
    try:
        if not cache.add("sweep:pruned", True, PRUNE_EVERY_S):
            return
        breaker.prune(now)
        codes.forget(now)
        keys.prune(now)
    except Exception as error:
        logger.error("sweep: pruning failed: %s", where(error))
