"""The tool contract as data (seed 001): served by the MCP server, validated against, published at /docs/mcp/.

One JSON file per tool in `tools/`; what several tools say alike is written once in `shared.json`. No Django needed.
"""

from mcp_gateway.contract.arguments import accept, breaches
from mcp_gateway.contract.catalogue import ERRORS, SERVER, TOOLS, ErrorCode, Server, Tool, tools_of
from mcp_gateway.contract.results import validate_result

__all__ = [
    "ERRORS",
    "SERVER",
    "TOOLS",
    "ErrorCode",
    "Server",
    "Tool",
    "accept",
    "breaches",
    "tools_of",
    "validate_result",
]
