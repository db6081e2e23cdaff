"""The telephone exchange: everything the sandbox knows, behind one lock, and the posting of webhooks from it."""

import secrets
import threading
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Literal

from sandbox.clock import Clock
from sandbox.config import Config
from sandbox.content import Templates
from sandbox.faults import Fault, Faults, pick, pick_at
from sandbox.mailbox import Mailbox
from sandbox.records import Behaviour, Call, Delivery, Message, Phone, Trouble
from sandbox.webhooks import Poster, Reply, deliver

Subject = Message | Call


class Exchange:
    """The state of one Twilio account and of the phones around it. Hold `lock` to read or change several things."""

    def __init__(self, config: Config, clock: Clock, poster: Poster) -> None:
        self.config = config
        self.clock = clock
        self.poster = poster
        self.lock = threading.RLock()
        self.faults = Faults()
        self.templates = Templates(config)
        self.mailbox = Mailbox(clock.now)
        self.default_behaviour = Behaviour()
        # Whether a text to somebody who opted out is refused at once, or accepted and then failed.
        self.opt_out_at: Literal["create", "callback"] = "create"
        # Called with every message that reached its phone, the lock held.
        self.when_delivered: list[Callable[[Message], None]] = []
        # Grows with every change, so that a page knows when to look again.
        self.version = 0
        self.started = secrets.token_hex(4)
        self.reset()

    def reset(self) -> None:
        """Forget everything that happened; credentials, templates' texts and the clock's time stay."""
        with self.lock:
            self.clock.forget()
            self.messages: dict[str, Message] = {}
            self.calls: dict[str, Call] = {}
            self.phones: dict[str, Phone] = {}
            self.opted_out: set[tuple[str, str]] = set()
            self.windows: dict[tuple[str, str], datetime] = {}
            self.deliveries: list[Delivery] = []
            self.troubles: list[Trouble] = []
            self.faults.clear()
            self.templates.reset()
            self.mailbox.clear()
            self.opt_out_at = "create"
            self.touch()

    def touch(self) -> None:
        """Say that something changed."""
        self.version += 1

    def phone(self, number: str) -> Phone:
        """The phone with this number; it exists from the first time that anybody asks for it."""
        with self.lock:
            if number not in self.phones:
                self.phones[number] = Phone(number, behaviour=self.default_behaviour)
                self.touch()
            return self.phones[number]

    def note_trouble(self, code: int, url: str, sid: str, detail: str) -> None:
        """Write into the debugger."""
        with self.lock:
            self.troubles.append(Trouble(code, url, sid, self.clock.now(), detail))
            self.touch()

    def post(
        self,
        kind: Literal["message", "call", "inbound", "twiml"],
        url: str,
        params: dict[str, str],
        *,
        sid: str,
        method: str = "POST",
        delay_s: float = 0.0,
        faults: list[Fault] | None = None,
        then: Callable[[Reply | None], None] | None = None,
    ) -> None:
        """Post a webhook after `delay_s`, on a thread of its own, and give the answer (None: there was none) to `then`.

        Status callbacks about one `sid` follow each other; documents of a call don't wait for its callbacks.
        """
        token = str(uuid.uuid4())
        signing_key = "another-token" if pick(faults or [], "bad_signature") else self.config.auth_token

        def run() -> None:
            delivery = Delivery(kind, sid, url, params, token, self.clock.now())
            with self.lock:
                self.deliveries.append(delivery)
            reply = deliver(self.poster, delivery, auth_token=signing_key, method=method)
            if reply is None or reply.status >= 400:
                self.note_trouble(11200, url, sid, f"{kind}: {delivery.tries[-1]}")
            if then is not None:
                then(reply)
            with self.lock:
                self.touch()

        # A document's lane is its own, so that a slow status callback does not keep a call silent.
        lane = sid if kind in ("message", "call") else f"{sid} {kind}"
        self.clock.after(delay_s, run, sid=lane, waits=True)

    def call_back(self, subject: Subject, status: str, params: dict[str, str], *, is_last: bool) -> None:
        """Post a status callback about a message or a call, or do with it what its faults say."""
        kind: Literal["message", "call"] = "message" if isinstance(subject, Message) else "call"
        method = "POST" if isinstance(subject, Message) else subject.callback_method
        faults = subject.faults
        for fault in faults:
            if fault.kind == "extra_params":
                params = params | fault.params
            elif fault.kind == "other_account":
                params = params | {"AccountSid": "AC" + "0" * 32}
        if pick_at(faults, "lose", status):
            lost = Delivery(kind, subject.sid, subject.callback_url, params, "", self.clock.now(), lost=True)
            with self.lock:
                self.deliveries.append(lost)
            batch = []
        else:
            repeat = pick_at(faults, "repeat", status)
            batch = [params] * (1 + (repeat.count if repeat else 0))
        if pick(faults, "reorder"):
            subject.held.extend(batch)
            if not is_last:
                return
            batch, subject.held = subject.held[::-1], []
        delay = pick_at(faults, "delay", status)
        for each in batch:
            self.post(
                kind,
                subject.callback_url,
                each,
                sid=subject.sid,
                method=method,
                delay_s=delay.seconds if delay else 0.0,
                faults=faults,
            )
