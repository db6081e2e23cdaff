"""Agents: how to connect one, and the ones that are connected."""

import json
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import connections
from accounts.access import owner_page, say
from accounts.forms import ConnectionForm
from accounts.locking import locked
from accounts.models import Account
from breakpass.errors import Refusal


@dataclass(frozen=True, slots=True)
class Snippet:
    """How one client is connected: what to do, and the text to copy."""

    key: str
    name: str
    steps: tuple[str, ...]
    text: str
    after: str = ""


def snippets(url: str) -> list[Snippet]:
    """Ready instructions for the clients people use, with this installation's address."""
    cursor = {"mcpServers": {"breakpass": {"url": url}}}
    vscode = {"servers": {"breakpass": {"type": "http", "url": url}}}
    return [
        Snippet(
            "claude-code",
            "Claude Code",
            ("Run this in a terminal.",),
            f"claude mcp add --transport http breakpass {url}",
            "Then type /mcp in Claude Code, choose breakpass and sign in.",
        ),
        Snippet(
            "claude",
            "Claude on the web, desktop and phone",
            ("In Claude, open Settings, then Connectors.", "Choose “Add custom connector” and paste this address."),
            url,
            "Choose Connect and sign in. The address must be reachable from the internet.",
        ),
        Snippet(
            "cursor",
            "Cursor",
            ("Put this into the file .cursor/mcp.json in your project, or in your home folder for all projects.",),
            json.dumps(cursor, indent=2),
            "Then open Settings, MCP, and sign in where it says that a login is needed.",
        ),
        Snippet(
            "vscode",
            "VS Code",
            ("Put this into the file .vscode/mcp.json in your workspace.",),
            json.dumps(vscode, indent=2),
            "Press Start above the entry, then allow the sign-in.",
        ),
        Snippet(
            "codex",
            "Codex",
            ("Run these in a terminal.",),
            f"codex mcp add breakpass --url {url}\ncodex mcp login breakpass",
        ),
        Snippet(
            "other",
            "Any other MCP client",
            (
                "Give it this address as a remote server with HTTP transport (“Streamable HTTP”).",
                "It signs in by OAuth in your browser and registers itself; there is no key to copy.",
            ),
            url,
        ),
    ]


@owner_page
@require_safe
def agents_page(request: HttpRequest, account: Account) -> HttpResponse:
    """The address, the snippets, and every connection."""
    context = {
        "section": "agents",
        "account": account,
        "mcp_url": settings.MCP_RESOURCE,
        "snippets": snippets(settings.MCP_RESOURCE),
        "agents": connections.list_connections(account),
        "now": timezone.now(),
    }
    return render(request, "accounts/agents.html", context)


@owner_page
@require_http_methods(["GET", "HEAD", "POST"])
def agent_page(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """One connection: its name, and what can be done with it."""
    connection = get_object_or_404(account.connections, pk=pk, revoked_at=None)
    form = ConnectionForm(request.POST) if request.method == "POST" else ConnectionForm.of(connection)
    if form.is_bound and form.is_valid():
        try:
            with locked(account.pk) as held:
                connections.rename(held, connection, name=form.cleaned_data["name"])
        except Refusal as refusal:
            form.take_refusal(refusal, field="name")
        else:
            say(request, "Saved.")
            return redirect("agents")
    context = {"section": "agents", "account": account, "connection": connection, "form": form}
    return render(request, "accounts/agent.html", context, status=422 if form.is_bound else 200)


@owner_page
@require_POST
def switch_agent(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """Deactivate a connection, or let it work again."""
    connection = get_object_or_404(account.connections, pk=pk, revoked_at=None)
    with locked(account.pk) as held:
        if request.POST.get("to") == "on":
            connections.reactivate(held, connection)
            say(request, f"{connection.name} works again.")
        else:
            connections.deactivate(held, connection, now=timezone.now())
            say(request, f"{connection.name} is deactivated. It stays connected, and group sends are refused.")
    return redirect("agent", pk=pk)


@owner_page
@require_http_methods(["GET", "HEAD", "POST"])
def revoke_agent(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """Asks first, then takes the agent's access away."""
    connection = get_object_or_404(account.connections, pk=pk, revoked_at=None)
    if request.method != "POST":
        context = {"section": "agents", "account": account, "connection": connection}
        return render(request, "accounts/revoke_agent.html", context)
    with locked(account.pk) as held:
        connections.revoke(held, connection, now=timezone.now())
    say(request, f"{connection.name} has no access any more.")
    return redirect("agents")
