"""Between HTTP and the SDK: which era a request belongs to, its header checks, one JSON reply (ADR 0006).

JSON only: no stream, no server-initiated request, no batch. `handle` is a coroutine for `bridge.run_sync`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
)
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_gateway import sessions
from mcp_gateway.auth import Principal
from mcp_gateway.bridge import call_sync
from mcp_gateway.contract import SERVER as DESCRIPTION
from mcp_gateway.server import SERVER, Call, input_schema

Message = dict[str, Any]
JSON_TYPES = ("application/json", "application/*", "*/*")


@dataclass(slots=True)
class Reply:
    """One HTTP answer; `body` None is an empty one."""

    status: int
    body: Message | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Exchange:
    """The request around one message: whose it is, its headers in lower case, when it came."""

    principal: Principal
    headers: Mapping[str, str]
    now: datetime


@dataclass
class Dispatch:
    """The SDK's dispatch context for one JSON reply: no way back to the client, notifications are dropped."""

    transport: TransportContext
    request_id: Any
    message_metadata: MessageMetadata
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refuse: a JSON reply cannot carry a request of ours."""
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Drop it: nothing listens."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop it: nothing listens."""


def rpc_error(id_: Any, code: int, message: str, data: Any = None, *, status: int | None = None) -> Reply:
    """A JSON-RPC error with the HTTP status that the protocol gives its code."""
    error: Message = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return Reply(status or ERROR_CODE_HTTP_STATUS.get(code, 200), {"jsonrpc": "2.0", "id": id_, "error": error})


def refuse_constant(name: str) -> None:
    """JSON knows no NaN and no Infinity, though Python's parser does."""
    raise ValueError(name)


def parse(body: bytes) -> Message | Reply:
    """The decoded message, or the reply that says why it is none."""
    try:
        message = json.loads(body, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return rpc_error(None, types.PARSE_ERROR, "Parse error")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return rpc_error(None, types.INVALID_REQUEST, "Body must be a single JSON-RPC request or notification")
    if "id" in message and (isinstance(message["id"], bool) or not isinstance(message["id"], str | int)):
        return rpc_error(None, types.INVALID_REQUEST, "Request id must be a string or an integer")
    return message


def is_legacy(headers: Mapping[str, str]) -> bool:
    """Whether a request belongs to the era of `initialize` and sessions."""
    version = headers.get("mcp-protocol-version")
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


async def handle(exchange: Exchange, message: Message) -> Reply:
    """Answer one POST."""
    accepted = exchange.headers.get("accept", "*/*")
    if not any(kind in accepted for kind in JSON_TYPES):
        return Reply(406)
    if is_legacy(exchange.headers):
        return await answer_legacy(exchange, message)
    return await answer_modern(exchange, message)


async def serve(connection: Connection, exchange: Exchange, message: Message) -> Message | types.ErrorData:
    """Run the SDK's kernel once; what it raises becomes the protocol's error."""
    call = Call(exchange.principal, exchange.now)
    dispatch = Dispatch(
        TransportContext(kind="streamable-http", can_send_request=False, headers=exchange.headers),
        message["id"],
        ServerMessageMetadata(request_context=call),
    )
    try:
        return await serve_one(
            SERVER, dispatch, message["method"], message.get("params"), connection=connection, lifespan_state={}
        )
    except Exception as error:
        return modern_error_data(error)


async def answer_modern(exchange: Exchange, message: Message) -> Reply:
    """2026-07-28: every request says all there is to say, in `_meta` and in headers that must agree."""
    if "id" not in message:
        refused = unsupported_protocol_version_rejection(exchange.headers.get("mcp-protocol-version", ""))
        return rpc_error(None, refused.code, refused.message, refused.data) if refused else Reply(202)
    route = classify_inbound_request(message, headers=exchange.headers)
    if isinstance(route, InboundLadderRejection):
        return rpc_error(message["id"], route.code, route.message, route.data)
    mismatch = mismatched_parameters(exchange, message)
    if mismatch is not None:
        return rpc_error(message["id"], mismatch.code, mismatch.message, mismatch.data)
    connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
    result = await serve(connection, exchange, message)
    if isinstance(result, types.ErrorData):
        return rpc_error(message["id"], result.code, result.message, result.data)
    return Reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


def mismatched_parameters(exchange: Exchange, message: Message) -> InboundLadderRejection | None:
    """Headers that repeat a tool's arguments must agree with them."""
    if message["method"] != "tools/call":
        return None
    name, arguments = message["params"].get("name"), message["params"].get("arguments") or {}
    schema = input_schema(name) if isinstance(name, str) else None
    if schema is None or not isinstance(arguments, dict):
        return None
    return validate_mcp_param_headers(schema, arguments, exchange.headers)


async def answer_legacy(exchange: Exchange, message: Message) -> Reply:
    """2025-06-18 and 2025-11-25: `initialize` opens a session, and everything else names it."""
    if message["method"] == "initialize" and "id" in message:
        return await open_session(exchange, message)
    session_id = exchange.headers.get("mcp-session-id")
    if not session_id:
        return rpc_error(None, types.INVALID_REQUEST, "Bad Request: Missing session ID", status=400)
    session = await call_sync(lambda: sessions.find(exchange.principal, session_id, exchange.now))
    if session is None:
        return rpc_error(None, types.INVALID_REQUEST, "Session not found", status=404)
    version = exchange.headers.get("mcp-protocol-version")
    if version is not None and version != session.protocol_version:
        return rpc_error(
            message.get("id"), types.INVALID_REQUEST, "MCP-Protocol-Version does not match the session", status=400
        )
    if "id" not in message:
        return Reply(202)
    connection = Connection.from_envelope(session.protocol_version, session.client_info, session.capabilities)
    connection.session_id = session_id
    result = await serve(connection, exchange, message)
    if isinstance(result, types.ErrorData):  # the wire of 2025 answers JSON-RPC errors with HTTP 200
        return rpc_error(message["id"], result.code, result.message, result.data, status=200)
    return Reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


async def open_session(exchange: Exchange, message: Message) -> Reply:
    """Answer `initialize`; a version that is not ours is counter-offered the newest of its era."""
    asked = message.get("params")
    params: Message = dict(asked) if isinstance(asked, dict) else {}
    newest = DESCRIPTION.legacy_protocol_versions[-1]
    if params.get("protocolVersion") not in DESCRIPTION.legacy_protocol_versions:
        params["protocolVersion"] = newest
    result = await serve(Connection.from_envelope(newest, None, None), exchange, {**message, "params": params})
    if isinstance(result, types.ErrorData):
        return rpc_error(message["id"], result.code, result.message, result.data, status=400)
    session_id = await call_sync(
        lambda: sessions.open_for(
            exchange.principal,
            protocol_version=str(result["protocolVersion"]),
            client_info=params.get("clientInfo"),
            capabilities=params.get("capabilities"),
            now=exchange.now,
        )
    )
    return Reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, {"Mcp-Session-Id": session_id})


def close_session(exchange: Exchange) -> Reply:
    """Answer DELETE: a legacy client ends its session."""
    if not is_legacy(exchange.headers):
        return Reply(405, None, {"Allow": "POST"})
    session_id = exchange.headers.get("mcp-session-id")
    if not session_id:
        return rpc_error(None, types.INVALID_REQUEST, "Bad Request: Missing session ID", status=400)
    if not sessions.close(exchange.principal, session_id, exchange.now):
        return rpc_error(None, types.INVALID_REQUEST, "Session not found", status=404)
    return Reply(204)
