"""Which status may follow which: the one table for attempts and the one for alerts (architecture, rule 3)."""

from collections.abc import Mapping

from django.db import models


class AlertStatus(models.TextChoices):
    """Seed 001, `get_alert_status`, status values."""

    QUEUED = "queued"
    SENT = "sent"
    DELIVERED = "delivered"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class AttemptStatus(models.TextChoices):
    """Seed 001, `alerts[].attempts[].status`. `voicemail` is never emitted: machine detection is off."""

    SCHEDULED = "scheduled"
    SENDING = "sending"
    SENT = "sent"
    DELIVERED = "delivered"
    DELIVERED_UNCONFIRMED = "delivered_unconfirmed"
    READ = "read"
    RINGING = "ringing"
    ANSWERED = "answered"
    NO_ANSWER = "no_answer"
    BUSY = "busy"
    FAILED = "failed"
    SKIPPED = "skipped"


A = AttemptStatus
ATTEMPT_MOVES: Mapping[str, frozenset[str]] = {
    A.SCHEDULED: frozenset({A.SENDING, A.SKIPPED}),
    # Back to scheduled only when the carrier certainly has nothing (429, connection refused).
    A.SENDING: frozenset(
        {A.SCHEDULED, A.SENT, A.DELIVERED, A.READ, A.RINGING, A.ANSWERED, A.NO_ANSWER, A.BUSY, A.FAILED, A.SKIPPED}
    ),
    A.SENT: frozenset({A.DELIVERED, A.DELIVERED_UNCONFIRMED, A.READ, A.FAILED}),
    A.DELIVERED: frozenset({A.READ}),
    # Without a receipt for ten minutes; a receipt or a failure may still come within 72 hours.
    A.DELIVERED_UNCONFIRMED: frozenset({A.DELIVERED, A.READ, A.FAILED}),
    A.READ: frozenset(),
    A.RINGING: frozenset({A.ANSWERED, A.NO_ANSWER, A.BUSY, A.FAILED}),
    A.ANSWERED: frozenset(),
    A.NO_ANSWER: frozenset(),
    A.BUSY: frozenset(),
    A.FAILED: frozenset(),
    A.SKIPPED: frozenset(),
}
REACHED = frozenset({A.DELIVERED, A.DELIVERED_UNCONFIRMED, A.READ, A.ANSWERED})
IN_FLIGHT = frozenset({A.SENDING, A.SENT, A.RINGING})
ENDED_UNREACHED = frozenset({A.NO_ANSWER, A.BUSY, A.FAILED, A.SKIPPED})

S = AlertStatus
OPEN_ALERT = frozenset({S.QUEUED, S.SENT, S.DELIVERED})
ALERT_MOVES: Mapping[str, frozenset[str]] = {
    S.QUEUED: frozenset({S.SENT, S.DELIVERED, S.ACKNOWLEDGED, S.FAILED, S.EXPIRED, S.CANCELLED}),
    S.SENT: frozenset({S.DELIVERED, S.ACKNOWLEDGED, S.FAILED, S.EXPIRED, S.CANCELLED}),
    # Only while it waits for an acknowledgement; for the others `delivered` is final (ended_at is set).
    S.DELIVERED: frozenset({S.ACKNOWLEDGED, S.FAILED, S.EXPIRED, S.CANCELLED}),
    S.ACKNOWLEDGED: frozenset(),
    S.FAILED: frozenset(),
    S.EXPIRED: frozenset(),
    S.CANCELLED: frozenset(),
}


def sources_of(moves: Mapping[str, frozenset[str]], to: str) -> list[str]:
    """The statuses from which `to` may be reached: the WHERE of the conditional UPDATE."""
    return [source for source, targets in moves.items() if to in targets]
