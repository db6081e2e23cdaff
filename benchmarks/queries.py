"""How many queries a call takes, from the bearer check to the answer: counted in this process, exactly."""

import json
import secrets
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.load import FRESH, META, VERSION

NOT_QUERIES: Final = ("BEGIN", "COMMIT")


def count(tool: str, token: str, arguments: dict[str, Any]) -> int:
    """The queries of a second call: the first one of a minute also notes that the connection was used.

    Raises RuntimeError when the call fails.
    """
    call(tool, token, arguments)
    with CaptureQueriesContext(connection) as captured:
        call(tool, token, arguments)
    return sum(query["sql"] not in NOT_QUERIES for query in captured.captured_queries)


def call(tool: str, token: str, arguments: dict[str, Any]) -> None:
    """One call through the whole stack of this process."""
    fresh = {name: secrets.token_hex(16) if value == FRESH else value for name, value in arguments.items()}
    params = {"name": tool, "arguments": fresh, "_meta": META}
    headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    response = Client(SERVER_NAME=settings.BASE_HOST).post(
        "/mcp",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
        content_type="application/json",
        headers={**headers, "Accept": "application/json", "Authorization": f"Bearer {token}"},
    )
    answer = json.loads(response.content)
    if response.status_code != 200 or "error" in answer or answer["result"].get("isError"):
        raise RuntimeError(f"{tool} answered {response.status_code}, not a result")
