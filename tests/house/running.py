"""The whole product as `make run` starts it, with its own servers, data and logs in a folder of a test."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
from django.conf import settings

from breakpass.embedded import record
from breakpass.embedded.redis import free_port

T = TypeVar("T")
RUN = (
    "import sys, pathlib; from breakpass.embedded import __main__ as m; "
    "m.BASE_DIR = pathlib.Path(sys.argv[1]); sys.exit(m.main(['run']))"
)
# What a developer's machine may say, and what this run must not hear.
UNHEARD = ("DATABASE_URL", "REDIS_URL", "EMBEDDED_SERVERS", "BASE_URL", "LINK_BASE_URL", "LOG_LEVEL", "ENVIRONMENT")


class Running:
    """Started by `start`, which waits until it is ready; `stop` gives everything that it wrote."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port, self.sandbox_port = free_port(), free_port()
        self.site = f"http://127.0.0.1:{self.port}"
        self.sandbox = f"http://127.0.0.1:{self.sandbox_port}"
        self.printed: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self) -> None:
        """Start it. `AssertionError` with what it printed when it does not come up."""
        base = Path(settings.BASE_DIR)
        shutil.copy(base / "Procfile", self.home / "Procfile")
        (self.home / "manage.py").symlink_to(base / "manage.py")
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(self.home)],
            cwd=self.home,
            env=self._environment() | {"PORT": str(self.port), "SANDBOX_PORT": str(self.sandbox_port)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.wait_for(lambda: any("Ctrl-C stops everything" in line for line in self.printed), timeout_s=180)

    def stop(self) -> dict[str, str]:
        """Ctrl-C; then every log by its name, and what the terminal showed apart from the block that it shows once."""
        assert self._process is not None
        assert self._reader is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=60)
        self._reader.join(timeout=10)
        assert self._process.stdout is not None
        self._process.stdout.close()
        terminal = re.sub(r"BreakPass is running\..*?Ctrl-C", "", "".join(self.printed), flags=re.DOTALL)
        logs = {path.name: path.read_text(errors="replace") for path in (self.home / "var" / "log").iterdir()}
        return {"terminal": terminal, **logs}

    @property
    def sign_in_url(self) -> str:
        """The link that is printed once."""
        return next(word for line in self.printed for word in line.split() if "demo-sign-in" in word)

    @property
    def settings(self) -> dict[str, str]:
        """What its processes run with."""
        entries = record.read(record.path_of(self.home))
        return {name: value for entry in entries for name, value in entry.settings.items()}

    def command(self, *words: str) -> dict[str, Any]:
        """A management command's answer."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=self.home,
            env=self._environment() | self.settings,
            text=True,
            capture_output=True,
            check=True,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def phones(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The sandbox's control API: a POST when there is a body."""
        address = f"{self.sandbox}/sandbox/api/{path}"
        answer = httpx.get(address) if body is None else httpx.post(address, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def message(self, number: str, channel: str, contains: str) -> dict[str, Any]:
        """The newest message of ours to a phone that holds these words; waits until it arrived."""
        query = str(httpx.QueryParams({"to": number, "channel": channel, "contains": contains}))

        def newest() -> dict[str, Any] | None:
            sent = [one for one in self.phones(f"messages?{query}") if one["direction"] == "outbound-api"]
            return sent[-1] if sent and sent[-1]["status"] in ("delivered", "read") else None

        return self.wait_for(newest)

    def calls(self, number: str) -> list[dict[str, Any]]:
        """The calls to a phone, oldest first."""
        found: list[dict[str, Any]] = self.phones(f"calls?{httpx.QueryParams({'to': number})}")
        return found

    @staticmethod
    def wait_for(what: Callable[[], T | None], *, timeout_s: float = 20) -> T:
        """Wait until something is so; its value."""
        ends_at = time.monotonic() + timeout_s
        while not (found := what()):
            assert time.monotonic() < ends_at, "It did not happen in time."
            time.sleep(0.1)
        return found

    def _environment(self) -> dict[str, str]:
        heard = {
            name: value
            for name, value in os.environ.items()
            if name not in UNHEARD and not name.startswith(("TWILIO_", "SANDBOX_", "PYTEST_"))
        }
        return heard | {"PYTHONPATH": str(settings.BASE_DIR)}

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self.printed.extend(iter(self._process.stdout.readline, ""))
