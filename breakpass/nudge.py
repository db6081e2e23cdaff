"""Nudging a worker by task name: quick when the broker is well, harmless when it is not (architecture, rule 2).

The database is the queue and a sweep finds what was never nudged, so a nudge may be lost. It may never fail a request
or hold it up: a thread of its own does the talking, and gives the broker a rest after a failure.
"""

import logging
import os
import queue
import threading
import time
from typing import Final

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)
REST_S: Final = 5.0
BACKLOG: Final = 2000

Nudge = tuple[str, tuple[int | str, ...]]


class Postman:
    """Hands nudges to the broker, one after the other, outside the threads that answer requests."""

    def __init__(self, rest_s: float = REST_S, backlog: int = BACKLOG) -> None:
        self.rest_s = rest_s
        self._waiting: queue.Queue[Nudge] = queue.Queue(backlog)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._quiet_until = 0.0

    def post(self, task: str, args: tuple[int | str, ...]) -> bool:
        """Accept a nudge without waiting. False when it was dropped: the broker rests, or is far behind."""
        if time.monotonic() < self._quiet_until:
            return False
        try:
            self._waiting.put_nowait((task, args))
        except queue.Full:
            return False
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="nudges", daemon=True)
                    self._thread.start()
        return True

    def wait(self, timeout_s: float) -> bool:
        """Wait until everything accepted so far was handed over or dropped; False when that took too long."""
        deadline = time.monotonic() + timeout_s
        while self._waiting.unfinished_tasks:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def _work(self) -> None:
        while True:
            task, args = self._waiting.get()
            try:
                if time.monotonic() >= self._quiet_until:
                    self._send(task, args)
            finally:
                self._waiting.task_done()

    def _send(self, task: str, args: tuple[int | str, ...]) -> None:
        try:
            current_app.send_task(task, args=args, ignore_result=True, retry=False, expires=60)
        except Exception as error:
            self._quiet_until = time.monotonic() + self.rest_s
            logger.warning("the broker took no nudge (%s); the sweep delivers", type(error).__name__)


_postman = Postman()


def _start_afresh() -> None:
    """A forked process has no thread of its parent's, and the parent still sends what it had accepted."""
    global _postman
    _postman = Postman()


os.register_at_fork(after_in_child=_start_afresh)


def nudge(task: str, *args: int | str) -> None:
    """Ask for a task by name once the surrounding unit of work is committed. Never raises, never waits."""
    transaction.on_commit(lambda: _post(task, args), robust=True)


def wait_for_nudges(timeout_s: float = 1.0) -> bool:
    """For what is about to exit, and for tests: wait until the nudges so far have left, or for `timeout_s`."""
    return _postman.wait(timeout_s)


def _post(task: str, args: tuple[int | str, ...]) -> None:
    _postman.post(task, args)
