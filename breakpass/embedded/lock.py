"""One `make run` (or one test run) per checkout: a file lock that the system drops when its holder dies."""

import fcntl
import os
from pathlib import Path

from breakpass.embedded.problems import CannotStart


def take(path: Path, what: str) -> int:
    """Lock the file and return its descriptor, to be kept open; `CannotStart` names the process that has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
        os.close(descriptor)
        raise CannotStart(
            f"{what} is already running in this checkout (process {holder}); stop that one first."
        ) from None
    # The number is for the message above only; a crash leaves it behind without harm.
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def drop(descriptor: int) -> None:
    """Release the lock."""
    os.close(descriptor)
