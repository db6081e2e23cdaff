"""Server processes on free ports, for as long as they are measured."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
# What the Procfile starts by default.
WORKERS: Final = 2
THREADS: Final = 8
STARTS_WITHIN_S: Final = 30.0
STOPS_WITHIN_S: Final = 10.0


def free_port() -> int:
    """A port that nobody uses right now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def bare_sdk(port: int) -> Iterator[None]:
    """The SDK's own server with a tool that does nothing."""
    with serving([sys.executable, "-m", "benchmarks.bare", str(port), str(WORKERS)], port):
        yield


@contextmanager
def product(port: int) -> Iterator[None]:
    """Our web process as the Procfile runs it."""
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", str(WORKERS), "--blocking-threads", str(THREADS), "--no-ws", "--log-level", "critical"]
    with serving([*command, "breakpass.wsgi:application"], port):
        yield


@contextmanager
def serving(command: list[str], port: int) -> Iterator[None]:
    """A process, once it accepts connections, until the block ends. Raises RuntimeError when it never does."""
    # In a group of its own, so that the processes that it starts end with it.
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        await_port(process, port)
        yield
    finally:
        end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Stop a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOPS_WITHIN_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def await_port(process: "subprocess.Popen[bytes]", port: int) -> None:
    """Wait until the port accepts connections."""
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"no server on port {port}") from None
            time.sleep(0.1)
