"""The ceiling: the SDK's own server with one tool that does nothing, as its documentation runs it."""

import multiprocessing
import socket
import sys

import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount


async def call_tool(
    context: "ServerRequestContext[dict[str, object]]", params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Nothing."""
    return types.CallToolResult(content=[types.TextContent(type="text", text="done")], structured_content={})


async def list_tools(
    context: "ServerRequestContext[dict[str, object]]", params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    """One tool."""
    return types.ListToolsResult(tools=[types.Tool(name="noop", input_schema={"type": "object"})])


def application() -> Starlette:
    """One application per process."""
    server: Server[dict[str, object]] = Server(
        "bare",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: {"type": "object"},
    )
    server.middleware.clear()
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    return Starlette(routes=[Mount("/", app=manager.handle_request)], lifespan=lambda app: manager.run())


def serve(port: int) -> None:
    """One process's server; the processes share the port."""
    # With the protocol named, asyncio sends small packets at once.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listening.bind(("127.0.0.1", port))
    config = uvicorn.Config(application, factory=True, log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


def main(port: int, workers: int) -> None:
    """Serve with several processes until stopped."""
    others = [multiprocessing.Process(target=serve, args=(port,), daemon=True) for _ in range(workers - 1)]
    for process in others:
        process.start()
    serve(port)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
