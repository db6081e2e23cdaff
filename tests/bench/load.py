"""A load generator: keep-alive connections that send prepared requests one after the other, in a process of its own."""

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one measurement; `failed` answers were not 200, or held an error."""

    per_s: float
    p50_ms: float
    p99_ms: float
    failed: int


def summarise(took_s: list[float], elapsed_s: float, failed: int) -> Result:
    """Rate and percentiles of the requests' times."""
    ordered = sorted(took_s) or [0.0]
    median, late = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 for share in (0.5, 0.99))
    return Result(len(took_s) / elapsed_s, median, late, failed)


def request_bytes(url: str, body: dict[str, Any], headers: dict[str, str]) -> bytes:
    """One HTTP/1.1 request."""
    parts, data = urlsplit(url), json.dumps(body).encode()
    lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Content-Type: application/json"]
    lines += ["Accept: application/json, text/event-stream", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bool:
    """Send one request and read its answer; whether it was a success."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    body = await reader.readexactly(length)
    return head.startswith(b"HTTP/1.1 200") and b'"isError":true' not in body and b'"error":{' not in body


async def measure(url: str, requests: Callable[[int], Iterator[bytes]], *, clients: int, seconds: float) -> Result:
    """Let `clients` connections send for `seconds`, after a tenth of that to warm up."""
    parts = urlsplit(url)
    took: list[float] = []
    failed = 0
    starts_at = time.perf_counter() + seconds / 10
    ends_at = starts_at + seconds

    async def client(number: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        for request in requests(number):
            began = time.perf_counter()
            if began >= ends_at:
                break
            is_good = await exchange(reader, writer, request)
            if began >= starts_at:
                took.append(time.perf_counter() - began)
                failed += not is_good
        writer.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return summarise(took, seconds, failed)


def tool_requests(plan: dict[str, Any], number: int) -> Iterator[bytes]:
    """Calls of one tool: each client takes turns with its own share of the tokens; `KEY` becomes a fresh key."""
    tokens = plan["tokens"][number :: plan["clients"]] or plan["tokens"]
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": plan["tool"]}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    for turn, token in enumerate(itertools.cycle(tokens)):
        arguments = {
            name: f"{plan['run']}-{number}-{turn}" if value == "KEY" else value
            for name, value in plan["arguments"].items()
        }
        params = {"name": plan["tool"], "arguments": arguments, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": params}
        yield request_bytes(plan["url"], body, {**headers, "Authorization": f"Bearer {token}"})


def main() -> None:
    """Reads a plan from standard input, writes the result as JSON."""
    plan = json.loads(sys.stdin.read())
    result = asyncio.run(
        measure(
            plan["url"],
            lambda number: tool_requests(plan, number),
            clients=plan["clients"],
            seconds=plan["seconds"],
        )
    )
    print(json.dumps([result.per_s, result.p50_ms, result.p99_ms, result.failed]))


if __name__ == "__main__":
    main()
