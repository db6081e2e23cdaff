"""Builds the published form of the contract: one document, shown as a page and served as JSON."""

from typing import Any

from mcp_gateway.contract.catalogue import SERVER, TOOLS, Tool, read_data


def publication(*, resource: str, issuer: str) -> dict[str, Any]:
    """The whole contract as JSON-ready data, in a stable order; the two addresses are this installation's."""
    reference = read_data("reference.json")
    for table in ("connect", "authentication"):
        reference[table] = [
            {**row, "value": row["value"].replace("{resource}", resource).replace("{issuer}", issuer)}
            for row in reference[table]
        ]
    return {
        "server": {
            "name": SERVER.name,
            "title": SERVER.title,
            "updated": SERVER.updated,
            "endpoint": resource,
            "protocol_version": SERVER.protocol_version,
            "legacy_protocol_versions": list(SERVER.legacy_protocol_versions),
            "ttlMs": SERVER.ttl_ms,
            "instructions": SERVER.instructions,
        },
        "scopes": [dict(scope) for scope in SERVER.scopes],
        "tools": [published_tool(tool) for tool in TOOLS.values()],
        "limits": read_data("limits.json"),
        "errors": read_data("errors.json"),
        "rate_limited": read_data("rate_limited.json"),
        "channel_unavailable": read_data("channel_unavailable.json"),
        "reference": reference,
    }


def published_tool(tool: Tool) -> dict[str, Any]:
    """One tool, with the schemas under the names that MCP gives them."""
    return {
        "name": tool.name,
        "title": tool.title,
        "family": tool.family,
        "description": tool.description,
        "scope": tool.scope,
        "annotations": dict(tool.annotations),
        "cost": tool.cost,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "outputNote": tool.output_note,
        "statusValues": dict(tool.status_values),
        "errors": list(tool.errors),
        "errorsNote": tool.errors_note,
        "example": {"arguments": dict(tool.example_arguments), "structuredContent": dict(tool.example_result)},
    }
