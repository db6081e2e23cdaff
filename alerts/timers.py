"""When the sweep looks at an attempt again: the meaning of `Attempt.due_at` after the claim. Pure."""

from datetime import datetime, timedelta

from alerts.models import Attempt
from alerts.states import AttemptStatus

# A workflow's call rings 25 s so that calls at minutes 1 and 2 can happen; a direct one may ring longer.
WORKFLOW_RING_S, DIRECT_RING_S = 25, 40
# Cut off 55 s after the answer; a lost end frees the line 15 s after that (behaviour, Alerts).
CALL_LIMIT_S, LINE_SLACK_S = 55, 15
# Longer than a request to the carrier can take: then its worker is dead, or its answer was lost.
LOST_AFTER = timedelta(seconds=30)
# A claim older than this is not sent by whoever made it: a request that begins now ends before it is given up.
SEND_WITHIN = timedelta(minutes=1)
# Nothing found at the carrier this long after the claim: it never got it.
GIVE_UP_AFTER = timedelta(minutes=2)
# A call whose end was never heard of, and of which the carrier says nothing either.
GIVE_UP_CALL_AFTER = timedelta(minutes=10)
# An SMS `sent` without a receipt counts as delivered after this (behaviour, Alerts), for better or worse until:
UNCONFIRMED_AFTER = timedelta(minutes=10)
CORRECTABLE_FOR = timedelta(hours=72)
# Questions to the carrier about reports that may have been lost: the longer it takes, the rarer.
SHORTEST_WAIT, LONGEST_WAIT = timedelta(seconds=30), timedelta(minutes=15)


def ring_s(attempt: Attempt) -> int:
    """How long the call rings. Needs `attempt.alert`."""
    return WORKFLOW_RING_S if attempt.alert.workflow_key else DIRECT_RING_S


def line_busy_until(attempt: Attempt, claimed_at: datetime) -> datetime:
    """When a call claimed then has surely ended, whatever was heard of it."""
    return claimed_at + timedelta(seconds=ring_s(attempt) + CALL_LIMIT_S + LINE_SLACK_S)


def next_look(attempt: Attempt, now: datetime) -> datetime | None:
    """When to ask or decide next for an attempt as it is now; None: nothing is left to do. Needs `attempt.alert`."""
    since = attempt.claimed_at or now
    growing = now + min(LONGEST_WAIT, max(SHORTEST_WAIT, now - since))
    if attempt.channel == "call":
        if attempt.ended_at is not None:
            return None
        if attempt.status == AttemptStatus.ANSWERED:
            return max(now + SHORTEST_WAIT, line_busy_until(attempt, since))
        if attempt.status in (AttemptStatus.SENDING, AttemptStatus.RINGING):
            return growing
        return None
    if attempt.status == AttemptStatus.SENT and attempt.channel == "sms":
        growing = now + UNCONFIRMED_AFTER
    elif attempt.status not in (AttemptStatus.SENDING, AttemptStatus.SENT):
        return None
    # At the alert's deadline a message that has not arrived fails; never in the past, so that it is not spun on.
    return max(now + timedelta(seconds=1), min(growing, attempt.alert.expires_at))
