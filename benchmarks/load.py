"""A load generator: keep-alive connections that send prepared requests one after the other, in a process of its own."""

import asyncio
import itertools
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks.samples import Sample

VERSION: Final = "2026-07-28"
META: Final = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
# Stands for a fresh idempotency key in the arguments of a call.
FRESH: Final = "FRESH"
# A token and the arguments to call a tool with.
Call = tuple[str, dict[str, Any]]


def measure(url: str, tool: str, calls: Sequence[Call], *, clients: int, seconds: float) -> Sample:
    """Call one tool for `seconds` over `clients` connections, each with its own share of the calls."""
    plan = {"url": url, "tool": tool, "calls": calls, "clients": clients, "seconds": seconds}
    command = [sys.executable, "-m", "benchmarks.load"]
    run = subprocess.run(command, input=json.dumps(plan), stdout=subprocess.PIPE, text=True, check=True)
    return Sample(**json.loads(run.stdout))


def request_bytes(url: str, body: dict[str, Any], headers: dict[str, str]) -> bytes:
    """One HTTP/1.1 request."""
    parts, data = urlsplit(url), json.dumps(body).encode()
    lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Content-Type: application/json"]
    lines += ["Accept: application/json, text/event-stream", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def requests_of(plan: dict[str, Any], number: int) -> Iterator[bytes]:
    """The requests of one client: its share of the calls, over and over."""
    share = plan["calls"][number :: plan["clients"]] or plan["calls"]
    headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": plan["tool"]}
    for turn, (token, given) in enumerate(itertools.cycle(share)):
        arguments = {name: secrets.token_hex(16) if value == FRESH else value for name, value in given.items()}
        params = {"name": plan["tool"], "arguments": arguments, "_meta": META}
        body = {"jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": params}
        yield request_bytes(plan["url"], body, {**headers, "Authorization": f"Bearer {token}"})


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


async def send_all(plan: dict[str, Any]) -> Sample:
    """Let all clients send; a tenth of the time before the measured one warms up."""
    parts, seconds = urlsplit(plan["url"]), plan["seconds"]
    took_s: list[float] = []
    failed = 0
    starts_at = time.perf_counter() + seconds / 10
    ends_at = starts_at + seconds

    async def client(number: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        for request in requests_of(plan, number):
            began = time.perf_counter()
            if began >= ends_at:
                break
            is_good = await exchange(reader, writer, request)
            if began >= starts_at:
                took_s.append(time.perf_counter() - began)
                failed += not is_good
        writer.close()

    await asyncio.gather(*(client(number) for number in range(plan["clients"])))
    return Sample(took_s, seconds, failed)


def main() -> None:
    """Reads a plan from standard input, writes the sample as JSON."""
    sample = asyncio.run(send_all(json.loads(sys.stdin.read())))
    print(json.dumps({"took_s": sample.took_s, "elapsed_s": sample.elapsed_s, "failed": sample.failed}))


if __name__ == "__main__":
    main()
