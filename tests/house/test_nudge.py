"""A nudge is quick when the broker is well, and harmless when it is away, slow or behind."""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import cast

import pytest
import redis
from celery import Celery
from django.conf import settings
from django.db import transaction

from breakpass import nudge as nudging
from breakpass.celery import app
from breakpass.nudge import Postman, nudge

Sent = list[tuple[str, tuple[int | str, ...]]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What reached the broker."""
    reached: Sent = []

    def take(task: str, args: tuple[int | str, ...], **options: object) -> None:
        assert options == {"ignore_result": True, "retry": False, "expires": 60}
        reached.append((task, args))

    monkeypatch.setattr(nudging, "current_app", SimpleNamespace(send_task=take))
    return reached


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """A broker that refuses every connection; how often it was asked."""
    asked: list[str] = []

    def refuse(task: str, **options: object) -> None:
        asked.append(task)
        raise ConnectionRefusedError

    monkeypatch.setattr(nudging, "current_app", SimpleNamespace(send_task=refuse))
    return lambda: len(asked)


def test_a_nudge_leaves_by_name(sent: Sent) -> None:
    postman = Postman()
    assert postman.post("alerts.send_attempt", (7,)) is True
    assert postman.post("alerts.send_code", (8,)) is True
    assert postman.wait(2) is True
    assert sent == [("alerts.send_attempt", (7,)), ("alerts.send_code", (8,))]


def test_a_nudge_reaches_a_real_broker_as_a_message_without_a_result() -> None:
    broker = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    broker.delete("celery")
    postman = Postman()
    assert postman.post("alerts.send_attempt", (7,)) is True
    assert postman.wait(5) is True
    message = json.loads(cast(bytes, broker.lpop("celery")))
    assert (message["headers"]["task"], message["headers"]["ignore_result"]) == ("alerts.send_attempt", True)
    assert json.loads(base64.b64decode(message["body"]))[0] == [7]
    broker.close()


@pytest.mark.django_db(transaction=True)
def test_a_nudge_waits_for_the_commit_and_a_rollback_sends_none(sent: Sent) -> None:
    with transaction.atomic():
        nudge("alerts.send_attempt", 1)
        assert nudging.wait_for_nudges(1)
        assert sent == []
    assert nudging.wait_for_nudges(2)
    assert sent == [("alerts.send_attempt", (1,))]
    with pytest.raises(RuntimeError, match="undo"), transaction.atomic():
        _nudge_then_fail()
    assert nudging.wait_for_nudges(1)
    assert len(sent) == 1


def _nudge_then_fail() -> None:
    nudge("alerts.send_attempt", 2)
    raise RuntimeError("undo")


def test_a_broker_that_is_away_gets_a_rest_and_no_caller_hears_of_it(
    fail: Callable[[], int], caplog: pytest.LogCaptureFixture
) -> None:
    postman = Postman(rest_s=0.3)
    assert postman.post("alerts.send_attempt", (1,)) is True
    assert postman.wait(2) is True
    assert postman.post("alerts.send_attempt", (2,)) is False
    assert fail() == 1
    assert caplog.messages == ["the broker took no nudge (ConnectionRefusedError); the sweep delivers"]
    time.sleep(0.35)
    assert postman.post("alerts.send_attempt", (3,)) is True
    assert postman.wait(2) is True
    assert fail() == 2


def test_a_backlog_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()

    def hang(task: str, **options: object) -> None:
        gate.wait(5)

    monkeypatch.setattr(nudging, "current_app", SimpleNamespace(send_task=hang))
    postman = Postman(backlog=3)
    accepted = [postman.post("alerts.send_attempt", (n,)) for n in range(10)]
    assert accepted.count(True) in (3, 4)
    assert accepted[-1] is False
    gate.set()
    assert postman.wait(5) is True


@pytest.fixture
def silent_broker() -> Iterator[str]:
    """A broker that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def test_a_broker_that_hangs_holds_nobody_up(silent_broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = Celery("stuck", broker=silent_broker, set_as_current=False)
    stuck.conf.broker_transport_options = {"socket_timeout": 1, "socket_connect_timeout": 0.5}
    monkeypatch.setattr(nudging, "current_app", stuck)
    postman = Postman()
    started = time.monotonic()
    for number in range(50):
        postman.post("alerts.send_attempt", (number,))
    assert time.monotonic() - started < 0.2


def test_a_worker_waits_for_its_broker_as_long_as_it_takes() -> None:
    assert app.conf.broker_connection_max_retries is None
    assert app.conf.broker_connection_retry_on_startup is True
