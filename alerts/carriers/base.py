"""What the product asks of a carrier, and what a carrier can answer: the only words that cross that line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from breakpass.ids import sha256_hex

Channel = Literal["whatsapp", "sms", "call"]
Template = Literal["alert", "alert_ack", "code"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request to the carrier, complete: nothing else is looked up while it is on the wire.

    Digits and words are left out of `repr`, so that no log line can hold them.
    """

    # Our id on the wire: an attempt's `ref`, or a verification code's token.
    ref: str
    channel: Channel
    # E.164.
    to: str = field(repr=False)
    claimed_at: datetime
    status_url: str
    # An SMS as it is sent.
    text: str = field(default="", repr=False)
    # The SMS sender kind of the country (accounts.models.Rate.Sender).
    sender: str = ""
    # A WhatsApp message: which approved template, and its numbered variables.
    template: Template | None = None
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Seconds after which the carrier drops an SMS it has not delivered.
    validity_s: int = 36_000
    # A call: where its words are, how long it rings, and when it is cut off after an answer.
    voice_url: str = ""
    ring_s: int = 25
    limit_s: int = 55


@dataclass(frozen=True, slots=True)
class Sent:
    """The carrier took it: the id it gave, and the status it starts with."""

    sid: str
    status: str


class CarrierProblem(Exception):
    """The request did not end in `Sent`. Which of the four below says what is certain."""


class Refused(CarrierProblem):
    """The carrier answered no: nothing was sent, and the same request would be refused again."""

    def __init__(self, error_code: int | None, http_status: int) -> None:
        super().__init__("refused")
        self.error_code = error_code
        self.http_status = http_status


class Throttled(CarrierProblem):
    """The carrier asks to come back in `retry_after_s` seconds (at least 1): nothing was sent."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("throttled")
        self.retry_after_s = max(1, retry_after_s)


class Unreachable(CarrierProblem):
    """No connection was made: no byte left us, so it can be tried again."""


class Unknown(CarrierProblem):
    """No answer, or none that says anything: it may have gone. Never sent again; the carrier is asked what it has."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the carrier says about one message or call, at some moment. Repeats have the same `fingerprint`."""

    source: Literal["callback", "voice", "answer", "asked"]
    sid: str
    # The carrier's own word.
    status: str
    error_code: int | None = None
    sip_code: int | None = None
    # Calls only: the order in which things happened, from 0.
    sequence: int | None = None
    duration_s: int | None = None
    # What may be kept: no number, no text, no name.
    params: Mapping[str, str] = field(default_factory=dict)

    def fingerprint(self, ref: str) -> str:
        """A hash over what makes this report different from others about the same attempt."""
        what = (ref, self.sid, self.status, self.error_code, self.sip_code, self.sequence, self.duration_s)
        return sha256_hex("\x00".join("" if part is None else str(part) for part in what))


@dataclass(frozen=True, slots=True)
class TemplateState:
    """A message template as the carrier holds it: WhatsApp's approval, the body, and its buttons (title, payload)."""

    approval: str
    body: str
    buttons: tuple[tuple[str, str], ...] = ()


class Carrier(Protocol):
    """Sends and asks. Every method raises `CarrierProblem`; none is called inside a transaction."""

    def send_message(self, outgoing: Outgoing) -> Sent:
        """Hand over one SMS or WhatsApp message, once."""
        ...

    def place_call(self, outgoing: Outgoing) -> Sent:
        """Hand over one call, once."""
        ...

    def fetch(self, channel: Channel, sid: str) -> Report:
        """What the carrier has under this id now."""
        ...

    def find(self, outgoing: Outgoing) -> Sequence[Report]:
        """What the carrier has that can only be this request, oldest first; empty when it certainly has nothing yet."""
        ...

    def fetch_template(self, template: Template) -> TemplateState:
        """The template as approved; `Refused` when there is none under its id."""
        ...
