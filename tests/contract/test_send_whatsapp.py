"""send_whatsapp: its answer, its example, what it needs to be sent, and what the person's number can't take."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from pytest_django import Settings

from accounts import pauses
from accounts.models import Holder
from alerts.carriers import templates
from alerts.carriers.base import TemplateState
from mcp_gateway.contract import TOOLS
from tests.carrier import FakeCarrier
from tests.contract import sends
from tests.contract.sends import Sender, sent_time
from tests.factories import NOW

pytestmark = pytest.mark.django_db
TOOL = "send_whatsapp"


def test_the_seeds_example_has_its_values(sender: Sender) -> None:
    expected = {**TOOLS[TOOL].example_result, "estimated_cost_cents": 3}
    answer = sender.mcp.call(TOOL, dict(TOOLS[TOOL].example_arguments))
    assert {**answer, "alert_id": expected["alert_id"]} == expected
    alert = sender.alert(answer)
    assert (alert.agent_name, alert.use_case, alert.message) == ("Checkout monitor", "checkout", "Checkout is failing.")


def test_without_acknowledgement_no_deadline_is_shown_and_one_attempt_is_due_at_once(sender: Sender) -> None:
    answer = sender.send(TOOL)
    assert answer == {
        "alert_id": answer["alert_id"],
        "status": "queued",
        "channel": "whatsapp",
        "recipient": "Sam",
        "estimated_cost_cents": 3,
        "require_ack": False,
        "deadline_at": None,
        "idempotent_replay": False,
    }
    attempt = sender.alert(answer).attempts.get()
    assert (attempt.kind, attempt.channel, attempt.due_at, attempt.held_at) == ("message", "whatsapp", NOW, NOW)


def test_an_acknowledgement_may_take_an_hour_from_acceptance(sender: Sender) -> None:
    answer = sender.send(TOOL, require_ack=True)
    assert (answer["require_ack"], answer["deadline_at"]) == (True, sent_time(NOW + timedelta(hours=1)))


def test_it_goes_once_by_template_and_a_failure_is_followed_by_nothing(sender: Sender) -> None:
    answer = sender.fail(TOOL, error_code=63024)
    assert [(request.channel, request.template) for request in sender.carrier.requests] == [("whatsapp", "alert")]
    status = sender.status(answer)
    assert (status["status"], status["failure"]["reason"], len(status["attempts"])) == ("failed", "R04", 1)
    sender.work()
    assert len(sender.carrier.requests) == 1


def test_with_acknowledgement_the_message_carries_the_button(sender: Sender) -> None:
    answer = sender.send(TOOL, require_ack=True)
    sender.work()
    (request,) = sender.carrier.requests
    assert request.template == "alert_ack"
    assert request.variables == {"1": "Test agent", "2": sends.MESSAGE, "3": sender.alert(answer).ack_token}


@pytest.mark.parametrize(
    ("name", "recipient"), [(None, "Sam"), ("owner", "owner"), (" OWNER", "owner"), ("sam", "Sam"), ("aDA ", "Ada")]
)
def test_the_recipient_is_owner_when_the_call_said_so_else_the_saved_name(
    sender: Sender, name: str | None, recipient: str
) -> None:
    sender.add("Ada")
    assert sender.send(TOOL, recipient=name)["recipient"] == recipient


def test_a_message_of_600_characters_is_accepted_though_no_sms_would_hold_it(sender: Sender) -> None:
    answer = sender.send(TOOL, message="x" * 600)
    sender.work()
    assert sender.carrier.requests[0].variables["2"] == sender.alert(answer).message == "x" * 600


def test_a_link_may_go_anywhere_by_whatsapp(sender: Sender) -> None:
    sender.add("Ada", sends.NUMBERS["alphanumeric"])
    message = "See https://status.example.com/1"
    assert sender.alert(sender.send(TOOL, message=message, recipient="Ada")).message == message


def unavailable(reason: str, message: str, *, instead: list[str]) -> dict[str, Any]:
    """CHANNEL_UNAVAILABLE of a direct WhatsApp message."""
    return {
        "code": "CHANNEL_UNAVAILABLE",
        "message": message,
        "details": {"channel": "whatsapp", "reason": reason, "available_channels": instead},
    }


def test_a_number_that_is_not_on_whatsapp_is_refused_and_others_are_not(sender: Sender) -> None:
    Holder.objects.filter(pk=sender.owner_holder().pk).update(whatsapp="no")
    assert sender.refused(TOOL) == unavailable(
        "no_whatsapp", "This number isn't on WhatsApp. Use SMS or a call.", instead=["sms", "call"]
    )
    sender.add("Ada")
    assert sender.send(TOOL, recipient="Ada")["channel"] == "whatsapp"


def test_who_blocked_us_on_whatsapp_gets_none_there(sender: Sender) -> None:
    Holder.objects.filter(pk=sender.owner_holder().pk).update(whatsapp_paused_at=NOW)
    assert sender.refused(TOOL) == unavailable(
        "recipient_channel_paused", "This person blocked us on WhatsApp. Use SMS or a call.", instead=["sms", "call"]
    )


def test_when_whatsapp_is_full_the_seeds_words_say_what_to_use(sender: Sender) -> None:
    pauses.pause("whatsapp_capacity", reason="quality", now=NOW)
    assert sender.refused(TOOL) == unavailable(
        "whatsapp_capacity",
        "WhatsApp is paused right now. Use make_call, or send_sms where SMS is offered.",
        instead=["sms", "call"],
    )
    pauses.resume("whatsapp_capacity", now=NOW)
    assert sender.send(TOOL)["status"] == "queued"


@pytest.mark.parametrize(
    "name", ["TWILIO_WHATSAPP_FROM", "TWILIO_CONTENT_SID_ALERT", "TWILIO_CONTENT_SID_ALERT_ACK", None]
)
def test_whatsapp_is_not_live_without_a_sender_a_template_or_by_the_staffs_word(
    sender: Sender, settings: Settings, name: str | None
) -> None:
    if name is None:
        pauses.pause("whatsapp_not_live", reason="approval", now=NOW)
    else:
        setattr(settings, name, "")
    assert sender.refused(TOOL) == unavailable(
        "whatsapp_not_live", "WhatsApp can't be used yet. Use SMS or a call.", instead=["sms", "call"]
    )


@pytest.mark.parametrize(("require_ack", "wrong", "other"), [(False, "alert", True), (True, "alert_ack", False)])
def test_a_template_that_failed_its_check_stops_what_would_use_it_and_nothing_else(
    sender: Sender, require_ack: bool, wrong: str, other: bool
) -> None:
    carrier = FakeCarrier()
    changed = TemplateState("approved", "BreakPass: {{2}} {{1}}")
    for template in ("alert", "alert_ack"):
        if template == wrong:
            carrier.templates[template] = changed
    templates.look("alert", carrier)
    templates.look("alert_ack", carrier)
    assert sender.refused(TOOL, require_ack=require_ack) == {
        "code": "TEMPLATE_MISMATCH",
        "message": "A WhatsApp message template failed its check, so nothing was sent.",
    }
    assert sender.send(TOOL, require_ack=other)["status"] == "queued"
    assert sender.send("send_sms")["status"] == "queued"
    cache.clear()
    templates.look("alert", FakeCarrier())
    templates.look("alert_ack", FakeCarrier())
    assert sender.send(TOOL, require_ack=require_ack)["status"] == "queued"


def test_a_template_that_differs_when_it_is_about_to_be_used_is_not_used_and_costs_nothing(sender: Sender) -> None:
    answer = sender.send(TOOL)
    sender.carrier.templates["alert"] = TemplateState("rejected", "")
    sender.work()
    assert sender.carrier.requests == []
    assert sender.status(answer)["failure"] == {
        "code": "TEMPLATE_MISMATCH",
        "reason": "R10",
        "message": "WhatsApp refused the message content.",
    }
    assert sender.money() == (5000, 0)
