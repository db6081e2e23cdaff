"""The clock: manual and in order, or real and by itself, and the change from one to the other."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import httpx
import pytest

from sandbox import Config, Sandbox
from sandbox.clock import Clock
from tests.sandbox.conftest import MAYA, START, Receiver


@pytest.fixture
def running() -> Iterator[Clock]:
    clock = Clock(speed=50)
    clock.start()
    yield clock
    clock.stop()


def test_a_manual_clock_runs_what_is_due_in_order_and_shows_each_its_time() -> None:
    clock = Clock("manual", start_at=START)
    ran: list[tuple[str, float]] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: ran.append((name, (clock.now() - START).total_seconds()))

    clock.after(5, note("late"))
    clock.after(1, note("early"))
    clock.after(1, note("early too"))
    clock.after(2, lambda: clock.after(1, note("follows")))
    clock.advance(4)
    assert ran == [("early", 1.0), ("early too", 1.0), ("follows", 3.0)]
    assert clock.now() == START + timedelta(seconds=4)
    clock.advance(1)
    assert ran[-1] == ("late", 5.0)


def test_a_real_clock_runs_by_itself_at_its_speed(running: Clock) -> None:
    done = threading.Event()
    began_s = time.monotonic()
    running.after(5, done.set)
    assert done.wait(3)
    assert 0.08 <= time.monotonic() - began_s < 3
    with pytest.raises(RuntimeError, match="manual"):
        running.advance(1)


def test_jobs_about_one_thing_follow_each_other_and_hold_up_nobody_else(running: Clock) -> None:
    order: list[str] = []
    go_on, other_done, all_done = threading.Event(), threading.Event(), threading.Event()

    def slow() -> None:
        go_on.wait(5)
        order.append("first")

    def second() -> None:
        order.append("second")
        all_done.set()

    running.after(0, slow, sid="A", waits=True)
    running.after(0, second, sid="A", waits=True)
    running.after(0, other_done.set, sid="B", waits=True)
    assert other_done.wait(3)
    assert order == []
    go_on.set()
    assert all_done.wait(3)
    assert order == ["first", "second"]


def test_settle_waits_for_what_is_due_on_a_real_clock(running: Clock) -> None:
    ran: list[int] = []

    def slow() -> None:
        time.sleep(0.2)
        ran.append(1)

    running.after(0, slow, waits=True)
    running.settle()
    assert ran == [1]


def test_a_clock_can_be_frozen_and_resumed(running: Clock) -> None:
    done = threading.Event()
    running.freeze()
    frozen_at = running.now()
    running.after(1, done.set)
    assert not done.wait(0.1)
    assert running.now() == frozen_at
    running.advance(0.5)
    assert not done.is_set()
    running.resume(speed=50)
    assert done.wait(3)


def test_a_failure_of_the_sandbox_itself_fails_the_test_that_uses_it() -> None:
    def fail() -> None:
        raise KeyError("broken")

    with Sandbox(clock="real") as sandbox:
        sandbox.clock.after(0, fail)
        give_up_s = time.monotonic() + 5
        while not sandbox.clock.failures and time.monotonic() < give_up_s:
            time.sleep(0.01)
        with pytest.raises(KeyError, match="broken"):
            sandbox.settle()
        sandbox.assert_nothing_unexpected()


def test_on_a_real_clock_a_message_is_delivered_without_anybody_waiting_for_it(receiver: Receiver) -> None:
    with Sandbox(Config(), speed=20) as sandbox:
        auth = (sandbox.config.account_sid, sandbox.config.auth_token)
        url = f"{sandbox.url}/2010-04-01/Accounts/{auth[0]}/Messages.json"
        form = {"To": MAYA, "From": sandbox.config.sms_from, "Body": "x", "StatusCallback": f"{receiver.url}/status"}
        answer = httpx.post(url, data=form, auth=auth, trust_env=False)
        assert answer.json()["status"] == "queued"
        give_up_s = time.monotonic() + 5
        while len(receiver.received) < 2 and time.monotonic() < give_up_s:
            time.sleep(0.01)
    assert receiver.statuses() == ["sent", "delivered"]
