"""CHANNEL_UNAVAILABLE: the reasons that any channel can have, alone and in a workflow, in their order."""

from typing import Any

import pytest

from accounts.models import Country, Rate
from tests.contract import sends
from tests.contract.sends import CHANNELS, TOOLS, Sender

pytestmark = pytest.mark.django_db
each_channel = pytest.mark.parametrize("tool", list(CHANNELS))
SUBJECTS = {"whatsapp": "WhatsApp", "sms": "SMS", "call": "Calling"}
WORDS = {"whatsapp": "WhatsApp", "sms": "SMS", "call": "a call"}


def others(channel: str) -> list[str]:
    """The other channels, in order."""
    return [each for each in sends.CENTS if each != channel]


def use(channel: str) -> str:
    """What can be used instead, in words."""
    return f" Use {' or '.join(WORDS[each] for each in others(channel))}."


@pytest.mark.parametrize("tool", TOOLS)
def test_a_country_that_no_channel_reaches(sender: Sender, tool: str) -> None:
    sender.add("Ada", sends.NUMBERS["alphanumeric"])
    Rate.objects.filter(country_id="GB").update(status="unavailable")
    error = sender.refused(tool, recipient="Ada")
    assert (error["code"], error["message"]) == ("CHANNEL_UNAVAILABLE", "BreakPass doesn't reach this country yet.")
    assert (error["details"]["reason"], error["details"]["available_channels"]) == ("country_unsupported", [])
    assert sender.send(tool)["recipient"] == "Sam"


@pytest.mark.parametrize("tool", TOOLS)
def test_a_country_that_staff_switched_off(sender: Sender, tool: str) -> None:
    sender.add("Ada", sends.NUMBERS["alphanumeric"])
    Country.objects.filter(code="GB").update(is_offered=False)
    error = sender.refused(tool, recipient="Ada")
    assert error["message"] == "BreakPass doesn't send to this country right now."
    assert (error["details"]["reason"], error["details"]["available_channels"]) == ("country_not_offered", [])


@each_channel
@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        ("unavailable", "not_in_country", "isn't offered for this number."),
        ("coming_soon", "coming_soon", "isn't offered for this number yet."),
    ],
)
def test_a_channel_that_the_country_lacks(sender: Sender, tool: str, status: str, reason: str, words: str) -> None:
    channel = CHANNELS[tool]
    sends.change_rate("US", channel, status=status)
    assert sender.refused(tool) == {
        "code": "CHANNEL_UNAVAILABLE",
        "message": f"{SUBJECTS[channel]} {words}{use(channel)}",
        "details": {"channel": channel, "reason": reason, "available_channels": others(channel)},
    }


@each_channel
def test_a_channel_above_the_owners_own_maximum(sender: Sender, tool: str) -> None:
    channel = CHANNELS[tool]
    price_cents = sends.CENTS[channel][0]
    sender.set(max_price_cents=price_cents - 1)
    cheaper = [each for each in others(channel) if sends.CENTS[each][0] < price_cents]
    instead = f" Use {' or '.join(WORDS[each] for each in cheaper)}." if cheaper else ""
    assert sender.refused(tool) == {
        "code": "CHANNEL_UNAVAILABLE",
        "message": f"{SUBJECTS[channel]} costs more for this number than the owner's maximum for one alert.{instead}",
        "details": {"channel": channel, "reason": "rate_above_max", "available_channels": cheaper},
    }
    sender.set(max_price_cents=price_cents)
    assert sender.send(tool)["status"] == "queued"


@each_channel
def test_a_channel_that_needs_a_delivered_setup_test_first(sender: Sender, tool: str) -> None:
    channel = CHANNELS[tool]
    sends.change_rate("US", channel, needs_test=True)
    refusal = {
        "code": "CHANNEL_UNAVAILABLE",
        "message": f"{SUBJECTS[channel]} needs one delivered test alert to this number first, sent from the setup page."
        + use(channel),
        "details": {"channel": channel, "reason": "test_alert_pending", "available_channels": others(channel)},
    }
    assert sender.refused(tool) == refusal
    sender.test(channel, arrives=False)
    assert sender.refused(tool) == refusal
    sender.test(channel, arrives=True)
    assert sender.send(tool)["status"] == "queued"
    sender.add("Ada")
    assert sender.refused(tool, recipient="Ada") == refusal


def test_a_workflow_names_the_steps_that_cannot_go(sender: Sender) -> None:
    sends.change_rate("US", "call", status="coming_soon")
    error = sender.refused("start_workflow")
    assert error == {
        "code": "CHANNEL_UNAVAILABLE",
        "message": "Calling isn't offered for this number yet. Use WhatsApp or SMS.",
        "details": {
            "channel": "call",
            "reason": "coming_soon",
            "available_channels": ["whatsapp", "sms"],
            "unavailable_steps": [{"offset_min": minute, "kind": "call", "channel": "call"} for minute in (0, 1, 2)],
        },
    }
    assert sender.send("start_workflow", workflow_id="acknowledge")["status"] == "queued"


@pytest.mark.parametrize(
    ("without", "channel"), [((), "whatsapp"), (("whatsapp",), "sms"), (("sms",), "whatsapp"), (("call",), "whatsapp")]
)
def test_a_message_step_goes_by_whatsapp_else_by_sms(sender: Sender, without: tuple[str, ...], channel: str) -> None:
    Rate.objects.filter(channel__in=without).update(status="unavailable")
    answer = sender.send("start_workflow", workflow_id="inform")
    assert [step["channel"] for step in answer["steps"]] == [channel]


def test_a_message_step_with_neither_is_unavailable_as_the_channel_it_would_take_first(sender: Sender) -> None:
    Rate.objects.exclude(channel="call").update(status="unavailable")
    details: dict[str, Any] = sender.refused("start_workflow", workflow_id="inform")["details"]
    assert details == {
        "channel": "whatsapp",
        "reason": "not_in_country",
        "available_channels": ["call"],
        "unavailable_steps": [{"offset_min": 0, "kind": "message", "channel": "whatsapp"}],
    }
