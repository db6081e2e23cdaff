"""The breaker: a short memory of how requests to the carrier went (behaviour, Limits, PROVIDER_ERROR)."""

from datetime import datetime, timedelta

from django.conf import settings

from alerts.models import CarrierCall
from breakpass.errors import Refusal

# "After 30 seconds" (seed 001, Errors).
RETRY_AFTER_S = 30
KEPT_FOR = timedelta(hours=1)


def note(channel: str, *, succeeded: bool, now: datetime) -> None:
    """Remember one request. A refusal that the carrier worded is a success here: the carrier works."""
    CarrierCall.objects.create(channel=channel, succeeded=succeeded, created_at=now)


def is_open(*, failures: int, successes: int) -> bool:
    """Whether it is open: enough failures in the last `BREAKER_WINDOW_S` seconds (`alerts.counts`), no success."""
    return successes == 0 and failures >= settings.BREAKER_FAILURES


def refusal() -> Refusal:
    """PROVIDER_ERROR, as a tool gives it; nothing is created then."""
    return Refusal(
        "PROVIDER_ERROR",
        "The delivery network isn't working right now. Try again in 30 seconds.",
        retry_after_s=RETRY_AFTER_S,
    )


def prune(now: datetime) -> int:
    """Forget what no window reaches any more; how many rows went."""
    return CarrierCall.objects.filter(created_at__lt=now - KEPT_FOR).delete()[0]
