"""`make run`: the whole product on this machine, from the Procfile, with the sandbox in Twilio's place."""

import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from environ import Env

from breakpass.embedded import procfile
from breakpass.embedded.pair import Pair
from breakpass.embedded.problems import CannotStart
from breakpass.embedded.process import Child, last_line, spawn, wait_until
from breakpass.embedded.record import is_listening
from breakpass.embedded.redis import free_port

SERVED = ("web", "worker", "beat")
# Fictional numbers: the exchange 555 with 01xx is never given out.
SENDERS = {
    "TWILIO_SMS_FROM": "+12025550142",
    "TWILIO_WHATSAPP_FROM": "+12025550143",
    "TWILIO_VOICE_FROM": "+12025550144",
}


class Stack:
    """Everything `make run` has running. `start` is all or nothing."""

    def __init__(self, base_dir: Path) -> None:
        env_file = base_dir / ".env"
        if env_file.is_file():
            Env.read_env(str(env_file))
        self.base_dir = base_dir
        self.port = port_from("PORT", 8000)
        self.sandbox_port = port_from("SANDBOX_PORT", 8001)
        self.base_url = os.environ.get("BASE_URL", f"http://127.0.0.1:{self.port}").rstrip("/")
        self.uses_sandbox = not os.environ.get("TWILIO_ACCOUNT_SID")
        self.pair = Pair(base_dir / "var", durable=True, what="make run")
        self.env: dict[str, str] = {}
        self.sign_in_url = ""

    def start(self) -> None:
        """Start servers, sandbox and processes in turn, until the web process answers. Errors: `CannotStart`."""
        found = self.pair.start()
        try:
            self._check_ports()
            binaries = str(Path(sys.executable).parent)
            self.env = dict(os.environ) | found
            self.env["PATH"] = os.pathsep.join([binaries, self.env.get("PATH", os.defpath)])
            self.env |= {"PORT": str(self.port), "BASE_URL": self.base_url, "PYTHONUNBUFFERED": "1"}
            self.env.setdefault("WEB_HOST", "127.0.0.1")
            if self.uses_sandbox:
                self._start_sandbox()
            commands = procfile.read(self.base_dir / "Procfile")
            self._run_once("release", ["sh", "-c", commands["release"]])
            if self.uses_sandbox:
                seeded = self._run_once("seed_demo", [sys.executable, "manage.py", "seed_demo"])
                self.sign_in_url = json.loads(seeded)["sign_in_url"]
            self._serve(commands)
        except BaseException:
            self.pair.stop()
            raise

    def _check_ports(self) -> None:
        wanted = [("PORT", self.port)] + ([("SANDBOX_PORT", self.sandbox_port)] if self.uses_sandbox else [])
        for name, port in wanted:
            if is_listening(f"127.0.0.1:{port}"):
                other = f"{name}={port + 10} make run"
                raise CannotStart(f"Port {port} is already taken: stop what uses it, or choose another with {other}.")

    def _start_sandbox(self) -> None:
        mail_port = free_port()
        settings = sandbox_settings(self.base_dir / "var", self.sandbox_port, mail_port)
        settings = {name: os.environ.get(name) or value for name, value in settings.items()}
        self.env |= settings | {"SANDBOX_SMTP_PORT": str(mail_port), "SANDBOX_PORT": str(self.sandbox_port)}
        argv = [sys.executable, "-m", "sandbox", "--port", str(self.sandbox_port), "--app-url", self.base_url]
        child = self._spawn("sandbox", argv, {"INBOUND_URL": f"{self.base_url}/webhooks/twilio/inbound"})
        address = f"127.0.0.1:{self.sandbox_port}"
        self.pair.add(child, address, settings)
        self._wait(child, address)

    def _serve(self, commands: Mapping[str, str]) -> None:
        for name in SERVED:
            child = self._spawn(name, ["sh", "-c", f"exec {commands[name]}"])
            if name == "web":
                self.pair.add(child, f"127.0.0.1:{self.port}", {"BASE_URL": self.base_url})
                self._wait(child, "/healthz")
            else:
                self.pair.add(child)

    def _spawn(self, name: str, argv: list[str], extra: Mapping[str, str] | None = None) -> Child:
        env = self.env | dict(extra or {})
        return spawn(name, argv, log=self.pair.log_of(name), cwd=self.base_dir, env=env)

    def _wait(self, child: Child, target: str) -> None:
        """Wait until an address listens, or a path of the web process answers 200."""

        def ready() -> bool:
            return answers(self.port, target) if target.startswith("/") else is_listening(target)

        if not wait_until(ready, child, timeout_s=60):
            raise CannotStart(f"{child.name} did not start; {child.log} ends with: {last_line(child.log)}")

    def _run_once(self, name: str, argv: list[str]) -> str:
        """Run a command to its end; return its standard output."""
        log = self.pair.log_of(name)
        with log.open("ab") as errors:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self.base_dir,
                env=self.env,
                check=False,
            )
        if done.returncode != 0:
            raise CannotStart(f"{name} failed; {log} ends with: {last_line(log)}")
        return done.stdout.decode(errors="replace")

    def summary(self) -> str:
        """What to open, for the terminal."""
        rows = [("App", f"{self.base_url}/")]
        if self.sign_in_url:
            rows.append(("Sign in", f"{self.sign_in_url}   (once, as the demo owner)"))
        if self.uses_sandbox:
            sandbox = f"http://127.0.0.1:{self.sandbox_port}"
            rows += [("Phones", f"{sandbox}/"), ("Mailbox", f"{sandbox}/mail")]
        rows += [("MCP", f"{self.base_url}/mcp"), ("Admin", f"{self.base_url}/admin/"), ("Logs", "var/log/")]
        lines = [f"  {name:<9}{value}" for name, value in rows]
        return "\n".join(
            ["", "BreakPass is running.", "", *lines, "", "Ctrl-C stops everything; the data stays in var/."]
        )


def port_from(name: str, default: int) -> int:
    """A port from the environment; `CannotStart` when it is none."""
    text = os.environ.get(name) or str(default)
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise CannotStart(f"{name} must be a port number from 1 to 65535, not {text!r}.")
    return int(text)


def sandbox_settings(var: Path, port: int, mail_port: int) -> dict[str, str]:
    """Twilio's settings as the sandbox answers to them. The credentials are made once per checkout."""
    keys = var / "sandbox.keys"
    if not keys.exists():
        descriptor = os.open(keys, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write("\n".join(secrets.token_hex(16) for _ in range(5)))
    account, token, alert, alert_ack, code = keys.read_text(encoding="ascii").split()
    url = f"http://127.0.0.1:{port}"
    return SENDERS | {
        "TWILIO_ACCOUNT_SID": f"AC{account}",
        "TWILIO_AUTH_TOKEN": token,
        "TWILIO_API_URL": url,
        "TWILIO_CONTENT_API_URL": url,
        "TWILIO_CONTENT_SID_ALERT": f"HX{alert}",
        "TWILIO_CONTENT_SID_ALERT_ACK": f"HX{alert_ack}",
        "TWILIO_CONTENT_SID_CODE": f"HX{code}",
        "EMAIL_URL": f"smtp://127.0.0.1:{mail_port}",
        "SANDBOX_URL": url,
    }


def answers(port: int, path: str) -> bool:
    """Whether the web process answers 200 there."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def how_it_ended(returncode: int) -> str:
    """A return code in words: its exit code, or the signal that killed it."""
    return f"exit code {returncode}" if returncode >= 0 else f"killed by {signal.Signals(-returncode).name}"


def run(base_dir: Path) -> int:
    """Run until Ctrl-C (exit code 0) or until a process ends on its own (1). Errors: `CannotStart`."""
    stack = Stack(base_dir)
    asked: list[int] = []

    def ask(number: int, _frame: object) -> None:
        asked.append(number)
        if len(asked) == 1:
            raise KeyboardInterrupt
        stack.pair.hurry()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ask)
    try:
        print("Starting the servers and BreakPass…", flush=True)
        stack.start()
        print(stack.summary(), flush=True)
        while (ended := stack.pair.ended()) is None:
            time.sleep(0.3)
    except KeyboardInterrupt:
        print("\nStopping…", flush=True)
        stack.pair.stop()
        return 0
    how = how_it_ended(ended.process.returncode)
    print(f"\n{ended.name} ended on its own ({how}); {ended.log} ends with: {last_line(ended.log)}", flush=True)
    print("Stopping the rest; the data stays in var/.", flush=True)
    stack.pair.stop()
    return 1
