"""PostgreSQL and Redis together, each only where its URL is not set: what tests and single commands need."""

import os
from pathlib import Path

from breakpass.embedded import lock, postgres, record, redis
from breakpass.embedded.process import Child, kill_group, stop, stop_leftovers


class Pair:
    """The two servers with their data under one folder. `start` is all or nothing; `stop` may be called twice."""

    def __init__(self, folder: Path, *, durable: bool, what: str) -> None:
        self.folder = folder
        self.durable = durable
        self.what = what
        self.entries: list[record.Entry] = []
        self._children: list[Child] = []
        self._lock: int | None = None

    @property
    def record_path(self) -> Path:
        """Where the running servers are written down."""
        return self.folder / "run" / "servers.json"

    def start(self) -> dict[str, str]:
        """Start what is not configured; return the settings that point at it (`DATABASE_URL`, `REDIS_URL`).

        Stops what a crashed run left behind. Errors: `CannotStart`.
        """
        for name in ("run", "log"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._lock = lock.take(self.folder / "run" / "lock", self.what)
        stop_leftovers(record.read(self.record_path))
        try:
            if not os.environ.get("DATABASE_URL"):
                database = postgres.start(self.folder, log=self.log_of("postgres"), durable=self.durable)
                self.add(database.child, database.address, {"DATABASE_URL": database.url})
            if not os.environ.get("REDIS_URL"):
                broker = redis.start(self.folder, log=self.log_of("redis"))
                self.add(broker.child, broker.address, {"REDIS_URL": broker.url})
        except BaseException:
            self.stop()
            raise
        return self.settings()

    def log_of(self, name: str) -> Path:
        """The log file of a process."""
        return self.folder / "log" / f"{name}.log"

    def add(self, child: Child, address: str = "", settings: dict[str, str] | None = None) -> None:
        """Take a started process into the record and into `stop`."""
        self._children.append(child)
        self.entries.append(child.entry(address, settings))
        record.write(self.record_path, self.entries)

    def ended(self) -> Child | None:
        """The first process that ended on its own, if any did."""
        return next((child for child in self._children if child.process.poll() is not None), None)

    def settings(self) -> dict[str, str]:
        """All settings that point at what runs."""
        return {name: value for entry in self.entries for name, value in entry.settings.items()}

    def hurry(self) -> None:
        """Cut off all but the database, for whoever does not want to wait for `stop`."""
        for child in self._children:
            if child.name != "postgres":
                kill_group(child)

    def stop(self) -> None:
        """Stop everything, the last started first, and forget it."""
        while self._children:
            # It leaves the list last, so that `hurry` reaches the one that is being waited for.
            stop(self._children[-1])
            self._children.pop()
        self.entries = []
        self.record_path.unlink(missing_ok=True)
        if self._lock is not None:
            lock.drop(self._lock)
            self._lock = None
