"""The sandbox's web application: Twilio's resources, the control API, and the pages."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox import control, pages, rest_calls, rest_content, rest_messages
from sandbox.exchange import Exchange
from sandbox.rest import refuse_method, refuse_path

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


class Guard:
    """Keeps other sites from using the phones through somebody's browser, and pages from loading anything foreign."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a POST that another site's page made; else add the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"").decode("latin-1")
        host = headers.get(b"host", b"").decode("latin-1")
        if scope["method"] == "POST" and origin and origin.partition("://")[2] != host:
            await PlainTextResponse("Only from the sandbox's own pages.", 403)(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self._app(scope, receive, send_guarded)


async def favicon(request: Request) -> Response:
    """None; the pages name their own icon."""
    return Response(status_code=204)


def build_app(exchange: Exchange) -> Starlette:
    """Everything the sandbox serves."""
    app = Starlette(
        routes=[
            *rest_messages.routes,
            *rest_calls.routes,
            *rest_content.routes,
            *control.routes,
            *pages.routes,
            Route("/favicon.ico", favicon),
            Mount("/static", StaticFiles(directory=pages.HERE / "static")),
        ],
        middleware=[Middleware(Guard)],
        exception_handlers={404: refuse_path, 405: refuse_method},
    )
    app.state.exchange = exchange
    return app
