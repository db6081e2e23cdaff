"""Which of the things that the carrier has is an attempt's whose answer was lost, when it can be told at all."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from accounts.models import VerificationCode
from alerts import timers
from alerts.carriers.base import Report, Unknown
from alerts.models import Attempt
from alerts.states import AttemptStatus


def pick(attempt: Attempt, found: Sequence[Report], *, now: datetime) -> Report | None:
    """The oldest of `found` that nobody else has; None when there is none. Needs `attempt.alert.holder`.

    The carrier's lists show texts, numbers and times, not whose a message is. While another request to the same number
    waits for its own answer, what was found may be that one's: `Unknown` is raised, and the question is asked again.
    """
    sids = [one.sid for one in found]
    taken = {
        *Attempt.objects.filter(carrier_sid__in=sids).exclude(pk=attempt.pk).values_list("carrier_sid", flat=True),
        *VerificationCode.objects.filter(carrier_sid__in=sids).values_list("carrier_sid", flat=True),
    }
    free = [one for one in found if one.sid not in taken]
    if not free:
        return None
    if len(free) <= count_rivals(attempt, now):
        raise Unknown
    return free[0]


def count_rivals(attempt: Attempt, now: datetime) -> int:
    """Requests to the same number on the same channel that may still hear what became of them."""
    waiting = Q(channel=attempt.channel, carrier_sid="", claimed_at__gt=now - timers.GIVE_UP_AFTER)
    attempts = Attempt.objects.filter(waiting, holder_id=attempt.holder_id, status=AttemptStatus.SENDING)
    codes = VerificationCode.objects.filter(waiting, number_hash=attempt.alert.holder.number_hash)
    return attempts.exclude(pk=attempt.pk).count() + codes.count()
