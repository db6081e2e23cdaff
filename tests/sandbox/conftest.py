"""A sandbox with a manual clock, the product's end of its webhooks, and Twilio's own SDK pointed at it."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from twilio.http.http_client import TwilioHttpClient
from twilio.http.response import Response
from twilio.rest import Client

from sandbox import Config, Sandbox

START = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
MAYA = "+12025550101"
NOAH = "+12025550102"

Answer = tuple[int, str, str]


@dataclass
class Received:
    """One webhook as it arrived."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]


@dataclass
class Receiver:
    """A web server that writes down what is posted to it and answers what it is told."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answer: Callable[[Received], Answer] = lambda _: (204, "", "")

    def params(self, path: str = "") -> list[dict[str, str]]:
        """The parameters of what came to a path, in order."""
        return [each.params for each in self.received if each.path.startswith(path)]

    def statuses(self, path: str = "/status") -> list[str]:
        """The statuses reported, in order."""
        return [each.get("MessageStatus") or each["CallStatus"] for each in self.params(path)]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Edge(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            params = dict(parse_qsl(body, keep_blank_values=True))
            each = Received(self.command, self.path, params, {k.lower(): v for k, v in self.headers.items()})
            found.received.append(each)
            status, content_type, text = found.answer(each)
            self.send_response(status)
            if content_type:
                self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Edge)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


class Rewritten(TwilioHttpClient):
    """The SDK's own client, with only the host of each address changed."""

    def __init__(self, base_url: str) -> None:
        super().__init__(timeout=5, max_retries=0)
        self._base_url = base_url

    def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> Response:
        parts = urlsplit(url)
        query = f"?{parts.query}" if parts.query else ""
        return super().request(method, f"{self._base_url}{parts.path}{query}", *args, **kwargs)

    def close(self) -> None:
        assert self.session is not None
        self.session.close()


@pytest.fixture
def sandbox(receiver: Receiver) -> Iterator[Sandbox]:
    config = Config(inbound_url=f"{receiver.url}/inbound")
    with Sandbox(config, clock="manual", start_at=START) as found:
        yield found


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[Client]:
    http = Rewritten(sandbox.url)
    yield Client(sandbox.config.account_sid, sandbox.config.auth_token, http_client=http)
    http.close()


@pytest.fixture
def text(sandbox: Sandbox, client: Client, receiver: Receiver) -> Callable[..., str]:
    """Send an SMS by the SDK, with a status callback; gives its SID."""

    def send(to: str = MAYA, body: str = "Disk full", **options: Any) -> str:
        options.setdefault("status_callback", f"{receiver.url}/status/1#rc=3&rp=all")
        sid: str = client.messages.create(to=to, from_=sandbox.config.sms_from, body=body, **options).sid
        return sid

    return send


@pytest.fixture
def chat(sandbox: Sandbox, client: Client, receiver: Receiver) -> Callable[..., str]:
    """Send the alert template with its button by the SDK; gives its SID."""

    def send(to: str = MAYA, token: str = "tok-1", **options: Any) -> str:
        sid: str = client.messages.create(
            to=f"whatsapp:{to}",
            from_=f"whatsapp:{sandbox.config.whatsapp_from}",
            content_sid=sandbox.config.template_alert_ack,
            content_variables=json.dumps({"1": "Deploy bot", "2": "Disk full", "3": token}),
            status_callback=f"{receiver.url}/status/2",
            **options,
        ).sid
        return sid

    return send


@pytest.fixture
def ring(sandbox: Sandbox, client: Client, receiver: Receiver) -> Callable[..., str]:
    """Place a call by the SDK with all events; gives its SID."""

    def place(to: str = MAYA, **options: Any) -> str:
        if "twiml" not in options:
            options.setdefault("url", f"{receiver.url}/voice")
        options.setdefault("status_callback", f"{receiver.url}/status/3")
        options.setdefault("status_callback_event", ["initiated", "ringing", "answered", "completed"])
        sid: str = client.calls.create(to=to, from_=sandbox.config.voice_from, **options).sid
        return sid

    return place
