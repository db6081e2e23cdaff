"""What the log of alerts and attempts says at one moment, for all limits together: one query, read under the locks."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection

from accounts.models import Account, Holder
from accounts.rates import CHANNELS
from breakpass.times import day_start

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
# A call goes at most this long after it was planned: a workflow's last minute and its grace.
LONGEST_DELAY: Final = timedelta(hours=26)

# `…_full_at` is when the n-th newest row of a sliding window of n was made: there is room once it has left the window.
SQL: Final = """
SELECT
  (SELECT created_at FROM alerts_alert WHERE %(has_caps)s AND account_id = %(account)s AND created_at > %(minute)s
    ORDER BY created_at DESC OFFSET %(per_minute)s - 1 LIMIT 1) AS account_minute_full_at,
  (SELECT created_at FROM alerts_alert WHERE %(has_caps)s AND account_id = %(account)s AND created_at > %(hour)s
    ORDER BY created_at DESC OFFSET %(per_hour)s - 1 LIMIT 1) AS account_hour_full_at,
  (SELECT count(*) FROM alerts_alert WHERE %(has_caps)s AND account_id = %(account)s AND created_at >= %(day)s)
    AS account_today,
  ARRAY(SELECT scheduled_at FROM alerts_attempt WHERE %(is_new)s AND account_id = %(account)s AND channel = 'call'
    AND status <> 'skipped' AND scheduled_at >= %(day)s) AS account_calls,
  (SELECT created_at FROM alerts_alert WHERE holder_id = %(holder)s AND created_at > %(hour)s
    ORDER BY created_at DESC OFFSET %(holder_per_hour)s - 1 LIMIT 1) AS holder_hour_full_at,
  ARRAY(SELECT coalesce(attempt.claimed_at, attempt.scheduled_at) FROM alerts_attempt attempt
    JOIN alerts_alert alert ON alert.id = attempt.alert_id
    WHERE attempt.holder_id = %(holder)s AND attempt.channel = 'call' AND attempt.status <> 'skipped'
    AND attempt.scheduled_at > %(call_horizon)s AND coalesce(attempt.claimed_at, attempt.scheduled_at) > %(hour)s
    AND NOT alert.is_setup_test) AS holder_calls,
  EXISTS (SELECT FROM alerts_attempt WHERE holder_id = %(holder)s AND channel = 'call' AND status = 'scheduled'
    AND scheduled_at > %(call_horizon)s AND scheduled_at <= %(now)s) AS is_call_due,
  (SELECT count(*) FROM alerts_attempt attempt JOIN alerts_alert alert ON alert.id = attempt.alert_id
    WHERE attempt.account_id = %(account)s AND attempt.status = 'failed' AND attempt.settled_at >= %(day)s
    AND NOT alert.is_setup_test) AS failed_today,
  (SELECT jsonb_agg(jsonb_build_object('channel', wanted.channel, 'hour', unbilled.hour, 'day', unbilled.day,
      'hour_full_at', extract(epoch FROM unbilled.hour_full_at), 'unsettled', open.unsettled))
    FROM unnest(%(channels)s::text[]) AS wanted(channel),
    LATERAL (
      SELECT
        count(*) FILTER (WHERE settled_at > %(hour)s) AS hour,
        count(*) FILTER (WHERE settled_at >= %(day)s) AS day,
        (array_agg(settled_at ORDER BY settled_at DESC) FILTER (WHERE settled_at > %(hour)s))[%(unbilled_per_hour)s]
          AS hour_full_at
      FROM alerts_attempt attempt JOIN alerts_alert alert ON alert.id = attempt.alert_id
      WHERE attempt.account_id = %(account)s AND attempt.channel = wanted.channel AND attempt.settlement = 'released'
      AND attempt.settled_at > least(%(hour)s, %(day)s - interval '1 microsecond')
      AND attempt.claimed_at IS NOT NULL AND attempt.status <> 'skipped' AND NOT alert.is_setup_test
    ) AS unbilled,
    LATERAL (
      SELECT count(*) AS unsettled FROM alerts_attempt attempt JOIN alerts_alert alert ON alert.id = attempt.alert_id
      WHERE attempt.account_id = %(account)s AND attempt.channel = wanted.channel AND attempt.settlement = ''
      AND attempt.held_at IS NOT NULL AND NOT alert.is_setup_test
    ) AS open) AS unbilled,
  (SELECT count(*) FROM alerts_carriercall WHERE created_at > %(breaker)s AND created_at <= %(now)s AND NOT succeeded)
    AS carrier_failures,
  (SELECT count(*) FROM alerts_carriercall WHERE created_at > %(breaker)s AND created_at <= %(now)s AND succeeded)
    AS carrier_successes,
  (SELECT count(*) FROM alerts_carriercall WHERE %(has_carrier_cap)s AND created_at > %(minute)s
    AND created_at <= %(now)s)
    + (SELECT count(*) FROM alerts_attempt WHERE %(has_carrier_cap)s AND status = 'scheduled' AND due_at <= %(now)s)
    AS carrier_load,
  ARRAY(SELECT code FROM alerts_alert WHERE code = ANY(%(names)s))
    || ARRAY(SELECT ack_token FROM alerts_alert WHERE ack_token = ANY(%(names)s)) AS taken_names
"""


@dataclass(frozen=True, slots=True)
class Unbilled:
    """Sends of one channel that were not charged, and those whose outcome is open."""

    hour: int
    day: int
    hour_full_at: datetime | None
    unsettled: int


@dataclass(frozen=True, slots=True)
class Counts:
    """The account's and the holder's recent past. Setup tests count as alerts, but not as calls to the holder."""

    account_minute_full_at: datetime | None
    account_hour_full_at: datetime | None
    account_today: int
    # When calls of the account are or were planned, from today on; empty unless the new-account caps apply.
    account_calls: tuple[datetime, ...]
    holder_hour_full_at: datetime | None
    # When calls to the holder were placed in the last hour or are planned, on any account.
    holder_calls: tuple[datetime, ...]
    is_call_due: bool
    failed_today: int
    unbilled: dict[str, Unbilled]
    carrier_failures: int
    carrier_successes: int
    # Requests of the last minute, and what waits to be sent, of all accounts; 0 unless the installation caps them.
    carrier_load: int
    taken_names: frozenset[str]


def read_counts(account: Account, holder: Holder, *, names: tuple[str, ...] = (), now: datetime) -> Counts:
    """Count everything the limits ask for. `names`: candidates for public ids and tokens, to learn which are taken."""
    values: dict[str, Any] = {
        "account": account.pk,
        "holder": holder.pk,
        "has_caps": not account.is_paid_plan,
        "is_new": account.is_new(now),
        "now": now,
        "minute": now - MINUTE,
        "hour": now - HOUR,
        "day": day_start(now),
        "call_horizon": now - LONGEST_DELAY,
        "has_carrier_cap": settings.CARRIER_REQUESTS_PER_MINUTE > 0,
        "breaker": now - timedelta(seconds=settings.BREAKER_WINDOW_S),
        "per_minute": settings.ACCOUNT_PER_MINUTE,
        "per_hour": settings.ACCOUNT_PER_HOUR,
        "holder_per_hour": settings.HOLDER_ALERTS_PER_HOUR,
        "unbilled_per_hour": settings.UNBILLED_PER_HOUR,
        "channels": list(CHANNELS),
        "names": list(names),
    }
    with connection.cursor() as cursor:
        cursor.execute(SQL, values)
        row: dict[str, Any] = dict(zip([column.name for column in cursor.description], cursor.fetchone(), strict=True))
    return Counts(
        **{
            **row,
            "account_calls": tuple(row["account_calls"]),
            "holder_calls": tuple(row["holder_calls"]),
            "unbilled": read_unbilled(row["unbilled"]),
            "taken_names": frozenset(row["taken_names"]),
        }
    )


def read_unbilled(rows: str) -> dict[str, Unbilled]:
    """The unbilled budget by channel, from the JSON the database made of it."""
    return {
        row["channel"]: Unbilled(
            hour=row["hour"],
            day=row["day"],
            hour_full_at=None if row["hour_full_at"] is None else datetime.fromtimestamp(row["hour_full_at"], UTC),
            unsettled=row["unsettled"],
        )
        for row in json.loads(rows)
    }
