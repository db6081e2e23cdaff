"""The Content API: templates and what WhatsApp thinks of them, on the paths of its own host."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sandbox.content import Template
from sandbox.exchange import Exchange
from sandbox.problems import ApiError
from sandbox.rest import serve

BASE_URL = "https://content.twilio.com"
CREATED = "2026-01-05T09:00:00Z"


def _find(exchange: Exchange, sid: str) -> Template:
    template = exchange.templates.find(sid)
    if template is None:
        raise ApiError(20404)
    return template


async def content(request: Request) -> Response:
    """One template."""
    exchange: Exchange = request.app.state.exchange
    account, sid = exchange.config.account_sid, request.path_params["sid"]
    return await serve(
        request, "content", "whatsapp", lambda _: (200, _find(exchange, sid).as_json(account, BASE_URL, CREATED))
    )


async def approval(request: Request) -> Response:
    """Its approval."""
    exchange: Exchange = request.app.state.exchange
    account, sid = exchange.config.account_sid, request.path_params["sid"]
    return await serve(
        request, "content", "whatsapp", lambda _: (200, _find(exchange, sid).approval_json(account, BASE_URL))
    )


async def contents(request: Request) -> Response:
    """All templates."""
    exchange: Exchange = request.app.state.exchange

    def work(_: Any) -> tuple[int, dict[str, Any]]:
        account = exchange.config.account_sid
        rows = [template.as_json(account, BASE_URL, CREATED) for template in exchange.templates.listed()]
        url = f"{BASE_URL}/v1/Content?PageSize=50&Page=0"
        meta = {"page": 0, "page_size": 50, "first_page_url": url, "url": url, "key": "contents"}
        return 200, {"contents": rows, "meta": meta | {"previous_page_url": None, "next_page_url": None}}

    return await serve(request, "content", "whatsapp", work)


routes = [
    Route("/v1/Content", contents, methods=["GET"]),
    Route("/v1/Content/{sid}", content, methods=["GET"]),
    Route("/v1/Content/{sid}/ApprovalRequests", approval, methods=["GET"]),
]
