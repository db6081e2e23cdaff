"""list_workflows: the saved workflows, priced for one person."""

from datetime import datetime

from mcp_gateway.auth import Principal
from mcp_gateway.tools.base import Answer, Arguments, account_of
from workflows import listing


def run(principal: Principal, arguments: Arguments, now: datetime) -> Answer:
    """The current configuration."""
    return listing.list_workflows(account_of(principal), arguments.get("recipient"), now=now)


def summarise(answer: Answer) -> str:
    """How many there are, and whether all can run."""
    workflows = answer["workflows"]
    ready = sum(workflow["available"] for workflow in workflows)
    return f"{len(workflows)} workflows, {ready} available for this recipient."
