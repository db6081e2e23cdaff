"""An alert's course, for tests that look at it through MCP: time, the carrier, its signed reports, keys and buttons."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree as ET

import time_machine
from django.core.cache import cache
from django.http import HttpResponse
from django.utils import timezone

from alerts import outbox
from alerts.carriers.base import Outgoing
from alerts.models import Attempt
from tests.carrier import FakeCarrier
from tests.factories import NOW
from tests.mcp_client import McpClient
from tests.signing import post_signed

INBOUND = "/webhooks/twilio/inbound"
MESSAGE = "Checkout is failing."
TOOLS = {"whatsapp": "send_whatsapp", "sms": "send_sms", "call": "make_call"}


@dataclass
class Course:
    """Time stands still until `wait`; nothing is sent but by it or by `run`."""

    clock: time_machine.Traveller
    carrier: FakeCarrier = field(default_factory=FakeCarrier)

    def run(self) -> None:
        """Whatever is due now."""
        report = outbox.sweep(timezone.now(), carrier=self.carrier)
        assert report.failed == 0

    def wait(self, *, minutes: float = 0, seconds: float = 0) -> None:
        """Let time pass, then do what is due."""
        self.clock.shift(timedelta(minutes=minutes, seconds=seconds))
        self.run()

    @property
    def sent(self) -> list[Outgoing]:
        """What the carrier was asked to send, in order."""
        return self.carrier.requests

    def report(self, alert_id: str, seq: int, status: str, **more: Any) -> None:
        """The carrier's word on one attempt."""
        attempt = attempt_of(alert_id, seq)
        if attempt.channel == "call":
            fields = {"CallSid": attempt.carrier_sid, "CallStatus": status}
        else:
            fields = {"MessageSid": attempt.carrier_sid, "MessageStatus": status}
        fields |= {name: str(value) for name, value in more.items()}
        assert post_signed(f"/webhooks/twilio/status/{attempt.ref}", fields).status_code == 204

    def pick_up(self, alert_id: str, seq: int) -> HttpResponse:
        """The phone is answered: what is said."""
        attempt = attempt_of(alert_id, seq)
        return post_signed(f"/webhooks/twilio/voice/{attempt.ref}", {"CallSid": attempt.carrier_sid})

    def press(self, said: HttpResponse, part: str, key: str, *, call_sid: str) -> HttpResponse:
        """A key while this part of the document is heard."""
        action = next(action for action in actions_of(said) if f"part={part}" in action)
        path = action.removeprefix("http://127.0.0.1:8000").split("#")[0]
        return post_signed(path, {"CallSid": call_sid, "Digits": key})

    def write(self, sender: str, body: str, **more: str) -> None:
        """A message from a person, each one its own."""
        self._written += 1
        fields = {"From": sender, "Body": body, "MessageSid": f"SMin{self._written}", **more}
        assert post_signed(INBOUND, fields).status_code == 200

    _written: int = 0


@contextmanager
def following() -> Iterator[Course]:
    """A course that begins at the tests' moment, with nothing in the cache."""
    cache.clear()
    with time_machine.travel(NOW, tick=False) as clock:
        yield Course(clock)


def attempt_of(alert_id: str, seq: int) -> Attempt:
    """One attempt as it is now."""
    return Attempt.objects.get(alert__code=alert_id, seq=seq)


def actions_of(said: HttpResponse) -> list[str]:
    """Where the keys of each part of a call's document go."""
    return [gather.attrib["action"] for gather in ET.fromstring(said.content.decode()).iter("Gather")]


def words_of(said: HttpResponse) -> list[str]:
    """What a call's document says."""
    return [say.text or "" for say in ET.fromstring(said.content.decode()).iter("Say")]


def send(mcp: McpClient, channel: str = "sms", **more: Any) -> str:
    """A direct send; its id."""
    return str(mcp.call(TOOLS[channel], {"message": MESSAGE, **more})["alert_id"])


def start(mcp: McpClient, workflow_id: str, message: str = MESSAGE, **more: Any) -> str:
    """A workflow; its id."""
    arguments = {"workflow_id": workflow_id, "message": message, "idempotency_key": "k1", **more}
    return str(mcp.call("start_workflow", arguments)["alert_id"])


def shown(mcp: McpClient, code: str) -> dict[str, Any]:
    """The alert as the agent gets it now."""
    [alert] = mcp.call("get_alert_status", {"alert_ids": [code]})["alerts"]
    return dict(alert)


def reads(mcp: McpClient, code: str) -> tuple[str, str, str, bool, bool]:
    """Status, outcome and its words, whether it has ended, whether it waits for an acknowledgement."""
    alert = shown(mcp, code)
    return alert["status"], alert["outcome"], alert["outcome_text"], alert["terminal"], alert["awaiting_ack"]
