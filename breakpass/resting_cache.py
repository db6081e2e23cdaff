"""Redis as Django's cache, which after a failure fails at once for a while: a silent server holds few requests up.

A refused connection fails by itself. A server that hangs, or a network that swallows packets, costs a whole timeout
each time, and some reads happen while an account is locked (architecture, rule 2).
"""

import time
from collections.abc import Callable
from typing import Any, ClassVar, Final

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import Redis
from redis.exceptions import ConnectionError, TimeoutError

REST_S: Final = 3.0


class RestingRedis(Redis):
    """A connection to Redis that is left alone for `REST_S` after it failed; the process has one such rest."""

    quiet_until: ClassVar[float] = 0.0
    clock: ClassVar[Callable[[], float]] = time.monotonic

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """As Redis does it. Raises ConnectionError at once while the server rests."""
        if RestingRedis.clock() < RestingRedis.quiet_until:
            raise ConnectionError("the cache rests after a failure")
        try:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except (ConnectionError, TimeoutError):
            RestingRedis.quiet_until = RestingRedis.clock() + REST_S
            raise


class RestingRedisClient(RedisCacheClient):
    """Django's client over `RestingRedis`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._client = RestingRedis


class RestingRedisCache(RedisCache):
    """The backend for CACHES. Whoever uses it says for themselves what a cache that is down means."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = RestingRedisClient
