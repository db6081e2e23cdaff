"""The tools that the conformance suite calls by name, put beside ours while it runs. Results only: no stream.

What they answer is prescribed by the suite's scenarios; they say nothing about the product.
"""

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as t
import pytest
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

from mcp_gateway import server, wire

Handler = Callable[[Any, t.CallToolRequestParams], Awaitable[Any]]
PLAIN: dict[str, Any] = {"type": "object", "properties": {}}
MIRRORED: dict[str, Any] = {
    "type": "object",
    "required": ["region"],
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}
SCHEMA_2020: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
# One red pixel, and a silent sound.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = base64.b64encode(
    b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data"
    b"\x00\x00\x00\x00"
).decode()


def text(said: str, *, is_error: bool = False) -> t.CallToolResult:
    """A result of one text."""
    return t.CallToolResult(content=[t.TextContent(type="text", text=said)], is_error=is_error)


def resource(uri: str, mime_type: str, said: str) -> t.EmbeddedResource:
    """A text resource inside a result."""
    return t.EmbeddedResource(type="resource", resource=t.TextResourceContents(uri=uri, mime_type=mime_type, text=said))


def form(message: str, **properties: str) -> t.ElicitRequest:
    """A form to ask for."""
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    return t.ElicitRequest(params=t.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(question: str) -> t.CreateMessageRequest:
    """A question for the client's model."""
    return t.CreateMessageRequest(
        params=t.CreateMessageRequestParams(
            messages=[t.SamplingMessage(role="user", content=t.TextContent(type="text", text=question))], max_tokens=100
        )
    )


def ask(state: str | None = None, **requests: Any) -> t.InputRequiredResult:
    """A result that needs answers first."""
    return t.InputRequiredResult(input_requests=requests, request_state=state)


def reply(params: t.CallToolRequestParams, name: str) -> Any:
    """The client's answer of that name, or None."""
    return (params.input_responses or {}).get(name)


def always(result: t.CallToolResult) -> Handler:
    """A tool that always answers the same."""

    async def run(context: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
        return result

    return run


async def missing_capability(context: Any, params: t.CallToolRequestParams) -> Any:
    """Needs sampling of the client."""
    declared = context.session.client_capabilities
    if declared is None or declared.sampling is None:
        raise MCPError(
            code=t.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="sampling required",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return text("ok")


async def elicitation(context: Any, params: t.CallToolRequestParams) -> Any:
    """Asks for a name."""
    answer = reply(params, "user_name")
    if isinstance(answer, t.ElicitResult) and answer.content:
        return text(f"Hello, {answer.content.get('name')}!")
    return ask(user_name=form("What is your name?", name="string"))


async def one_sampling(context: Any, params: t.CallToolRequestParams) -> Any:
    """Asks the client's model."""
    if reply(params, "capital_question"):
        return text("sampled")
    return ask(capital_question=sampling("What is the capital of France?"))


async def roots(context: Any, params: t.CallToolRequestParams) -> Any:
    """Asks for the client's roots."""
    return text("roots") if reply(params, "client_roots") else ask(client_roots=t.ListRootsRequest())


async def request_state(context: Any, params: t.CallToolRequestParams) -> Any:
    """Wants its state back as it was."""
    if reply(params, "confirm") and params.request_state == "s1":
        return text("state-ok")
    return ask("s1", confirm=form("Please confirm", ok="boolean"))


async def several(context: Any, params: t.CallToolRequestParams) -> Any:
    """Asks three things at once."""
    if all(reply(params, name) for name in ("user_name", "greeting", "client_roots")):
        return text("all")
    return ask(
        "m",
        user_name=form("What is your name?", name="string"),
        greeting=sampling("Generate a greeting"),
        client_roots=t.ListRootsRequest(),
    )


async def rounds(context: Any, params: t.CallToolRequestParams) -> Any:
    """Asks twice."""
    if reply(params, "step2") and params.request_state == "r2":
        return text("done")
    if reply(params, "step1") and params.request_state == "r1":
        return ask("r2", step2=form("Step 2: What is your favorite color?", color="string"))
    return ask("r1", step1=form("Step 1: What is your name?", name="string"))


async def by_capability(context: Any, params: t.CallToolRequestParams) -> Any:
    """Asks only what the client said it can answer."""
    declared = context.session.client_capabilities
    wanted: dict[str, Any] = {}
    if declared and declared.sampling:
        wanted["s"] = sampling("hi")
    if declared and declared.elicitation:
        wanted["e"] = form("name", name="string")
    return ask(None, **wanted) if wanted and not params.input_responses else text("no capabilities")


MIXED = t.CallToolResult(
    content=[
        t.TextContent(type="text", text="Multiple content types test:"),
        t.ImageContent(type="image", data=PNG, mime_type="image/png"),
        resource("test://mixed-content-resource", "application/json", json.dumps({"test": "data", "value": 123})),
    ]
)
EMBEDDED = t.CallToolResult(
    content=[resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
)
TOOLS: dict[str, tuple[dict[str, Any], Handler]] = {
    "test_simple_text": (PLAIN, always(text("This is a simple text response for testing."))),
    "test_image_content": (
        PLAIN,
        always(t.CallToolResult(content=[t.ImageContent(type="image", data=PNG, mime_type="image/png")])),
    ),
    "test_audio_content": (
        PLAIN,
        always(t.CallToolResult(content=[t.AudioContent(type="audio", data=WAV, mime_type="audio/wav")])),
    ),
    "test_embedded_resource": (PLAIN, always(EMBEDDED)),
    "test_multiple_content_types": (PLAIN, always(MIXED)),
    "test_error_handling": (
        PLAIN,
        always(text("This tool intentionally returns an error for testing", is_error=True)),
    ),
    "test_tool_with_progress": (PLAIN, always(text("no progress in a JSON reply"))),
    "test_logging_tool": (PLAIN, always(text("nothing is logged to clients"))),
    "json_schema_2020_12_tool": (SCHEMA_2020, always(text("ok"))),
    "test_x_mcp_header": (MIRRORED, always(text("ok"))),
    "test_missing_capability": (PLAIN, missing_capability),
    "test_streaming_elicitation": (PLAIN, elicitation),
    "test_input_required_result_elicitation": (PLAIN, elicitation),
    "test_input_required_result_sampling": (PLAIN, one_sampling),
    "test_input_required_result_list_roots": (PLAIN, roots),
    "test_input_required_result_request_state": (PLAIN, request_state),
    "test_input_required_result_tampered_state": (PLAIN, request_state),
    "test_input_required_result_multiple_inputs": (PLAIN, several),
    "test_input_required_result_multi_round": (PLAIN, rounds),
    "test_input_required_result_capabilities": (PLAIN, by_capability),
}


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve these beside ours until the test ends."""
    listed = [t.Tool(name=name, description=name, input_schema=schema) for name, (schema, _) in TOOLS.items()]
    ours = server.input_schema

    async def list_tools(context: Any, params: Any) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[*server.LIST.tools, *listed])

    async def call_tool(context: Any, params: t.CallToolRequestParams) -> Any:
        run = TOOLS[params.name][1] if params.name in TOOLS else server.call_tool
        return await run(context, params)

    def input_schema(name: str) -> dict[str, Any] | None:
        return TOOLS[name][0] if name in TOOLS else ours(name)

    monkeypatch.setattr(server, "SERVER", server.build())
    monkeypatch.setattr(wire, "SERVER", server.SERVER)
    monkeypatch.setattr(wire, "input_schema", input_schema)
    monkeypatch.setattr(server.SERVER, "get_tool_input_schema", input_schema)
    # None of our own tools keeps state with the client; these do.
    security = RequestStateSecurity(keys=[b"k" * 32], ttl=300)
    server.SERVER.middleware[:] = [RequestStateBoundary(security, default_audience="conformance")]
    server.SERVER.add_request_handler("tools/list", t.PaginatedRequestParams, list_tools)
    server.SERVER.add_request_handler("tools/call", t.CallToolRequestParams, call_tool)
