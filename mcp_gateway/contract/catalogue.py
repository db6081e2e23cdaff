"""Loads the contract's data files once, into frozen objects."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

FOLDER = Path(__file__).resolve().parent
SHARED_REF = "shared.json#/"
# Any tool refuses arguments that break its input schema with this code (behaviour, Order of refusals).
SCHEMA_BREACH = "CONTENT_REJECTED"

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One row of the error table; `details_schema` says what a refusal with this code may carry in `details`."""

    code: str
    when: str
    retry: str
    details_schema: Schema


@dataclass(frozen=True, slots=True)
class Server:
    """What the server says about itself; `ttl_ms` is the life of a tool list in milliseconds (seed 001, Connect)."""

    name: str
    title: str
    updated: str
    ttl_ms: int
    protocol_version: str
    legacy_protocol_versions: tuple[str, ...]
    instructions: str
    scopes: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as the contract describes it.

    `output_schema` is what is served: `success_schema` or `error_schema`, because clients validate failed results
    too. `errors` are the codes that the contract lists for the tool.
    """

    name: str
    family: str
    title: str
    description: str
    scope: str
    annotations: Mapping[str, bool]
    cost: str
    input_schema: Schema
    success_schema: Schema
    error_schema: Schema
    output_schema: Schema
    errors: tuple[str, ...]
    errors_note: str
    output_note: str
    status_values: Mapping[str, str]
    example_arguments: Mapping[str, Any]
    example_result: Mapping[str, Any]


def read_data(name: str) -> Any:
    """The parsed data file `name`, a path under the contract's folder."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def inline_shared(node: Any, shared: Mapping[str, Any]) -> Any:
    """A copy of `node` with every reference into `shared.json` replaced: agents get schemas that stand alone."""
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith(SHARED_REF):
            return inline_shared(shared[reference.removeprefix(SHARED_REF)], shared)
        return {key: inline_shared(value, shared) for key, value in node.items()}
    if isinstance(node, list):
        return [inline_shared(item, shared) for item in node]
    return node


def error_schema(codes: tuple[str, ...]) -> Schema:
    """The schema of a failed result whose code is one of `codes` (seed 001, Errors)."""
    return {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "description": "Why the tool refused. Present only on a failed result.",
                "properties": {
                    "code": {"type": "string", "description": "What went wrong.", "enum": list(codes)},
                    "message": {"type": "string", "description": "One readable sentence."},
                    "retry_after_s": {
                        "type": "integer",
                        "description": "Seconds to wait before trying again.",
                        "minimum": 1,
                    },
                    "details": {"type": "object", "description": "What the code needs said, by name."},
                },
                "required": ["code", "message"],
                "additionalProperties": False,
            }
        },
        "required": ["error"],
        "additionalProperties": False,
    }


def load_tool(name: str, shared: Mapping[str, Any]) -> Tool:
    """The tool described in `tools/<name>.json`."""
    data = inline_shared(read_data(f"tools/{name}.json"), shared)
    errors = tuple(data["errors"])
    failure = error_schema(tuple(dict.fromkeys((*errors, SCHEMA_BREACH))))
    return Tool(
        name=data["name"],
        family=data["family"],
        title=data["title"],
        description=data["description"],
        scope=data["scope"],
        annotations=MappingProxyType(data["annotations"]),
        cost=data["cost"],
        input_schema=data["input"],
        success_schema=data["output"],
        error_schema=failure,
        output_schema={"type": "object", "anyOf": [data["output"], failure]},
        errors=errors,
        errors_note=data.get("errors_note", ""),
        output_note=data.get("output_note", ""),
        status_values=MappingProxyType(data.get("status_values", {})),
        example_arguments=MappingProxyType(data["example"]["arguments"]),
        example_result=MappingProxyType(data["example"]["structuredContent"]),
    )


def load_server(data: Mapping[str, Any]) -> Server:
    """The server's own description, from `server.json`."""
    return Server(
        name=data["name"],
        title=data["title"],
        updated=data["updated"],
        ttl_ms=data["ttl_ms"],
        protocol_version=data["protocol_version"],
        legacy_protocol_versions=tuple(data["legacy_protocol_versions"]),
        instructions=data["instructions"],
        scopes=tuple(MappingProxyType(scope) for scope in data["scopes"]),
    )


def load_tools(names: list[str]) -> Mapping[str, Tool]:
    """The named tools, in the order in which they are listed to agents."""
    shared = read_data("shared.json")
    return MappingProxyType({name: load_tool(name, shared) for name in names})


def load_errors(rows: list[dict[str, Any]]) -> Mapping[str, ErrorCode]:
    """The error table, by code."""
    return MappingProxyType(
        {row["code"]: ErrorCode(row["code"], row["when"], row["retry"], row["details"]) for row in rows}
    )


SERVER: Server = load_server(read_data("server.json"))
TOOLS: Mapping[str, Tool] = load_tools(read_data("server.json")["tools"])
ERRORS: Mapping[str, ErrorCode] = load_errors(read_data("errors.json")["codes"])


def tools_of(family: str) -> tuple[Tool, ...]:
    """The tools of one family (`alerts` for the eight of seed 001), in listing order."""
    return tuple(tool for tool in TOOLS.values() if tool.family == family)
