"""What the sandbox remembers: messages, calls, phones, e-mails, webhooks sent, and trouble with their answers."""

import secrets
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from sandbox.twiml import Gather, Verb

if TYPE_CHECKING:
    from sandbox.faults import Fault

Channel = Literal["sms", "whatsapp", "call"]
MessageChannel = Literal["sms", "whatsapp"]

FINAL_MESSAGE = frozenset({"delivered", "undelivered", "failed", "canceled", "read"})
LIVE_CALL = frozenset({"queued", "initiated", "ringing", "in-progress"})


def new_sid(prefix: str) -> str:
    """A SID as Twilio makes them: two letters and 32 hex digits."""
    return prefix + secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class Button:
    """A quick reply under a WhatsApp message. `payload` is what its press sends back."""

    title: str
    payload: str


@dataclass
class Message:
    """One SMS or WhatsApp message, in either direction. `sender` and `number` are E.164 (or a name, for `sender`)."""

    sid: str
    channel: MessageChannel
    sender: str
    number: str
    body: str
    direction: Literal["outbound-api", "outbound-reply", "inbound"]
    status: str
    created_at: datetime
    updated_at: datetime
    callback_url: str = ""
    sent_at: datetime | None = None
    ended_at: datetime | None = None
    error_code: int | None = None
    template_sid: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    buttons: tuple[Button, ...] = ()
    pressed: str = ""
    segments: int = 1
    validity_s: int = 36000
    # The request's parameters as they came.
    params: dict[str, str] = field(default_factory=dict)
    faults: "list[Fault]" = field(default_factory=list)
    held: list[dict[str, str]] = field(default_factory=list)
    expected: bool = False

    @property
    def is_final(self) -> bool:
        """Whether no more is to come, except `read`."""
        return self.status in FINAL_MESSAGE

    @property
    def is_inbound(self) -> bool:
        """Whether the person wrote it."""
        return self.direction == "inbound"


@dataclass
class Line:
    """One line of what happened in a call: said, a key, or a note."""

    at: datetime
    kind: Literal["said", "key", "lost_key", "note"]
    text: str
    cut: bool = False


@dataclass
class GatherState:
    """A Gather that listens: what is still to be said in it and the keys so far."""

    gather: Gather
    prompts: deque[Verb]
    digits: str = ""


@dataclass
class Call:
    """One call. `number` is the phone that rings."""

    sid: str
    sender: str
    number: str
    status: str
    created_at: datetime
    updated_at: datetime
    url: str = ""
    method: str = "POST"
    twiml: str = ""
    fallback_url: str = ""
    fallback_method: str = "POST"
    callback_url: str = ""
    callback_method: str = "POST"
    events: frozenset[str] = frozenset({"completed"})
    ring_s: int = 60
    limit_s: int = 14400
    answered_at: datetime | None = None
    ended_at: datetime | None = None
    sip_code: int = 0
    error_code: int | None = None
    sequence: int = 0
    lines: list[Line] = field(default_factory=list)
    verbs: deque[Verb] = field(default_factory=deque)
    document_url: str = ""
    gather: GatherState | None = None
    # Grows whenever something new begins, so that a timer set before it knows that it is stale.
    turn: int = 0
    # Documents since something was last said or listened for.
    hops: int = 0
    speaking_until: datetime | None = None
    params: dict[str, str] = field(default_factory=dict)
    faults: "list[Fault]" = field(default_factory=list)
    held: list[dict[str, str]] = field(default_factory=list)
    expected: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.status in LIVE_CALL

    @property
    def said(self) -> list[str]:
        """The sentences that were begun, in order."""
        return [line.text for line in self.lines if line.kind == "said"]

    @property
    def duration_s(self) -> int:
        """Whole seconds from the answer to the end; 0 when nobody answered."""
        if self.answered_at is None or self.ended_at is None:
            return 0
        return round((self.ended_at - self.answered_at).total_seconds())


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a phone does by itself. Seconds are those of the sandbox's clock."""

    online: bool = True
    whatsapp: Literal["yes", "no", "blocked"] = "yes"
    sms: Literal["yes", "no_receipt", "landline"] = "yes"
    call: Literal["ring", "answer", "busy", "decline", "invalid"] = "ring"
    answer_after_s: float = 2.0
    # Keys pressed after it answered by itself or by hand; the first after `press_after_s`, the others 2 s apart.
    press: str = ""
    press_after_s: float = 4.0
    reads: bool = False
    # Press the first button of every WhatsApp message, so long after it was delivered.
    button_after_s: float | None = None


@dataclass
class Phone:
    """A phone that exists because something was sent to it, or because somebody added it."""

    number: str
    name: str = ""
    behaviour: Behaviour = field(default_factory=Behaviour)


@dataclass
class Delivery:
    """One webhook: what was posted where, with which token, and what every try came to (a status, or a word)."""

    kind: Literal["message", "call", "inbound", "twiml"]
    sid: str
    url: str
    params: dict[str, str]
    token: str
    at: datetime
    lost: bool = False
    tries: list[int | str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What Twilio's debugger would show: a webhook that failed or answered something it could not use."""

    code: int
    url: str
    sid: str
    at: datetime
    detail: str


@dataclass(frozen=True, slots=True)
class Mail:
    """One e-mail that the product sent."""

    id: str
    sender: str
    recipients: tuple[str, ...]
    subject: str
    text: str
    at: datetime
    raw: bytes
