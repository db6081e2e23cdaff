"""The same writes as plain SQL: what real `start_workflow` calls wrote, recorded once, written again by psycopg.

Ids that the database gave and what must be unique (code, token, key, references) are replaced by fresh values, so that
every replay inserts new rows, in one transaction, and waits for the same account's row.
"""

import multiprocessing
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import Any, Final

import psycopg
from django.conf import settings
from django.db import connection, connections

from accounts.models import LedgerEntry
from alerts.models import Alert, Attempt, IdempotencyKey
from benchmarks.ports import WORKERS
from benchmarks.samples import Sample
from benchmarks.seeding import Agent, start
from breakpass.ids import new_code, new_token

WRITES: Final = ("INSERT", "UPDATE")
# A parameter that holds this value is made anew by the function.
Fresh = dict[Any, Callable[[], Any]]


@dataclass
class Recording:
    """One call's writes in order: SQL, its parameters, and the ids that it returned; and what must be fresh in them."""

    statements: list[tuple[str, Sequence[Any], list[int]]] = field(default_factory=list)
    fresh: Fresh = field(default_factory=dict)


def record(agent: Agent, workflow_id: str) -> Recording:
    """Run one call and keep what it wrote."""
    with recording() as kept:
        alert = start(agent, workflow_id)
    key = alert.idempotency_keys.get().key
    kept.fresh = {
        alert.code: lambda: new_code("A"),
        alert.ack_token: lambda: new_token(len(alert.ack_token)),
        key: lambda: secrets.token_hex(16),
        **{attempt.ref: uuid.uuid4 for attempt in alert.attempts.all()},
    }
    return kept


@contextmanager
def recording() -> Iterator[Recording]:
    """Record what this thread's connection writes."""
    kept = Recording()

    def keep(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith(WRITES):
            ids: list[int] = []
            cursor = context["cursor"].cursor
            if sql.startswith("INSERT") and "RETURNING" in sql:
                ids = [row[0] for row in cursor.fetchall()]
                cursor.scroll(0, mode="absolute")
            kept.statements.append((sql, params, ids))
        return result

    with connection.execute_wrapper(keep):
        yield kept


def number_apart() -> None:
    """Let what is written have ids that cannot be mistaken for a price or anybody else's id among the parameters."""
    with connection.cursor() as cursor:
        for billions, model in enumerate((Alert, Attempt, LedgerEntry, IdempotencyKey), start=1):
            first = billions * 1_000_000_000
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [model._meta.db_table, first])


def play(cursor: Any, recorded: Recording) -> None:
    """Write again with fresh values."""
    changed: dict[Any, Any] = {}
    for old, make in recorded.fresh.items():
        changed[old] = make()
        if isinstance(old, uuid.UUID):
            changed[f"attempt:{old}"] = f"attempt:{changed[old]}"
    for sql, params, ids in recorded.statements:
        cursor.execute(sql, [replaced(value, changed) for value in params])
        if ids:
            changed.update(zip(ids, (row[0] for row in cursor.fetchall()), strict=True))


def replaced(value: Any, changed: dict[Any, Any]) -> Any:
    """A parameter, or a column of them, with what this replay has instead. True is not an id."""
    if isinstance(value, list):
        return [replaced(each, changed) for each in value]
    if isinstance(value, str | int | uuid.UUID) and not isinstance(value, bool):
        return changed.get(value, value)
    return value


def measure(recordings: Sequence[Recording], *, clients: int, seconds: float) -> Sample:
    """Write again for `seconds` over `clients` connections, in as many processes as the product has."""
    connections.close_all()
    forking = multiprocessing.get_context("fork")
    ends = []
    for worker in range(WORKERS):
        receiving, sending = forking.Pipe(duplex=False)
        share = range(worker, clients, WORKERS)
        child = forking.Process(target=report, args=(sending, recordings, share, clients, seconds), daemon=True)
        child.start()
        sending.close()
        ends.append((child, receiving))
    whole = Sample()
    for child, receiving in ends:
        whole.add(receiving.recv())
        child.join()
    whole.elapsed_s = seconds
    return whole


def report(
    sending: "Pipe[Any, Any]", recordings: Sequence[Recording], share: range, clients: int, seconds: float
) -> None:
    """In a child: measure its share of the clients and hand the sample over."""
    sending.send(write_all(recordings, share, clients, seconds))
    sending.close()


def write_all(recordings: Sequence[Recording], share: range, clients: int, seconds: float) -> Sample:
    """One process's connections, a thread each; a tenth of the time before the measured one warms up."""
    whole = Sample()
    adding = threading.Lock()
    starts_at = time.perf_counter() + seconds / 10
    ends_at = starts_at + seconds

    def client(number: int) -> None:
        mine, sample, turn = recordings[number::clients] or recordings, Sample(), 0
        with psycopg.connect(settings.DATABASE_URL) as link:
            while (began := time.perf_counter()) < ends_at:
                is_good = write(link, mine[turn % len(mine)])
                if began >= starts_at:
                    sample.took_s.append(time.perf_counter() - began)
                    sample.failed += not is_good
                turn += 1
        with adding:
            whole.add(sample)

    threads = [threading.Thread(target=client, args=(number,)) for number in share]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return whole


def write(link: "psycopg.Connection[Any]", recorded: Recording) -> bool:
    """One recording in one transaction; whether it was written. A public id that is taken is not the last word."""
    for _ in range(2):
        try:
            with link.transaction(), link.cursor() as cursor:
                play(cursor, recorded)
        except psycopg.errors.UniqueViolation:
            continue
        except psycopg.Error:
            return False
        return True
    return False
