"""A pytest plugin: starts PostgreSQL and Redis before Django reads its settings, unless their URLs are set."""

import os
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from breakpass.embedded.pair import Pair
from breakpass.embedded.problems import CannotStart
from breakpass.embedded.record import SWITCH

BASE_DIR = Path(__file__).resolve().parent.parent
_running: list[Pair] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Generator[None, object, object]:
    """Before pytest-django loads the settings: servers, and a Redis database of its own for each xdist worker."""
    os.environ[SWITCH] = "off"
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker:
        url = urlsplit(os.environ["REDIS_URL"])
        number = int(url.path.strip("/") or 0) + int(worker.removeprefix("gw")) + 1
        os.environ["REDIS_URL"] = urlunsplit(url._replace(path=f"/{number % 16}"))
    elif not (os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL")):
        pair = Pair(BASE_DIR / "var" / "test", durable=False, what="A test run")
        try:
            os.environ.update(pair.start())
        except CannotStart as problem:
            pytest.exit(str(problem), returncode=1)
        _running.append(pair)
    return (yield)


def pytest_unconfigure() -> None:
    """Stop what this process started."""
    while _running:
        _running.pop().stop()
