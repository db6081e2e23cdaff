"""A carrier in memory: keeps what it was asked, and answers as a test tells it to."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from alerts.carriers.base import Channel, Outgoing, Refused, Report, Sent, Template, TemplateState
from alerts.carriers.templates import for_alert

__all__ = ["FakeCarrier", "for_alert"]
BODY = "BreakPass alert from {{1}}: {{2}} — sent by BreakPass."
TEMPLATES: dict[Template, TemplateState] = {
    "alert": TemplateState("approved", BODY),
    "alert_ack": TemplateState("approved", BODY, (("Acknowledge", "{{3}}"),)),
    "code": TemplateState("approved", "BreakPass: {{1}} Your code is {{2}}. Enter it on the BreakPass page."),
}
Answer = Sent | Exception | Callable[[Outgoing], Sent]


@dataclass
class FakeCarrier:
    """Takes everything and gives ids in order, unless `answers` has something else for the next requests."""

    answers: list[Answer] = field(default_factory=list)
    requests: list[Outgoing] = field(default_factory=list)
    # What it has, for `fetch` and `find`; an exception is raised instead.
    has: dict[str, Report | Exception] = field(default_factory=dict)
    finds: list[Report] | Exception = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    templates: dict[Template, TemplateState | Exception] = field(default_factory=lambda: dict(TEMPLATES))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send_message(self, outgoing: Outgoing) -> Sent:
        """Take a message."""
        return self._take(outgoing)

    def place_call(self, outgoing: Outgoing) -> Sent:
        """Take a call."""
        return self._take(outgoing)

    def _take(self, outgoing: Outgoing) -> Sent:
        with self._lock:
            self.requests.append(outgoing)
            answer = self.answers.pop(0) if self.answers else sid_answer(outgoing, len(self.requests))
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Sent) else answer(outgoing)

    def fetch(self, channel: Channel, sid: str) -> Report:
        """What it has under an id; refused when nothing."""
        self.asked.append(f"fetch {sid}")
        found = self.has.get(sid, Refused(20404, 404))
        if isinstance(found, Exception):
            raise found
        return found

    def find(self, outgoing: Outgoing) -> Sequence[Report]:
        """What it has that may be this request."""
        self.asked.append(f"find {outgoing.ref}")
        if isinstance(self.finds, Exception):
            raise self.finds
        return self.finds

    def fetch_template(self, template: Template) -> TemplateState:
        """The template as it is approved."""
        self.asked.append(f"template {template}")
        found = self.templates[template]
        if isinstance(found, Exception):
            raise found
        return found


def sid_answer(outgoing: Outgoing, number: int) -> Sent:
    """The answer to the nth request: an id of the channel's kind, and its first status."""
    prefix = "CA" if outgoing.channel == "call" else "SM"
    return Sent(f"{prefix}{number:032x}", "queued")
