"""How often one address may do a thing that costs us something: counted per hour in the cache."""

from datetime import datetime
from typing import Final

from django.conf import settings
from django.core.cache import cache

from breakpass.ids import keyed_hash

HOUR_S: Final = 3600


def consume(action: str, who: str, limit: int, now: datetime) -> bool:
    """Count one; False when `who` has had its `limit` of this UTC hour. Addresses are stored as keyed hashes."""
    hour = int(now.timestamp()) // HOUR_S
    key = f"throttle:{action}:{keyed_hash(settings.SECRET_KEY, 'throttle', who)}:{hour}"
    cache.add(key, 0, HOUR_S)
    try:
        return int(cache.incr(key)) <= limit
    except ValueError:  # it ran out between the two
        return True
