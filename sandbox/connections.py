"""Connections that can be closed without an answer: uvicorn's HTTP protocol, with its sockets within reach."""

from asyncio import Transport
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

# The client's address -> its connection. Several servers may run in one process; addresses differ.
_open: dict[tuple[str, int], Transport] = {}


class ReachableProtocol(H11Protocol):
    """Keeps its transport in reach for as long as the connection lives."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # uvicorn takes the same
        """Remember the connection."""
        super().connection_made(transport)
        # Addresses hold phone numbers, so no request is ever logged.
        self.access_log = False
        peer = transport.get_extra_info("peername")
        self._peer: tuple[str, int] = (peer[0], peer[1])
        _open[self._peer] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        _open.pop(self._peer, None)
        super().connection_lost(exc)


class _Silence(Response):
    """An answer that is never given."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Close the connection and wait until it is closed."""
        transport = _open.get(scope["client"])
        if transport is not None:
            transport.close()
        message: Any = {}
        while message.get("type") != "http.disconnect":
            message = await receive()


async def drop_connection(request: Request) -> Response:
    """A response that closes the connection without a byte."""
    return _Silence()
