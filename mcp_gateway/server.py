"""The SDK's low-level server: `tools/list` and `tools/call`, and nothing else (seed 001, Connect)."""

import logging
import traceback
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import mcp_types as types
from django.conf import settings
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from breakpass.errors import Refusal
from mcp_gateway.auth import Principal
from mcp_gateway.bridge import call_sync
from mcp_gateway.contract import SERVER as DESCRIPTION
from mcp_gateway.contract import TOOLS, Tool, accept, validate_result
from mcp_gateway.tools import HANDLERS

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool knows of the request it answers."""

    principal: Principal
    now: datetime


Context = ServerRequestContext[dict[str, Any]]


def listed(tool: Tool) -> types.Tool:
    """A tool as `tools/list` shows it."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations.model_validate(dict(tool.annotations)),
    )


LIST = types.ListToolsResult(tools=[listed(tool) for tool in TOOLS.values()])


def input_schema(name: str) -> dict[str, Any] | None:
    """The served input schema of a tool; the SDK would run `tools/list` on every call to find it."""
    tool = TOOLS.get(name)
    return tool.input_schema if tool else None


async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """All tools of every family that the token has a scope of: today there is one family."""
    return LIST


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Run one tool on the request's own thread."""
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(code=types.INVALID_PARAMS, message="Unknown tool")
    call, arguments = context.request, dict(params.arguments or {})
    assert isinstance(call, Call)
    return await call_sync(lambda: run_tool(tool, call, arguments))


def run_tool(tool: Tool, call: Call, arguments: dict[str, Any]) -> types.CallToolResult:
    """Check the arguments, run the tool, and shape its answer or its refusal.

    Anything that is not a refusal is a bug: logged by its type and place, never with arguments or its own words, which
    may hold a message or a number; the client gets a JSON-RPC internal error.
    """
    handler = HANDLERS[tool.name]
    try:
        answer = handler.run(call.principal, accept(tool, arguments), call.now)
        summary, structured, is_error = handler.summarise(answer), answer, False
    except Refusal as refusal:
        summary, structured, is_error = refusal.message, {"error": refusal.as_error()}, True
    except Exception as error:
        place = "".join(traceback.format_tb(error.__traceback__))
        log.error("tool %s failed: %s\n%s", tool.name, type(error).__name__, place)
        raise MCPError(code=types.INTERNAL_ERROR, message="Internal server error") from None
    if settings.MCP_VALIDATE_RESULTS:
        validate_result(tool, structured)
    return types.CallToolResult(
        is_error=is_error,
        content=[types.TextContent(type="text", text=summary)],
        structured_content=structured,
    )


def build() -> "Server[dict[str, Any]]":
    """The one server of this process."""
    kept = CacheHint(ttl_ms=DESCRIPTION.ttl_ms, scope="public")
    server: Server[dict[str, Any]] = Server(
        DESCRIPTION.name,
        version="1.0.0",
        title=DESCRIPTION.title,
        instructions=DESCRIPTION.instructions,
        cache_hints={"tools/list": kept, "server/discover": kept},
        get_tool_input_schema=input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    # Drops OpenTelemetry spans, which nobody collects here: a quarter of the SDK's time.
    server.middleware.clear()
    return server


SERVER = build()
