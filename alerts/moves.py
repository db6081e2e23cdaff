"""The one conditional UPDATE behind every change of an attempt's or an alert's status (architecture, rule 3)."""

from typing import Any

from alerts import states
from alerts.models import Alert, Attempt


def move_attempt(attempt: Attempt, to: str, **fields: Any) -> bool:
    """Move the row and this instance to `to` if the table allows it from where the row is now; whether it moved."""
    allowed = states.sources_of(states.ATTEMPT_MOVES, to)
    if not Attempt.objects.filter(pk=attempt.pk, status__in=allowed).update(status=to, **fields):
        return False
    _adopt(attempt, {"status": to, **fields})
    return True


def move_alert(alert: Alert, to: str, **fields: Any) -> bool:
    """Move the row and this instance to `to` if it has not ended and the table allows it; whether it moved."""
    allowed = states.sources_of(states.ALERT_MOVES, to)
    if not Alert.objects.filter(pk=alert.pk, status__in=allowed, ended_at=None).update(status=to, **fields):
        return False
    _adopt(alert, {"status": to, **fields})
    return True


def note(attempt: Attempt, **fields: Any) -> None:
    """Write facts about an attempt that are no change of status. Needs the account's lock."""
    if fields:
        Attempt.objects.filter(pk=attempt.pk).update(**fields)
        _adopt(attempt, fields)


def note_alert(alert: Alert, **fields: Any) -> None:
    """Write facts about an alert that are no change of status. Needs the account's lock."""
    Alert.objects.filter(pk=alert.pk).update(**fields)
    _adopt(alert, fields)


def _adopt(row: Alert | Attempt, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        setattr(row, name, value)
