"""The same writes as plain SQL: the statements of real `start_workflow` calls, recorded once, replayed by psycopg.

What a call makes up (ids that the database gave, its alert's code and token, its key) is replaced by fresh values, so
that every replay writes new rows under the same locks.
"""

import re
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import connection

from breakpass.ids import new_code, new_token
from tests.bench.load import Result, summarise

CODE = re.compile(r"A-[2-9A-HJKMNP-Z]{6}")
TOKEN = re.compile(r"(?=.*[0-9A-Z])[0-9A-Za-z]{9,40}")


@dataclass
class Recording:
    """One call's statements in order: SQL, its parameters, and the ids that it returned."""

    statements: list[tuple[str, Any, list[int]]] = field(default_factory=list)


@contextmanager
def recording() -> Iterator[Recording]:
    """Record what this thread's connection runs."""
    kept = Recording()

    def keep(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        result = execute(sql, params, many, context)
        ids: list[int] = []
        cursor = context["cursor"].cursor
        if sql.startswith("INSERT") and "RETURNING" in sql:
            rows = cursor.fetchall()
            ids = [row[0] for row in rows]
            cursor.scroll(0, mode="absolute")
        kept.statements.append((sql, params, ids))
        return result

    with connection.execute_wrapper(keep):
        yield kept


def fresh_words(recorded: Recording) -> dict[Any, Any]:
    """New values for what a call made up itself: its alert's code, acknowledgement token, key and references."""
    words: dict[Any, Any] = {}
    for sql, params, _ in recorded.statements:
        if isinstance(params, dict):
            continue
        for value in params or ():
            if isinstance(value, uuid.UUID):
                words[value] = uuid.uuid4()
                words[f"attempt:{value}"] = f"attempt:{words[value]}"
            elif type(value) is not str:
                continue
            elif CODE.fullmatch(value):
                words[value] = new_code("A")
            elif value.startswith("bench-key-"):
                words[value] = "bench-key-" + secrets.token_hex(8)
            elif sql.startswith("INSERT") and TOKEN.fullmatch(value):
                words[value] = new_token(len(value))
    return words


def play(cursor: Any, recorded: Recording) -> None:
    """Run the statements again with fresh values, in one transaction."""
    changed = fresh_words(recorded)
    for sql, params, ids in recorded.statements:
        cursor.execute(sql, params if isinstance(params, dict) else [replaced(value, changed) for value in params])
        if ids:
            changed.update(zip(ids, (row[0] for row in cursor.fetchall()), strict=True))


def replaced(value: Any, changed: dict[Any, Any]) -> Any:
    """A parameter with the id or word that this replay has instead. True is not an id."""
    if isinstance(value, str | int | uuid.UUID) and not isinstance(value, bool):
        return changed.get(value, value)
    return value


def measure(dsn: str, recordings: list[Recording], *, clients: int, seconds: float) -> Result:
    """Let `clients` connections replay their share of the recordings for `seconds`."""
    took: list[float] = []
    failed = 0
    lock = threading.Lock()
    ends_at = time.perf_counter() + seconds

    def client(number: int) -> None:
        nonlocal failed
        mine, times, bad = recordings[number::clients] or recordings, [], 0
        with psycopg.connect(dsn, autocommit=False) as link:
            turn = 0
            while (began := time.perf_counter()) < ends_at:
                try:
                    with link.transaction(), link.cursor() as cursor:
                        play(cursor, mine[turn % len(mine)])
                except psycopg.Error:
                    bad += 1
                times.append(time.perf_counter() - began)
                turn += 1
        with lock:
            took.extend(times)
            failed += bad

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return summarise(took, seconds, failed)
