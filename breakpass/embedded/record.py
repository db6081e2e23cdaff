"""The record of what `make run` started (`var/run/servers.json`): written by it, read by settings."""

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Set to "off" by the tests, so that a development server that happens to run never changes a test's settings.
SWITCH = "EMBEDDED_SERVERS"


@dataclass(frozen=True)
class Entry:
    """One running server: its process, where it listens, and the settings that point at it."""

    name: str
    pid: int
    started_at: float
    """When the process began, in seconds since 1970 as the system tells it; a re-used pid has another one."""
    address: str
    """A socket's path, or host:port."""
    settings: dict[str, str]


def path_of(base_dir: Path) -> Path:
    """Where the record lies in a checkout."""
    return base_dir / "var" / "run" / "servers.json"


def write(path: Path, entries: list[Entry]) -> None:
    """Replace the record in one step. It holds the development servers' passwords: readable by its owner only."""
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump([asdict(entry) for entry in entries], file, indent=1)
    draft.replace(path)


def read(path: Path) -> list[Entry]:
    """The recorded servers, alive or not; none when there is no record, it is damaged, or it is not ours to read."""
    try:
        rows: Any = json.loads(path.read_text(encoding="utf-8"))
        return [Entry(**row) for row in rows]
    except (OSError, ValueError, TypeError):
        return []


def is_listening(address: str, timeout_s: float = 0.5) -> bool:
    """Whether something accepts connections there: a socket's path, or host:port."""
    is_path = address.startswith("/")
    host, _, port = address.rpartition(":")
    with socket.socket(socket.AF_UNIX if is_path else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(timeout_s)
        try:
            probe.connect(address if is_path else (host, int(port)))
        except OSError:
            return False
    return True


def discover(base_dir: Path) -> dict[str, str]:
    """The settings (`DATABASE_URL`, `REDIS_URL`, the sandbox's) of the servers that `make run` has running here.

    Empty when none are, in production, and when `EMBEDDED_SERVERS=off`. Costs one file and a local connect each.
    """
    if os.environ.get(SWITCH) == "off" or os.environ.get("ENVIRONMENT") == "production":
        return {}
    found: dict[str, str] = {}
    for entry in read(path_of(base_dir)):
        if entry.settings and is_listening(entry.address):
            found.update(entry.settings)
    return found
