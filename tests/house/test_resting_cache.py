"""A cache server that hangs costs one wait and then none, until it is asked again."""

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.cache import cache
from redis.exceptions import ConnectionError, TimeoutError

from breakpass.resting_cache import REST_S, RestingRedis, RestingRedisCache

OPTIONS = {"OPTIONS": {"socket_connect_timeout": 0.3, "socket_timeout": 0.3}}


@pytest.fixture(autouse=True)
def awake() -> Iterator[None]:
    """No rest from before, and none left for the tests after."""
    RestingRedis.quiet_until = 0.0
    yield
    RestingRedis.quiet_until = 0.0


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A server that takes connections and never says a word, as a stopped process does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


def seconds_of_a_failing_read(silent: RestingRedisCache) -> float:
    began = time.monotonic()
    with pytest.raises((ConnectionError, TimeoutError)):
        silent.get("anything")
    return time.monotonic() - began


def test_only_the_first_read_waits_for_a_server_that_hangs(silent_server: str) -> None:
    silent = RestingRedisCache(silent_server, dict(OPTIONS))
    assert seconds_of_a_failing_read(silent) >= 0.29
    assert all(seconds_of_a_failing_read(silent) < 0.1 for _ in range(5))


def test_other_threads_do_not_wait_either_since_the_rest_is_the_process_own(silent_server: str) -> None:
    seconds_of_a_failing_read(RestingRedisCache(silent_server, dict(OPTIONS)))
    assert seconds_of_a_failing_read(RestingRedisCache(silent_server, dict(OPTIONS))) < 0.1


def test_a_server_is_used_again_after_the_rest(monkeypatch: pytest.MonkeyPatch, silent_server: str) -> None:
    now = [1000.0]
    monkeypatch.setattr(RestingRedis, "clock", lambda: now[0])
    seconds_of_a_failing_read(RestingRedisCache(silent_server, dict(OPTIONS)))
    with pytest.raises(ConnectionError, match="rests"):
        cache.get("anything")
    now[0] += REST_S
    cache.set("resting-cache", "back", 10)
    assert cache.get("resting-cache") == "back"


def test_a_wrong_use_of_the_cache_starts_no_rest() -> None:
    cache.set("resting-cache", "a word", 10)
    with contextlib.suppress(Exception):
        cache.incr("resting-cache")
    assert RestingRedis.quiet_until == 0.0
    assert cache.get("resting-cache") == "a word"


def test_the_product_waits_for_its_cache_a_second_at_most() -> None:
    assert settings.CACHES["default"] == {
        "BACKEND": "breakpass.resting_cache.RestingRedisCache",
        "LOCATION": settings.REDIS_URL,
        "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 1.0},
    }
