"""Times as they are sent, and the windows that limits count in. All aware UTC."""

import math
from datetime import UTC, datetime, timedelta


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and Z, for example 2026-10-03T19:00:00.000Z (seed 001, Connect)."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_or_none(moment: datetime | None) -> str | None:
    """As `iso`; None for a time that has not come."""
    return None if moment is None else iso(moment)


def day_start(moment: datetime) -> datetime:
    """When the UTC day of `moment` began."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def seconds_until(moment: datetime, now: datetime) -> int:
    """Whole seconds from `now` to `moment`, rounded up, at least 1: what `retry_after_s` says (behaviour, Limits)."""
    return max(1, math.ceil((moment - now).total_seconds()))


def seconds_left_of_day(now: datetime) -> int:
    """Whole seconds to the end of the UTC day, at least 1."""
    return seconds_until(day_start(now) + timedelta(days=1), now)
