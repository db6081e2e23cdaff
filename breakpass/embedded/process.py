"""Child processes that never outlive the one that started them."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from breakpass.embedded.record import Entry

LOG_LIMIT = 5 * 1024 * 1024
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass
class Child:
    """A started process, how to ask it to stop, and how long (in seconds) it may take."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    stop_signal: signal.Signals
    patience_s: float

    def entry(self, address: str = "", settings: Mapping[str, str] | None = None) -> Entry:
        """The child as the record keeps it."""
        return Entry(self.name, self.process.pid, began_at(self.process.pid), address, dict(settings or {}))


def began_at(pid: int) -> float:
    """When the process began (seconds since 1970); 0 when there is none."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


def _follow_parent(parent: int, stop_signal: signal.Signals) -> Callable[[], None] | None:
    """On Linux: have the kernel stop the child when its parent dies, even by SIGKILL."""
    libc = _libc
    if libc is None:
        return None

    def follow() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(stop_signal))
        if os.getppid() != parent:
            os._exit(1)

    return follow


def spawn(
    name: str,
    argv: Sequence[str],
    *,
    log: Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    user: tuple[int, int] | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
    patience_s: float = 15,
) -> Child:
    """Start a process in a session of its own (Ctrl-C does not reach it), its output appended to `log`.

    `user` is the user and group id to run as, where that is not our own.
    """
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        log.replace(log.with_suffix(".old.log"))
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=dict(env) if env is not None else None,
            start_new_session=True,
            user=user[0] if user else None,
            group=user[1] if user else None,
            extra_groups=[] if user else None,
            preexec_fn=_follow_parent(os.getpid(), stop_signal),
        )
    return Child(name, process, log, stop_signal, patience_s)


def stop(child: Child) -> None:
    """Ask the child to stop, wait, and kill what is left of its session."""
    if child.process.poll() is None:
        child.process.send_signal(child.stop_signal)
        try:
            child.process.wait(child.patience_s)
        except subprocess.TimeoutExpired:
            child.process.kill()
    kill_group(child)
    child.process.wait()


def kill_group(child: Child) -> None:
    """Kill whatever still runs in the child's session: the workers of a parent that died on its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.process.pid, signal.SIGKILL)


def stop_leftovers(entries: Sequence[Entry]) -> None:
    """Stop what a crashed run left behind: a recorded pid counts only with its recorded time of birth."""
    left: list[psutil.Process] = []
    for entry in reversed(entries):
        began = began_at(entry.pid)
        if began and abs(began - entry.started_at) < 1:
            process = psutil.Process(entry.pid)
            left += [process, *process.children(recursive=True)]
            with contextlib.suppress(psutil.Error):
                # SIGINT is PostgreSQL's fast shutdown; on SIGTERM it would wait for its clients.
                process.send_signal(signal.SIGINT if entry.name == "postgres" else signal.SIGTERM)
    _, stubborn = psutil.wait_procs(left, timeout=10)
    for process in stubborn:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(stubborn, timeout=5)


def wait_until(ready: Callable[[], bool], child: Child, timeout_s: float) -> bool:
    """Poll until ready; false when the child ended or the time is over."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if ready():
            return True
        if child.process.poll() is not None:
            return False
        time.sleep(0.05)
    return False


def last_line(log: Path) -> str:
    """The last line of a log that is not blank, for an error message."""
    with contextlib.suppress(OSError):
        lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace")[-8000:].splitlines()]
        return next((line for line in reversed(lines) if line), "")
    return ""
