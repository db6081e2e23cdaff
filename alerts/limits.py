"""Rate caps, budgets and the runaway brake (seed 001, Limits and `RATE_LIMITED` reasons; behaviour, Limits)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction

from accounts.models import Account, CapHit, Connection, Holder
from alerts.counts import HOUR, MINUTE, Counts
from breakpass.errors import Refusal
from breakpass.times import day_start, seconds_left_of_day, seconds_until
from workflows.plan import Plan

# Which refusals count for the brake: the caps an agent runs into by sending too much. A busy line, sends on their way,
# the account's own failures and a busy installation are nobody's haste, and the brake does not feed itself.
BRAKE_REASONS: Final = frozenset(
    {
        "account_per_minute",
        "account_per_hour",
        "account_per_day",
        "new_account_per_day",
        "new_account_calls_per_day",
        "holder_per_hour",
        "holder_calls_per_hour",
    }
)
HOLDER_CALLS_RETRY_S: Final = 600
CALL_IN_PROGRESS_RETRY_S: Final = 60
UNBILLED_BUSY_RETRY_S: Final = 2
RATE_CAP_RETRY_S: Final = 60


def check(
    account: Account, connection: Connection | None, holder: Holder, plan: Plan, counts: Counts, *, now: datetime
) -> None:
    """Refuse RATE_LIMITED by the first limit that applies. Needs both locks, and counts read under them."""
    check_brake(account, connection, now=now)
    check_account(account, plan, counts, now=now)
    check_holder(account, holder, plan, counts, now=now)
    check_unbilled(plan, counts, now=now)
    check_installation(counts)


def check_test(account: Account, holder: Holder, plan: Plan, counts: Counts, *, now: datetime) -> None:
    """The limits of a free setup test: the account's caps, the holder's alerts, and one call at a time."""
    check_account(account, plan, counts, now=now)
    check_holder_alerts(counts, now=now)
    check_line(holder, plan, counts, now=now)


def check_brake(account: Account, connection: Connection | None, *, now: datetime) -> None:
    """A connection without a paid plan that ran into caps too often is paused."""
    if account.is_paid_plan or connection is None or connection.braked_until is None or not connection.is_braked(now):
        return
    raise limited(
        "runaway_brake",
        "This agent connection is paused for sending too fast.",
        seconds_until(connection.braked_until, now),
    )


def check_account(account: Account, plan: Plan, counts: Counts, *, now: datetime) -> None:
    """The account-wide caps of accounts without a paid plan, and the tighter ones of new accounts."""
    if account.is_paid_plan:
        return
    crowded = "Too many alerts for this account right now."
    if counts.account_minute_full_at is not None:
        raise limited("account_per_minute", crowded, seconds_until(counts.account_minute_full_at + MINUTE, now))
    if counts.account_hour_full_at is not None:
        raise limited("account_per_hour", crowded, seconds_until(counts.account_hour_full_at + HOUR, now))
    if counts.account_today >= settings.ACCOUNT_PER_DAY:
        raise limited("account_per_day", crowded, seconds_left_of_day(now))
    if not account.is_new(now):
        return
    if counts.account_today >= settings.NEW_ACCOUNT_ALERTS_PER_DAY:
        raise limited(
            "new_account_per_day",
            "This account has reached its daily alert limit. Try again tomorrow.",
            seconds_left_of_day(now),
        )
    if not fit_days(counts.account_calls, call_times(plan, now), limit=settings.NEW_ACCOUNT_CALLS_PER_DAY):
        raise limited(
            "new_account_calls_per_day",
            "This account has reached its daily call limit. Try again tomorrow.",
            seconds_left_of_day(now),
            limit=settings.NEW_ACCOUNT_CALLS_PER_DAY,
        )


def check_holder(account: Account, holder: Holder, plan: Plan, counts: Counts, *, now: datetime) -> None:
    """What one number may get, across accounts: alerts an hour, calls an hour, one call at a time."""
    check_holder_alerts(counts, now=now)
    limit = account.holder_calls_per_hour or settings.HOLDER_CALLS_PER_HOUR
    if not fit_hours(counts.holder_calls, call_times(plan, now), limit=limit):
        raise limited(
            "holder_calls_per_hour",
            f"Too many calls to this recipient in the last hour (the limit is {limit} calls an hour to one number).",
            HOLDER_CALLS_RETRY_S,
            limit=limit,
        )
    check_line(holder, plan, counts, now=now)


def check_holder_alerts(counts: Counts, *, now: datetime) -> None:
    """The alerts an hour that one number may get."""
    if counts.holder_hour_full_at is not None:
        raise limited(
            "holder_per_hour",
            "Too many alerts to this recipient in the last hour "
            f"(the limit is {settings.HOLDER_ALERTS_PER_HOUR} an hour).",
            seconds_until(counts.holder_hour_full_at + HOUR, now),
        )


def check_line(holder: Holder, plan: Plan, counts: Counts, *, now: datetime) -> None:
    """A direct call is refused while the number has one, or one that is due and not yet placed; a workflow's waits."""
    wants_line = plan.workflow_id is None and plan.steps[0].channel == "call"
    if wants_line and (holder.has_live_call(now) or counts.is_call_due):
        raise limited("call_in_progress", "A call to this recipient is already in progress.", CALL_IN_PROGRESS_RETRY_S)


def check_unbilled(plan: Plan, counts: Counts, *, now: datetime) -> None:
    """The budget of sends that were not charged, per channel; and those on their way that could still fill it."""
    per_hour, per_day = settings.UNBILLED_PER_HOUR, settings.UNBILLED_PER_DAY
    for channel in dict.fromkeys(step.channel for step in plan.steps):
        used = counts.unbilled[channel]
        if used.hour_full_at is not None:
            raise over_budget(channel, "hour", per_hour, seconds_until(used.hour_full_at + HOUR, now))
        if used.day >= per_day:
            raise over_budget(channel, "day", per_day, seconds_left_of_day(now))
        if used.hour + used.unsettled >= per_hour or used.day + used.unsettled >= per_day:
            raise limited(
                "unbilled_send_busy",
                "Other sends from this account are still on their way. Try again in a moment.",
                UNBILLED_BUSY_RETRY_S,
                channel=channel,
            )


def check_installation(counts: Counts) -> None:
    """What the whole installation may ask of the carrier in a minute, if it has a cap: no account's own fault."""
    if 0 < settings.CARRIER_REQUESTS_PER_MINUTE <= counts.carrier_load:
        raise limited("rate_cap", "Too many alerts right now.", RATE_CAP_RETRY_S)


def over_budget(channel: str, window: str, limit: int, retry_after_s: int) -> Refusal:
    """The refusal of a channel whose sends failed too often."""
    return limited(
        "unbilled_budget",
        "Too many sends from this account didn't go through recently, so sending is paused for this account for now. "
        "Try again later.",
        retry_after_s,
        channel=channel,
        window=window,
        limit=limit,
    )


def call_times(plan: Plan, now: datetime) -> list[datetime]:
    """When the plan's calls would go, accepted now."""
    return [now + timedelta(minutes=step.offset_min) for step in plan.steps if step.channel == "call"]


def fit_hours(taken: Iterable[datetime], new: Sequence[datetime], *, limit: int) -> bool:
    """Whether, with the new calls, no hour that holds one of them has more than `limit` calls.

    Planned calls count, so that a workflow that was accepted never runs into the cap itself.
    """
    every = sorted([(at, False) for at in taken] + [(at, True) for at in new])
    for index, (start, _) in enumerate(every):
        window = [is_new for at, is_new in every[index:] if at < start + HOUR]
        if len(window) > limit and any(window):
            return False
    return True


def fit_days(taken: Iterable[datetime], new: Sequence[datetime], *, limit: int) -> bool:
    """Whether, with the new calls, no UTC day that holds one of them has more than `limit` calls."""
    per_day = Counter(day_start(at) for at in [*taken, *new])
    return all(per_day[day_start(at)] <= limit for at in new)


def limited(reason: str, message: str, retry_after_s: int, **details: Any) -> Refusal:
    """A RATE_LIMITED refusal; `details.reason` names the limit."""
    return Refusal("RATE_LIMITED", message, details={"reason": reason, **details}, retry_after_s=retry_after_s)


def note_refusal(connection: Connection | int, refusal: Refusal, now: datetime) -> None:
    """Remember a cap that a connection ran into, and brake it when there were too many (seed 001, Runaway brake).

    For the edge, outside the refused unit of work, which is gone. Other refusals, and accounts on a paid plan, leave
    no trace.
    """
    reason = refusal.details.get("reason")
    if refusal.code != "RATE_LIMITED" or reason not in BRAKE_REASONS:
        return
    pk = connection if isinstance(connection, int) else connection.pk
    with transaction.atomic():
        # Its own row is all this locks: no account, no holder, so no order to keep.
        row = Connection.objects.select_for_update(of=("self",)).select_related("account__plan").get(pk=pk)
        if row.account.is_paid_plan:
            return
        CapHit.objects.create(connection=row, reason=reason, created_at=now)
        since = now - timedelta(seconds=settings.BRAKE_WINDOW_S)
        if row.cap_hits.filter(created_at__gt=since).count() >= settings.BRAKE_HITS:
            row.braked_until = now + timedelta(seconds=settings.BRAKE_PAUSE_S)
            row.save(update_fields=["braked_until"])
