"""The sandbox as a test holds it: in this process, on a free loopback port, with its clock and its phones."""

from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import Self

from sandbox.app import build_app
from sandbox.clock import Clock, Mode
from sandbox.config import Config
from sandbox.content import Templates
from sandbox.exchange import Exchange
from sandbox.faults import Faults
from sandbox.handset import Handset
from sandbox.inbound import keep_habits
from sandbox.mailbox import Mailbox
from sandbox.records import Call, Channel, Delivery, Mail, Message, Trouble
from sandbox.server import ServerThread
from sandbox.smtp import SmtpServer
from sandbox.webhooks import HttpPoster, Poster


class Sandbox:
    """`with Sandbox(Config(inbound_url=…), clock="manual") as sandbox:` runs one; `sandbox.url` is its address.

    With a manual clock nothing happens until `advance`. `poster` carries webhooks otherwise than over HTTP: a test may
    hand them to Django's client, in its own thread and transaction. `port` and `smtp_port` 0: free ones.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        clock: Mode = "real",
        start_at: datetime | None = None,
        speed: float = 1.0,
        poster: Poster | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        smtp_port: int = 0,
    ) -> None:
        self.clock = Clock(clock, start_at=start_at, speed=speed)
        self._poster = poster or HttpPoster()
        self.exchange = Exchange(config or Config(), self.clock, self._poster)
        keep_habits(self.exchange)
        self._smtp = SmtpServer(self.exchange.mailbox, host=host, port=smtp_port)
        self.server = ServerThread(build_app(self.exchange), self._smtp, host=host, port=port)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to serve. `OSError` when a port is taken."""
        self.server.start()
        self.clock.start()

    def stop(self) -> None:
        """End everything."""
        self.clock.stop()
        self.server.stop()
        if isinstance(self._poster, HttpPoster):
            self._poster.close()

    # --- where it is ---

    @property
    def config(self) -> Config:
        """Credentials, senders, templates."""
        return self.exchange.config

    @property
    def url(self) -> str:
        """Its address, for TWILIO_API_URL and TWILIO_CONTENT_API_URL."""
        return self.server.url

    @property
    def smtp_port(self) -> int:
        """Where it takes e-mails."""
        return self._smtp.port

    @property
    def environment(self) -> dict[str, str]:
        """The product's settings that make it speak to this sandbox."""
        mail = f"smtp://127.0.0.1:{self.smtp_port}"
        return self.config.environment(self.url) | {"SANDBOX_URL": self.url, "EMAIL_URL": mail}

    # --- time ---

    def advance(self, seconds: float) -> None:
        """Let time pass on a manual clock; returns when every callback was answered."""
        self.clock.advance(seconds)
        self._raise_failures()

    def settle(self) -> None:
        """Run all that is due now."""
        self.clock.settle()
        self._raise_failures()

    def advance_until(self, is_done: Callable[[], bool], *, step_s: float = 0.5, at_most_s: float = 120.0) -> None:
        """Let time pass in steps until something is so. `AssertionError` when it does not come about."""
        passed_s = 0.0
        while not is_done():
            assert passed_s < at_most_s, f"It did not happen within {at_most_s:g} s."
            self.advance(step_s)
            passed_s += step_s

    # --- what happened ---

    def messages(
        self, to: str | None = None, channel: Channel | None = None, *, contains: str = "", inbound: bool = False
    ) -> list[Message]:
        """Messages to people (with `inbound`, from them), oldest first. Looking does not make them expected."""
        with self.exchange.lock:
            found = [message for message in self.exchange.messages.values() if message.is_inbound == inbound]
        return [
            message
            for message in found
            if to in (None, message.number) and channel in (None, message.channel) and contains in message.body
        ]

    def calls(self, to: str | None = None) -> list[Call]:
        """Calls, oldest first. Looking does not make them expected."""
        with self.exchange.lock:
            return [call for call in self.exchange.calls.values() if to in (None, call.number)]

    def expect_message(self, to: str | None = None, channel: Channel | None = None, *, contains: str = "") -> Message:
        """The oldest message that no test asked for yet, and now one has. `AssertionError` when there is none."""
        for message in self.messages(to, channel, contains=contains):
            if not message.expected:
                message.expected = True
                return message
        raise AssertionError(f"No such message came. There were: {self._unexpected() or 'none'}")

    def expect_call(self, to: str | None = None) -> Call:
        """The oldest call that no test asked for yet, and now one has. `AssertionError` when there is none."""
        for call in self.calls(to):
            if not call.expected:
                call.expected = True
                return call
        raise AssertionError(f"No such call came. There were: {self._unexpected() or 'none'}")

    def assert_nothing_unexpected(self) -> None:
        """Fail when there was a message or a call that no test asked for, or when the sandbox itself failed."""
        self._raise_failures()
        left = self._unexpected()
        assert not left, "Unexpected: " + "; ".join(left)

    def _unexpected(self) -> list[str]:
        messages = [f"{m.channel} to {m.number}: {m.body!r}" for m in self.messages() if not m.expected]
        return messages + [f"call to {call.number} ({call.status})" for call in self.calls() if not call.expected]

    @property
    def deliveries(self) -> list[Delivery]:
        """Every webhook posted, or ordered to be lost."""
        with self.exchange.lock:
            return list(self.exchange.deliveries)

    @property
    def troubles(self) -> list[Trouble]:
        """What Twilio's debugger would show."""
        with self.exchange.lock:
            return list(self.exchange.troubles)

    def mail(self, to: str = "") -> list[Mail]:
        """E-mails in the order they came."""
        return self.exchange.mailbox.listed(to)

    # --- what is ordered ---

    def phone(self, number: str) -> Handset:
        """The phone with this number."""
        return Handset(self.exchange, number)

    @property
    def faults(self) -> Faults:
        """Misbehaviour: `sandbox.faults.add("drop_answer", to=…)`; the words are in sandbox/faults.py."""
        return self.exchange.faults

    @property
    def templates(self) -> Templates:
        """`sandbox.templates.change(sid, approval="paused")`, or `body=…`."""
        return self.exchange.templates

    @property
    def mailbox(self) -> Mailbox:
        """All mail."""
        return self.exchange.mailbox

    def reset(self) -> None:
        """Forget all that happened and all that was ordered."""
        self.exchange.reset()
        self.clock.failures.clear()

    def _raise_failures(self) -> None:
        if self.clock.failures:
            raise self.clock.failures.pop(0)
