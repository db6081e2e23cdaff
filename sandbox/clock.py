"""The sandbox's clock: what is due when. Real by default; a manual one stands still until it is advanced."""

import heapq
import itertools
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

Mode = Literal["real", "manual"]
log = logging.getLogger("sandbox")
WORKERS = 24


@dataclass(order=True)
class Job:
    """Something to run at a time. `sid` is what it is about; `waits` says that it speaks on the network."""

    due_at: datetime
    order: int
    run: Callable[[], None] = field(compare=False)
    sid: str = field(compare=False, default="")
    waits: bool = field(compare=False, default=False)


class Clock:
    """Runs jobs in the order they are due. Waiting jobs about one `sid` follow each other; others run beside them.

    `speed` is how many of its seconds pass in a real one. In manual mode jobs run in the thread that advances.
    """

    def __init__(self, mode: Mode = "real", *, start_at: datetime | None = None, speed: float = 1.0) -> None:
        self.mode: Mode = mode
        self.speed = speed
        self.failures: list[BaseException] = []
        self._base_at = start_at or datetime.now(UTC)
        self._base_s = time.monotonic()
        self._jobs: list[Job] = []
        self._order = itertools.count()
        self._changed = threading.Condition(threading.RLock())
        self._advancing = threading.RLock()
        self._lanes: dict[str, deque[Job]] = defaultdict(deque)
        self._running = 0
        self._pool: ThreadPoolExecutor | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False

    def now(self) -> datetime:
        """The time, UTC."""
        with self._changed:
            if self.mode == "manual":
                return self._base_at
            return self._base_at + timedelta(seconds=(time.monotonic() - self._base_s) * self.speed)

    def start(self) -> None:
        """Begin to run what is due, in threads of its own."""
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="sandbox-webhook")
        self._thread = threading.Thread(target=self._run, name="sandbox-clock", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Run nothing more; returns when what was running has ended."""
        with self._changed:
            self._stopped = True
            self._jobs.clear()
            self._lanes.clear()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def after(self, delay_s: float, run: Callable[[], None], *, sid: str = "", waits: bool = False) -> None:
        """Run this in `delay_s` seconds of this clock."""
        with self._changed:
            due_at = self.now() + timedelta(seconds=max(0.0, delay_s))
            heapq.heappush(self._jobs, Job(due_at, next(self._order), run, sid, waits))
            self._changed.notify_all()

    def forget(self) -> None:
        """Drop everything that is still to come."""
        with self._changed:
            self._jobs.clear()

    def freeze(self) -> None:
        """From now on, stand still until advanced."""
        with self._changed:
            self._base_at, self.mode = self.now(), "manual"
            self._changed.notify_all()

    def resume(self, *, speed: float = 1.0) -> None:
        """From now on, run by itself."""
        with self._changed:
            self._base_at = self.now()
            self._base_s, self.speed, self.mode = time.monotonic(), speed, "real"
            self._changed.notify_all()

    def advance(self, seconds: float) -> None:
        """Manual mode: let time pass, running in order what becomes due. Returns when every callback was answered."""
        if self.mode != "manual":
            raise RuntimeError("Only a manual clock can be advanced.")
        with self._advancing:
            target_at = self.now() + timedelta(seconds=seconds)
            while (job := self._pop_due(target_at)) is not None:
                job.run()
            with self._changed:
                self._base_at = max(self._base_at, target_at)

    def settle(self, *, timeout_s: float = 20.0) -> None:
        """Run all that is due now; on a real clock, wait until it has run."""
        if self.mode == "manual":
            self.advance(0)
            return
        give_up_s = time.monotonic() + timeout_s
        with self._changed:
            while self._running or any(self._lanes.values()) or (self._jobs and self._jobs[0].due_at <= self.now()):
                if not self._changed.wait(min(0.05, give_up_s - time.monotonic())) and time.monotonic() > give_up_s:
                    raise TimeoutError("The sandbox is still busy.")

    def rush(self, sid: str, *, within_s: float) -> None:
        """Run at once, here, what is to come about `sid` within so many seconds, and what follows from it."""
        with self._changed:
            until_at = self.now() + timedelta(seconds=within_s)
        while True:
            with self._changed:
                mine = sorted(job for job in self._jobs if job.sid == sid and job.due_at <= until_at)
                if not mine:
                    return
                self._jobs.remove(mine[0])
                heapq.heapify(self._jobs)
            mine[0].run()

    def next_due_at(self) -> datetime | None:
        """When the next job is due; None when nothing is to come."""
        with self._changed:
            return self._jobs[0].due_at if self._jobs else None

    def _pop_due(self, until_at: datetime) -> Job | None:
        with self._changed:
            if not self._jobs or self._jobs[0].due_at > until_at:
                return None
            job = heapq.heappop(self._jobs)
            self._base_at = max(self._base_at, job.due_at)
            return job

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                if self.mode == "manual" or not self._jobs:
                    self._changed.wait()
                    continue
                wait_s = (self._jobs[0].due_at - self.now()).total_seconds() / self.speed
                if wait_s > 0:
                    self._changed.wait(wait_s)
                    continue
                job = heapq.heappop(self._jobs)
                if job.waits:
                    self._queue(job)
                    continue
                self._running += 1
            self._finish(job)

    def _queue(self, job: Job) -> None:
        """Give a waiting job to the pool: behind the others of its lane, or at once when it has none."""
        assert self._pool is not None
        if not job.sid:
            self._running += 1
            self._pool.submit(self._finish, job)
            return
        lane = self._lanes[job.sid]
        lane.append(job)
        if len(lane) == 1:
            self._running += 1
            self._pool.submit(self._drain, job.sid)

    def _drain(self, sid: str) -> None:
        while True:
            with self._changed:
                lane = self._lanes.get(sid)
                if not lane:
                    self._lanes.pop(sid, None)
                    self._running -= 1
                    self._changed.notify_all()
                    return
                job = lane[0]
            self._attempt(job)
            with self._changed:
                lane.popleft() if lane else None

    def _finish(self, job: Job) -> None:
        self._attempt(job)
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def _attempt(self, job: Job) -> None:
        try:
            job.run()
        except Exception as error:
            log.exception("A job of the sandbox failed.")
            self.failures.append(error)
