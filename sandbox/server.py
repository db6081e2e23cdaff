"""The server: HTTP and SMTP on one loop, in a thread of its own or in the main one."""

import asyncio
import socket
import threading

import uvicorn
from starlette.applications import Starlette

from sandbox.connections import ReachableProtocol
from sandbox.smtp import SmtpServer

START_S = 10.0


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; `OSError` when the port is taken. 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(128)
    except OSError:
        sock.close()
        raise
    return sock


class ServerThread:
    """Serves the app and the mail until it is stopped."""

    def __init__(self, app: Starlette, smtp: SmtpServer, *, host: str, port: int) -> None:
        self._smtp = smtp
        self._host, self._port = host, port
        settings = uvicorn.Config(
            app,
            http=ReachableProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(settings)
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._failure: OSError | None = None

    @property
    def url(self) -> str:
        """Where it serves."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    def start(self) -> None:
        """Serve in a thread. `OSError` when a port is taken."""
        sock = listen(self._host, self._port)
        self._port = sock.getsockname()[1]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(sock)), name="sandbox-http", daemon=True)
        self._thread.start()
        self._ready.wait(START_S)
        if self._failure is not None:
            self._thread.join()
            raise self._failure

    def ask_to_stop(self) -> None:
        """Stop soon; does not wait, so that a signal may call it."""
        self._server.should_exit = True

    def stop(self) -> None:
        """Stop serving, and wait until it has."""
        self.ask_to_stop()
        self._server.force_exit = True
        if self._thread is not None:
            self._thread.join()

    def wait(self) -> None:
        """Wait until it is stopped."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(0.5)

    async def _serve(self, sock: socket.socket) -> None:
        try:
            await self._smtp.start()
        except OSError as error:
            self._failure = error
            sock.close()
            self._ready.set()
            return
        try:
            serving = asyncio.create_task(self._server.serve(sockets=[sock]))
            while not self._server.started and not serving.done():
                await asyncio.sleep(0.002)
            self._ready.set()
            await serving
        finally:
            await self._smtp.stop()
