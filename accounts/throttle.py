"""How often one address may do a thing that costs us something: counted per hour in the cache."""

from datetime import datetime
from typing import Final

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

from breakpass.ids import keyed_hash

HOUR_S: Final = 3600


def consume(action: str, who: str, limit: int, now: datetime, *, when_down: bool = False) -> bool:
    """Count one; False when `who` has had its `limit` of this UTC hour. Addresses are stored as keyed hashes.

    `when_down`: the answer while the cache can't be reached, so that nothing can be counted.
    """
    hour = int(now.timestamp()) // HOUR_S
    key = f"throttle:{action}:{keyed_hash(settings.SECRET_KEY, 'throttle', who)}:{hour}"
    try:
        cache.add(key, 0, HOUR_S)
        return int(cache.incr(key)) <= limit
    except ValueError:  # it ran out between the two
        return True
    except RedisError:
        return when_down
