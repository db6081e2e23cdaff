"""/mcp: everything that is plain HTTP is decided here, before the SDK sees the request (seed 001, Connect)."""

import json
from collections.abc import Mapping

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from mcp_gateway import auth, wire
from mcp_gateway.bridge import run_sync
from mcp_gateway.contract import TOOLS

METHODS = ("POST", "DELETE")


@csrf_exempt
def mcp(request: HttpRequest) -> HttpResponse:
    """One message in, one JSON answer out; any process can serve it."""
    now = timezone.now()
    refused = refuse_plainly(request)
    if refused is not None:
        return refused
    authorization = request.META.get("HTTP_AUTHORIZATION", "")
    principal = auth.authenticate(authorization, now)
    if principal is None:
        return auth.unauthenticated(authorization)
    auth.record_use(principal, now)
    exchange = wire.Exchange(principal, lowered_headers(request.META), now)
    if request.method == "DELETE":
        return respond(wire.close_session(exchange))
    message = wire.parse(request.body)
    if isinstance(message, wire.Reply):
        return respond(message)
    needed = required_scope(message)
    if needed is not None and needed not in principal.scopes:
        return auth.insufficient_scope(needed, principal.scopes)
    return respond(run_sync(wire.handle(exchange, message)))


def refuse_plainly(request: HttpRequest) -> HttpResponse | None:
    """What needs no database: origin, method, media type, size."""
    origin = request.META.get("HTTP_ORIGIN")
    if origin and origin not in settings.MCP_ALLOWED_ORIGINS:
        return JsonResponse({"error": "forbidden_origin"}, status=403)
    if request.method not in METHODS:
        return HttpResponse(status=405, headers={"Allow": ", ".join(METHODS)})
    if request.method == "POST":
        if request.content_type != "application/json":
            return JsonResponse({"error": "Content-Type must be application/json"}, status=415)
        if is_oversized(request):
            return HttpResponse(status=413)
    return None


def is_oversized(request: HttpRequest) -> bool:
    """Whether the body is more than settings.MCP_MAX_BODY bytes; told from its announced length before it is read."""
    announced = request.META.get("CONTENT_LENGTH") or "0"
    if announced.isdigit() and int(announced) > settings.MCP_MAX_BODY:
        return True
    try:
        return len(request.body) > settings.MCP_MAX_BODY
    except RequestDataTooBig:
        return True


def lowered_headers(meta: Mapping[str, object]) -> dict[str, str]:
    """The request's headers by lower-case name, straight from WSGI."""
    return {key[5:].replace("_", "-").lower(): str(value) for key, value in meta.items() if key.startswith("HTTP_")}


def required_scope(message: wire.Message) -> str | None:
    """The scope that a `tools/call` needs; an unknown tool needs none, the SDK answers for it."""
    params = message.get("params")
    if message["method"] != "tools/call" or not isinstance(params, dict):
        return None
    name = params.get("name")
    tool = TOOLS.get(name) if isinstance(name, str) else None
    return tool.scope if tool else None


def respond(reply: wire.Reply) -> HttpResponse:
    """A reply as Django's response. A lone surrogate that a client sent goes back as the JSON escape it came as."""
    body = b""
    if reply.body is not None:
        body = json.dumps(reply.body, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "backslashreplace")
    response = HttpResponse(body, status=reply.status, content_type="application/json")
    if not body:
        del response["Content-Type"]
    for name, value in reply.headers.items():
        response[name] = value
    response["Cache-Control"] = "no-store"
    return response
