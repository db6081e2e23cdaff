"""Publishes the tool contract: a readable page and its JSON twin (seed 001, Page and JSON twin)."""

import json
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from mcp_gateway.contract import SERVER, TOOLS, Tool
from mcp_gateway.contract.publication import publication
from mcp_gateway.contract.rows import rows_of

HINTS = (
    ("readOnlyHint", "read only"),
    ("destructiveHint", "destructive"),
    ("idempotentHint", "idempotent"),
    ("openWorldHint", "reaches people"),
)


@cache
def published(resource: str, issuer: str) -> dict[str, Any]:
    """The contract with this installation's addresses; it changes only with a release."""
    return publication(resource=resource, issuer=issuer)


@cache
def shown_tools() -> list[dict[str, Any]]:
    """Each tool as the page shows it, in listing order."""
    return [shown_tool(tool) for tool in TOOLS.values()]


def shown_tool(tool: Tool) -> dict[str, Any]:
    """A tool's tables and examples, ready for the template."""
    request = {"name": tool.name, "arguments": dict(tool.example_arguments)}
    return {
        "tool": tool,
        "hints": [(hint, words, tool.annotations[hint]) for hint, words in HINTS],
        "inputs": list(rows_of(tool.input_schema)),
        "outputs": list(rows_of(tool.success_schema)),
        "request": json.dumps(request, indent=2, ensure_ascii=False),
        "response": json.dumps(dict(tool.example_result), indent=2, ensure_ascii=False),
    }


@require_safe
def reference_page(request: HttpRequest) -> HttpResponse:
    """The contract as a page."""
    document = published(settings.MCP_RESOURCE, settings.BASE_URL)
    context = {
        "document": document,
        "server": SERVER,
        "tools": shown_tools(),
        "error_example": json.dumps(document["errors"]["example"], indent=2, ensure_ascii=False),
    }
    return render(request, "mcp_gateway/docs.html", context)


@require_safe
def reference_json(request: HttpRequest) -> JsonResponse:
    """The contract as JSON, for any site to read."""
    response = JsonResponse(
        published(settings.MCP_RESOURCE, settings.BASE_URL), json_dumps_params={"ensure_ascii": False, "indent": 1}
    )
    response["Cache-Control"] = "public, max-age=3600"
    response["Access-Control-Allow-Origin"] = "*"
    return response
