"""The one live call to a number, across accounts: taken at the claim, freed by the call's end (behaviour, Alerts)."""

from datetime import datetime

from accounts.models import Holder
from alerts.models import Attempt
from alerts.states import AttemptStatus
from alerts.waking import wake


def free(holder: Holder, attempt: Attempt, *, now: datetime) -> None:
    """Free the line if this attempt has it, and let the calls that wait for it go at once. Needs the holder's lock.

    A waiting call may belong to another account. Only its `due_at` is written here, and only while it is scheduled:
    that it waits is a fact about the number, so the holder's lock guards it.
    """
    if holder.live_call != str(attempt.ref):
        return
    holder.live_call, holder.live_call_until = "", None
    holder.save(update_fields=["live_call", "live_call_until"])
    waiting = Attempt.objects.filter(
        holder=holder, channel="call", status=AttemptStatus.SCHEDULED, scheduled_at__lte=now, due_at__gt=now, tries=0
    )
    ids = list(waiting.order_by("scheduled_at", "pk").values_list("pk", flat=True))
    if ids:
        Attempt.objects.filter(pk__in=ids, status=AttemptStatus.SCHEDULED).update(due_at=now)
        wake(ids)
