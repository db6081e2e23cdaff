"""Measures everything in turns, round after round, so that a busy moment of the machine hits all alike."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection
from redis import Redis

from benchmarks import load, plain_sql, queries, seeding
from benchmarks.ports import THREADS, WORKERS, bare_sdk, free_port, product
from benchmarks.samples import Row, Sample, table
from benchmarks.seeding import MESSAGE, WORKFLOWS, Agent

SDK = "bare SDK, no-op"


@dataclass(frozen=True, slots=True)
class Pace:
    """How long and how hard each measurement is."""

    clients: int
    seconds: float


def run(port: int, *, seconds: float, rounds: int, clients: int, accounts: int) -> int:
    """Measure and print; 1 when a measured request failed."""
    pace = Pace(clients, seconds)
    agents = seeding.open_accounts(accounts)
    bare_port = free_port()
    plain_sql.number_apart()
    samples: dict[str, Sample] = {}
    try:
        with bare_sdk(bare_port), product(port):
            for _ in range(rounds):
                for label, measure in measurements(port, bare_port, agents, pace).items():
                    samples.setdefault(label, Sample()).add(measure())
        counted = count_queries(agents[0])
    finally:
        # What nudged a worker that does not run.
        Redis.from_url(settings.REDIS_URL).delete("celery")
    print("\n".join(heading(pace, rounds, accounts) + table(rows(samples, counted), samples[SDK])))
    return 1 if any(sample.failed or not sample.took_s for sample in samples.values()) else 0


def measurements(port: int, bare_port: int, agents: list[Agent], pace: Pace) -> dict[str, Callable[[], Sample]]:
    """One round: new alerts to read and to write again, and what is measured on them, by the label of its row."""
    seeding.clear_alerts()
    url = f"http://127.0.0.1:{port}/mcp"
    recordings = {name: [plain_sql.record(agent, name) for agent in agents] for name in WORKFLOWS}
    codes = [seeding.open_code(agent) for agent in agents]
    reads = [(agent.token, {"alert_ids": [code]}) for agent, code in zip(agents, codes, strict=True)]
    plain: list[load.Call] = [(agent.token, {}) for agent in agents]

    def tool(name: str, calls: list[load.Call], address: str = url) -> Callable[[], Sample]:
        return lambda: load.measure(address, name, calls, clients=pace.clients, seconds=pace.seconds)

    def written(workflow_id: str) -> Callable[[], Sample]:
        return lambda: plain_sql.measure(recordings[workflow_id], clients=pace.clients, seconds=pace.seconds)

    return {
        SDK: tool("noop", [("none", {})], f"http://127.0.0.1:{bare_port}/"),
        "get_alert_status": tool("get_alert_status", reads),
        "get_setup_status": tool("get_setup_status", plain),
        **{of_tool(name): tool("start_workflow", starts(agents, name)) for name in WORKFLOWS},
        **{of_sql(name): written(name) for name in WORKFLOWS},
    }


def of_tool(workflow_id: str) -> str:
    """The row of our tool."""
    return f"start_workflow {workflow_id}"


def of_sql(workflow_id: str) -> str:
    """The row of plain SQL."""
    return f"its writes as SQL, {workflow_id}"


def start_arguments(workflow_id: str) -> dict[str, Any]:
    """What start_workflow is called with."""
    return {"workflow_id": workflow_id, "message": MESSAGE, "idempotency_key": load.FRESH}


def starts(agents: list[Agent], workflow_id: str) -> list[load.Call]:
    """A start on each account."""
    return [(agent.token, start_arguments(workflow_id)) for agent in agents]


def count_queries(agent: Agent) -> dict[str, int]:
    """The queries of each row that is one of our tools."""
    arguments: dict[str, dict[str, Any]] = {
        "get_alert_status": {"alert_ids": [seeding.open_code(agent)]},
        "get_setup_status": {},
        **{of_tool(name): start_arguments(name) for name in WORKFLOWS},
    }
    return {label: queries.count(label.split()[0], agent.token, given) for label, given in arguments.items()}


def rows(samples: dict[str, Sample], counted: dict[str, int]) -> list[Row]:
    """The table's rows, in the order in which they were measured."""
    sql = {of_tool(name): samples[of_sql(name)] for name in WORKFLOWS}
    return [Row(label, sample, sql.get(label), counted.get(label)) for label, sample in samples.items()]


def heading(pace: Pace, rounds: int, accounts: int) -> list[str]:
    """What one must know to compare: the load, the machine, how durable the database is, and what did not run."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), current_setting('fsync'),"
                       " current_setting('synchronous_commit')")  # fmt: skip
        version, fsync, commit = cursor.fetchone()
    busy = os.getloadavg()[0]
    return [
        f"{pace.clients} clients, {rounds} rounds of {pace.seconds:g} s each, {accounts} accounts;"
        f" {WORKERS} web processes with {THREADS} threads each; {os.cpu_count()} cores, load {busy:.1f}.",
        f"PostgreSQL {version}, fsync {fsync}, synchronous_commit {commit}. No worker runs: what is accepted stays"
        " scheduled. Queries are without BEGIN and COMMIT.",
    ]
