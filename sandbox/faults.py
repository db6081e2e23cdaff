"""Misbehaviour that a test orders: what, for whom, how often."""

import threading
from dataclasses import asdict, dataclass, field
from typing import Any

# Of the request: what becomes of the answer.
REQUEST_FAULTS = {
    "reject": "answer with error `code` and HTTP `http_status` (400), accepting nothing",
    "throttle": "answer 429 with Retry-After `seconds` (2), accepting nothing",
    "server_error": "answer HTTP `http_status` (503), accepting nothing",
    "refuse_connection": "close the connection without accepting",
    "drop_answer": "accept, then close the connection without an answer",
    "error_after_accepting": "accept, then answer HTTP `http_status` (503)",
    "slow": "accept, and answer `seconds` real seconds later",
    "callback_first": "accept, post the callbacks, and only then answer",
}
# Of what was accepted: what becomes of it and of its callbacks.
ENTITY_FAULTS = {
    "lose": "post no callback (or only not the one for `status`)",
    "repeat": "post every callback (or the one for `status`) `count` (1) times more",
    "reorder": "post the callbacks in reverse order, once the last is known",
    "delay": "post the callbacks `seconds` later",
    "fail": "end as `status` (failed) with error `code`",
    "no_receipt": "a message stays `sent`",
    "hold": "a message stays queued for `seconds`, and fails with 30036 when that is past its validity",
    "extra_status": "post one more callback with `status` before the last",
    "extra_params": "add `params` to the callbacks",
    "bad_signature": "sign the callbacks with another token",
    "other_account": "name another AccountSid in the callbacks",
    "end_call": "the call ends as `status` (failed) with SIP code `code` instead of ringing",
    "skip_event": "a call does not report `status`, whatever was asked",
}
OPERATIONS = ("create", "fetch", "list", "update", "content")


@dataclass
class Fault:
    """One order. `times` None: always. `to`, `channel` None: any. `operation` is for faults of the request."""

    kind: str
    times: int | None = 1
    to: str | None = None
    channel: str | None = None
    operation: str = "create"
    code: int = 0
    http_status: int = 0
    status: str = ""
    seconds: float = 0.0
    count: int = 1
    params: dict[str, str] = field(default_factory=dict)
    used: int = 0

    def fits(self, to: str, channel: str) -> bool:
        """Whether it applies to this number and channel, and is not used up."""
        left = self.times is None or self.used < self.times
        return left and self.to in (None, to) and self.channel in (None, channel)


class Faults:
    """The orders that stand. Each request takes what fits it; an order is used up after `times` requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders: list[Fault] = []

    def add(self, kind: str, **options: Any) -> Fault:
        """Order a fault (see REQUEST_FAULTS, ENTITY_FAULTS). `ValueError` for a word that is not one of them."""
        if kind not in REQUEST_FAULTS and kind not in ENTITY_FAULTS:
            raise ValueError(f"There is no fault {kind!r}.")
        try:
            fault = Fault(kind, **options)
        except TypeError as error:
            raise ValueError(str(error)) from error
        if fault.operation not in OPERATIONS:
            raise ValueError(f"There is no operation {fault.operation!r}.")
        with self._lock:
            self._orders.append(fault)
        return fault

    def clear(self) -> None:
        """Behave again."""
        with self._lock:
            self._orders.clear()

    def take(self, operation: str, to: str, channel: str) -> list[Fault]:
        """The request faults for this request; each counts as used once."""
        return self._take(REQUEST_FAULTS, to, channel, operation)

    def take_for_entity(self, to: str, channel: str) -> list[Fault]:
        """The faults that a new message or call carries with it; each counts as used once."""
        return self._take(ENTITY_FAULTS, to, channel, "create")

    def _take(self, kinds: dict[str, str], to: str, channel: str, operation: str) -> list[Fault]:
        with self._lock:
            found = [f for f in self._orders if f.kind in kinds and f.operation == operation and f.fits(to, channel)]
            for fault in found:
                fault.used += 1
            return found

    def listed(self) -> list[dict[str, Any]]:
        """All orders as plain data."""
        with self._lock:
            return [asdict(fault) for fault in self._orders]


def pick(faults: list[Fault], kind: str) -> Fault | None:
    """The first fault of a kind."""
    return next((fault for fault in faults if fault.kind == kind), None)


def pick_at(faults: list[Fault], kind: str, status: str) -> Fault | None:
    """The first fault of a kind that was ordered for this status, or for every one."""
    return next((fault for fault in faults if fault.kind == kind and fault.status in ("", status)), None)
