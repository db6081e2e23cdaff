"""Runs the SDK's coroutines from a sync view, and sync ORM code from those coroutines, on one thread (ADR 0006).

`run_sync` drives a private event loop per thread. When a coroutine awaits `call_sync(function)`, the loop stops and the
function runs on the calling thread with no loop running: the same database connection, the same transaction, and
Django's guard against ORM calls in async code stays on. It runs in the thread's own context too: in a copy, every call
would make itself a new client of the cache, and with it a new connection, which are gone with the copy.
"""

import asyncio
import collections
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Value = TypeVar("Value")
Waiting = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class OwnLoop:
    """An event loop that is closed when its thread ends: servers that start a thread per request leave none behind."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def __del__(self) -> None:
        self.loop.close()


class ThreadState(threading.local):
    """This thread's loop, and the calls that wait for it to stop."""

    def __init__(self) -> None:
        self.own: OwnLoop | None = None
        self.calls: collections.deque[Waiting] = collections.deque()
        self.is_running = False


_state = ThreadState()


def run_sync(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine to its end on this thread's loop and return its value. Not reentrant."""
    state = _state
    if state.is_running:
        coroutine.close()
        raise RuntimeError("run_sync is already running on this thread")
    if state.own is None:
        state.own = OwnLoop()
    loop = state.own.loop
    task = loop.create_task(coroutine)
    task.add_done_callback(lambda _task: loop.stop())
    state.is_running = True
    try:
        while not task.done():
            loop.run_forever()
            while state.calls:
                answer(*state.calls.popleft())
    finally:
        state.is_running = False
        state.calls.clear()
    return task.result()


def answer(function: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
    """Run one waiting call and hand its value, or what it raised, to the coroutine that awaits it."""
    try:
        value = function()
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(value)


async def call_sync(function: Callable[[], Value]) -> Value:
    """Run a sync function on the thread that called `run_sync`, outside the loop."""
    if not _state.is_running:
        raise RuntimeError("call_sync needs run_sync on the same thread")
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Value] = loop.create_future()
    _state.calls.append((function, future))
    loop.stop()
    return await future
