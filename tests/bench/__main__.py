"""Runs everything and prints one table. `python -m tests.bench [SECONDS] [CLIENTS]`, usually through `make bench`."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import Config, Sandbox
from tests.bench.load import Result

if TYPE_CHECKING:
    from tests.bench.replay import Recording

ROOT = Path(__file__).resolve().parent.parent.parent
ACCOUNTS, WORKERS = 48, 2
MESSAGE = "Checkout is failing."
# The caps are there to stop exactly this.
NO_CAPS = {
    name: str(10**9)
    for name in (
        "HOLDER_ALERTS_PER_HOUR", "HOLDER_CALLS_PER_HOUR", "ACCOUNT_PER_MINUTE", "ACCOUNT_PER_HOUR",
        "ACCOUNT_PER_DAY", "NEW_ACCOUNT_ALERTS_PER_DAY", "NEW_ACCOUNT_CALLS_PER_DAY", "UNBILLED_PER_HOUR",
        "UNBILLED_PER_DAY",
    )
}  # fmt: skip


def free_port() -> int:
    """A port that nobody uses right now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def serving(command: list[str], port: int, env: dict[str, str]) -> Iterator[None]:
    """A server process, once it accepts connections, until the block ends."""
    process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError(f"{command[0]} did not start") from None
                time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(20)


def load(
    url: str, tool: str, arguments: Mapping[str, object], tokens: list[str], clients: int, seconds: float
) -> Result:
    """Measure one tool from a process of its own."""
    plan = {
        "url": url,
        "tool": tool,
        "arguments": dict(arguments),
        "tokens": tokens,
        "clients": clients,
        "seconds": seconds,
        "run": secrets.token_hex(4),
    }
    run = subprocess.run(
        [sys.executable, "-m", "tests.bench.load"],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return Result(*json.loads(run.stdout))


def prepare() -> list[str]:
    """Migrate, load rates, and open the accounts; their agents' tokens."""
    from django.core.management import call_command
    from django.utils import timezone

    from accounts.enrolling import Owner, enrol_owner
    from accounts.models import User
    from mcp_gateway import grants

    call_command("migrate", verbosity=0, interactive=False)
    with open(os.devnull, "w") as quiet:
        call_command("load_rates", stdout=quiet)
    tokens = []
    for number in range(ACCOUNTS):
        email = f"bench-{number}@example.com"
        owner = Owner(
            email=email,
            name="Sam",
            number=f"+1202555{number:04d}",
            is_verified=True,
            is_paid=True,
            plan=None,
            residence="US",
            balance_cents=100_000_000,
        )
        enrol_owner(owner, now=timezone.now())
        user = User.objects.get(email=email)
        scopes = ("alerts.read", "alerts.send")
        tokens.append(grants.issue(user, client_name="Bench", scopes=scopes, now=timezone.now()).access_token)
    return tokens


def record() -> "list[Recording]":
    """One recording of `start_workflow` per account."""
    from django.db import connection
    from django.utils import timezone

    from accounts.locking import locked
    from accounts.models import Connection
    from alerts import sending
    from alerts.models import Alert, Attempt
    from tests.bench import replay

    with connection.cursor() as cursor:
        # Ids that cannot be mistaken for an account's or a person's.
        for model, start in ((Alert, 1_000_000), (Attempt, 2_000_000)):
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('{model._meta.db_table}', 'id'),"
                f" GREATEST({start}, nextval(pg_get_serial_sequence('{model._meta.db_table}', 'id'))))"
            )
    recordings: list[Recording] = []
    for link in Connection.objects.filter(name="Bench").order_by("pk"):
        with replay.recording() as kept, locked(link.account_id) as account:
            sending.start_workflow(
                account,
                account.connections.get(pk=link.pk),
                workflow_id="inform",
                message=MESSAGE,
                idempotency_key="bench-key-" + secrets.token_hex(8),
                now=timezone.now(),
            )
        recordings.append(kept)
    return recordings


def main(seconds: float = 8.0, clients: int = 16) -> None:
    """Measure, one after the other on an otherwise idle machine, and print the table."""
    port, bare_port = free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    with Sandbox(Config(inbound_url=f"{url}/webhooks/twilio/inbound")) as sandbox:
        os.environ.update(sandbox.environment | NO_CAPS)
        os.environ.update(
            DJANGO_SETTINGS_MODULE="breakpass.settings",
            BASE_URL=url,
            ENVIRONMENT="production",
            SECRET_KEY=secrets.token_urlsafe(48),
            SECURE_SSL_REDIRECT="0",
            LOG_LEVEL="ERROR",
        )
        import django

        django.setup()
        from django.conf import settings

        from tests.bench import replay

        tokens = prepare()
        recordings = record()
        results: dict[str, Result] = {}
        env = dict(os.environ)
        bare = [sys.executable, "-m", "tests.bench.bare", str(bare_port), str(WORKERS)]
        with serving(bare, bare_port, env):
            results["bare SDK, no-op"] = load(f"http://127.0.0.1:{bare_port}/", "noop", {}, ["none"], clients, seconds)
        granian = [
            sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port),
            "--workers", str(WORKERS), "--blocking-threads", "8", "--no-ws", "--log-level", "critical",
            "breakpass.wsgi:application",
        ]  # fmt: skip
        start = {"workflow_id": "inform", "message": MESSAGE, "idempotency_key": "KEY"}
        with serving(granian, port, env):
            for label, tool, arguments in (
                ("get_setup_status", "get_setup_status", {}),
                ("get_alert_status", "get_alert_status", {"event_reference": "none"}),
                ("start_workflow", "start_workflow", start),
            ):
                results[label] = load(f"{url}/mcp", tool, arguments, tokens, clients, seconds)
        results["the same SQL, psycopg"] = replay.measure(
            dsn_of(settings.DATABASES["default"]), recordings, clients=clients, seconds=seconds
        )
        show(results, seconds, clients)


def dsn_of(database: dict[str, object]) -> str:
    """psycopg's name for Django's database."""
    parts = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD", "dbname": "NAME"}
    return " ".join(f"{name}={database[key]}" for name, key in parts.items() if database.get(key))


def show(results: dict[str, Result], seconds: float, clients: int) -> None:
    """The table, with each row's rate as a part of the ceiling's and of plain SQL's."""
    ceiling, sql = results["bare SDK, no-op"].per_s, results["the same SQL, psycopg"].per_s
    print(f"{clients} clients, {seconds:g} s each, {WORKERS} web workers, {os.cpu_count()} cores, PostgreSQL")
    print(f"{'':24}{'per s':>9}{'p50 ms':>9}{'p99 ms':>9}{'failed':>8}{'of SDK':>9}{'of SQL':>9}")
    for label, result in results.items():
        of_sdk, of_sql = result.per_s / ceiling, result.per_s / sql if sql else 0
        print(
            f"{label:24}{result.per_s:9.0f}{result.p50_ms:9.1f}{result.p99_ms:9.1f}{result.failed:8}"
            f"{of_sdk:9.2f}{of_sql:9.2f}"
        )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 8.0, int(sys.argv[2]) if len(sys.argv) > 2 else 16)
