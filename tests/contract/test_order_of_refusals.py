"""Everything is wrong at once; one thing after the other is put right, and each refusal comes in its turn."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts import pauses
from accounts.models import Connection, Holder, Number, Person, Rate
from alerts import breaker
from alerts.carriers import templates
from alerts.carriers.base import TemplateState
from alerts.models import Alert, CarrierCall
from tests.carrier import FakeCarrier
from tests.contract import sends
from tests.contract.sends import TOOLS, Sender
from tests.factories import LONG_AGO, NOW
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db

TOO_LONG_TO_SEND = "x" * 601
TOO_LONG_TO_FIT = "x" * 151
USED_KEY = "used"
# The channel each tool cannot do without in these tests.
NEEDED = {"send_whatsapp": "whatsapp", "send_sms": "sms", "make_call": "call", "start_workflow": "call"}
NEEDS_TEMPLATE = ("send_whatsapp", "start_workflow")
NEEDS_ROOM = ("send_sms", "make_call", "start_workflow")


@dataclass
class Wreck:
    """A call by an agent of an account in which everything is wrong. Each `fix` puts one thing right."""

    sender: Sender
    tool: str
    settings: Settings
    person: Person
    arguments: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def build(cls, sender: Sender, tool: str, settings: Settings) -> "Wreck":
        """Ada is the person meant; an earlier alert to her used the key, all the money and all the room there is."""
        ada = sender.add("Ada", sends.ADA_NUMBER)
        sender.send("send_whatsapp", recipient="Ada", idempotency_key=USED_KEY)
        wreck = cls(sender, tool, settings, ada)
        sender.set_balance(0)
        settings.ACCOUNT_PER_MINUTE = settings.HOLDER_ALERTS_PER_HOUR = settings.UNBILLED_PER_HOUR = 1
        Connection.objects.update(braked_until=NOW.replace(minute=15))
        sends.change_rate("US", NEEDED[tool], status="coming_soon")
        rejected = TemplateState("rejected", "")
        differs = FakeCarrier(templates={"alert": rejected, "alert_ack": rejected})
        templates.look("alert", differs)
        templates.look("alert_ack", differs)
        for _ in range(settings.BREAKER_FAILURES):
            breaker.note("sms", succeeded=False, now=NOW)
        Number.objects.filter(person=ada).update(verified_at=None)
        Holder.objects.filter(numbers__person=ada).update(opted_out_at=NOW)
        sender.set(status="suspended", first_payment_at=None, residence_confirmed_at=None)
        pauses.pause("all", reason="maintenance", now=NOW)
        wreck.arguments = sender.arguments(
            tool, message=TOO_LONG_TO_SEND, recipient="Adda", idempotency_key=USED_KEY, phone="x"
        )
        return wreck

    def say(self, **arguments: Any) -> None:
        """Change arguments of the call; None takes one out."""
        changed = {**self.arguments, **arguments}
        self.arguments = {name: value for name, value in changed.items() if value is not None}

    def refusal(self) -> dict[str, Any]:
        """What the call is refused with, having left nothing behind."""
        before = sends.Trace.of(self.sender.account)
        error = self.sender.mcp.refusal(self.tool, self.arguments)
        assert sends.Trace.of(self.sender.account) == before
        return error


@dataclass(frozen=True, slots=True)
class Turn:
    """A refusal, by its code and what tells it from others of that code, and how what it is about is put right."""

    code: str
    telling: dict[str, Any]
    fix: Callable[[Wreck], object]
    tools: tuple[str, ...] = tuple(TOOLS)


TURNS = [
    Turn("CONTENT_REJECTED", {"field": "phone", "rule": "unknown_field"}, lambda w: w.say(phone=None)),
    Turn("CONTENT_REJECTED", {"field": "message", "rule": "max_length"}, lambda w: w.say(message=TOO_LONG_TO_FIT)),
    Turn("IDEMPOTENCY_CONFLICT", {}, lambda w: w.say(idempotency_key="fresh")),
    Turn("ACCOUNT_SUSPENDED", {}, lambda w: w.sender.set(status="active")),
    Turn("SERVICE_PAUSED", {"flag": "all"}, lambda w: pauses.resume("all", now=NOW)),
    Turn("SETUP_INCOMPLETE", {"first": "payment_needed"}, lambda w: w.sender.set(first_payment_at=LONG_AGO)),
    Turn("SETUP_INCOMPLETE", {"first": "residence_needed"}, lambda w: w.sender.set(residence_confirmed_at=LONG_AGO)),
    Turn("RECIPIENT_NOT_FOUND", {}, lambda w: w.say(recipient="ada")),
    Turn("RECIPIENT_OPTED_OUT", {}, lambda w: forget_the_stop(w.person)),
    Turn("RECIPIENT_NOT_VERIFIED", {"reason": "pending"}, lambda w: verify(w.person)),
    Turn("CHANNEL_UNAVAILABLE", {"reason": "coming_soon"}, lambda w: open_channels()),
    Turn("TEMPLATE_MISMATCH", {}, lambda w: approve_templates(), tools=NEEDS_TEMPLATE),
    Turn("PROVIDER_ERROR", {}, lambda w: CarrierCall.objects.all().delete()),
    Turn("CONTENT_REJECTED", {"field": "message"}, lambda w: w.say(message=sends.MESSAGE), tools=NEEDS_ROOM),
    Turn("RATE_LIMITED", {"reason": "runaway_brake"}, lambda w: Connection.objects.update(braked_until=None)),
    Turn("RATE_LIMITED", {"reason": "account_per_minute"}, lambda w: setattr(w.settings, "ACCOUNT_PER_MINUTE", 10)),
    Turn("RATE_LIMITED", {"reason": "holder_per_hour"}, lambda w: setattr(w.settings, "HOLDER_ALERTS_PER_HOUR", 20)),
    Turn(
        "RATE_LIMITED",
        {"reason": "unbilled_send_busy"},
        lambda w: setattr(w.settings, "UNBILLED_PER_HOUR", 20),
        tools=NEEDS_TEMPLATE,
    ),
    Turn("INSUFFICIENT_BALANCE", {"balance_cents": 0}, lambda w: w.sender.set_balance(23)),
]


def open_channels() -> None:
    """Every channel is offered again."""
    Rate.objects.update(status="available")


def forget_the_stop(person: Person) -> None:
    """As if the person had never stopped anything."""
    holder = sends.holder_of(person)
    holder.opted_out_at = None
    holder.save()


def verify(person: Person) -> None:
    """The person confirmed the number."""
    Number.objects.filter(person=person).update(verified_at=timezone.now())


def approve_templates() -> None:
    """WhatsApp has the templates again as they should be, and that was seen."""
    cache.clear()
    templates.look("alert", FakeCarrier())
    templates.look("alert_ack", FakeCarrier())


@pytest.mark.parametrize("tool", TOOLS)
def test_each_refusal_comes_in_its_turn_and_then_the_alert_is_accepted(
    sender: Sender, settings: Settings, tool: str
) -> None:
    wreck = Wreck.build(sender, tool, settings)
    turns = [turn for turn in TURNS if tool in turn.tools]
    for turn in turns:
        error = wreck.refusal()
        details = error.get("details", {})
        told = {**details, "first": details["blockers"][0]["code"]} if "blockers" in details else details
        assert (error["code"], {**told, **turn.telling}) == (turn.code, told)
        turn.fix(wreck)
    answer = wreck.sender.mcp.call(tool, wreck.arguments)
    assert (answer["recipient"], answer["idempotent_replay"]) == ("Ada", False)
    assert Alert.objects.count() == 2


def test_who_may_not_call_at_all_hears_nothing_of_the_account(
    client: Client, sender: Sender, settings: Settings
) -> None:
    wreck = Wreck.build(sender, "send_sms", settings)
    before = sends.Trace.of(sender.account)
    reader = McpClient(client, issue_token(sender.account, client_name="Reader", scopes="alerts.read"))
    stranger = McpClient(client, "no-such-token")
    for agent, status in ((stranger, 401), (reader, 403)):
        response = agent.post("tools/call", {"name": "send_sms", "arguments": wreck.arguments})
        assert response.status_code == status
        assert b"CONTENT_REJECTED" not in response.content
    assert sends.Trace.of(sender.account) == before


@pytest.mark.parametrize("tool", TOOLS)
def test_a_replay_comes_before_everything_but_fields_and_content(sender: Sender, settings: Settings, tool: str) -> None:
    Wreck.build(sender, "send_whatsapp", settings)
    if tool == "send_whatsapp":
        answer = sender.send(tool, recipient="Ada", idempotency_key=USED_KEY)
        assert answer["idempotent_replay"] is True
        assert answer["recipient"] == "Ada"
    else:
        assert sender.refused(tool, recipient="Ada", idempotency_key=USED_KEY)["code"] == "IDEMPOTENCY_CONFLICT"
    rejected = sender.rejected(tool, message="", idempotency_key=USED_KEY)
    assert (rejected["field"], rejected["rule"]) == ("message", "empty")


def test_the_same_send_within_the_minute_is_a_replay_whatever_went_wrong_since(
    sender: Sender, settings: Settings
) -> None:
    Wreck.build(sender, "send_whatsapp", settings)
    answer = sender.send("send_whatsapp", recipient="Ada")
    assert answer["idempotent_replay"] is True
    assert Alert.objects.count() == 1


def test_an_unknown_workflow_is_refused_with_the_fields_before_its_key_is_looked_at(sender: Sender) -> None:
    sender.send("start_workflow", idempotency_key=USED_KEY)
    sender.set(status="suspended")
    error = sender.refused("start_workflow", workflow_id="panic", idempotency_key=USED_KEY)
    assert error["code"] == "WORKFLOW_NOT_FOUND"
