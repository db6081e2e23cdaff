"""The nudge: tell a worker, on commit, that something is due now. The sweep finds it anyway."""

from collections.abc import Iterable

from breakpass.nudge import nudge

SEND_ATTEMPT = "alerts.send_attempt"


def wake(attempt_ids: Iterable[int]) -> None:
    """After the commit, nudge a worker for each attempt. By task name; never raises, never slow; lost is fine."""
    for attempt_id in attempt_ids:
        nudge(SEND_ATTEMPT, attempt_id)
