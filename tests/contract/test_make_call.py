"""make_call: its answer and example, the 150 characters, one call at a time, and what each outcome costs and reads."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from mcp_gateway.contract import TOOLS
from tests.contract import sends
from tests.contract.sends import Sender, sent_time
from tests.factories import NOW

pytestmark = pytest.mark.django_db
TOOL = "make_call"


def test_the_seeds_example_has_its_values(sender: Sender) -> None:
    expected = {**TOOLS[TOOL].example_result, "estimated_cost_cents": 20}
    answer = sender.mcp.call(TOOL, dict(TOOLS[TOOL].example_arguments))
    expected |= {"alert_id": answer["alert_id"], "deadline_at": sent_time(NOW + timedelta(hours=1))}
    assert answer == expected


def test_without_acknowledgement_no_deadline_is_shown(sender: Sender) -> None:
    answer = sender.send(TOOL)
    assert answer == {
        "alert_id": answer["alert_id"],
        "status": "queued",
        "channel": "call",
        "recipient": "Sam",
        "estimated_cost_cents": 20,
        "require_ack": False,
        "deadline_at": None,
        "idempotent_replay": False,
    }
    attempt = sender.alert(answer).attempts.get()
    assert (attempt.kind, attempt.price_cents, attempt.reduced_cents) == ("call", 20, 5)


@pytest.mark.parametrize("tool", [TOOL, "start_workflow"])
def test_150_characters_are_read_out_and_151_are_refused_with_both_figures(sender: Sender, tool: str) -> None:
    for over in (1, 40):
        counted = "1 character" if over == 1 else f"{over} characters"
        assert sender.rejected(tool, message="x" * (150 + over)) == {
            "field": "message",
            "rule": "call_length",
            "max_length": 150,
            "shorten_by": over,
            "message": f"An alert with a call takes at most 150 characters. Make it {counted} shorter.",
        }
    assert sender.send(tool, message="x" * 150)["status"] == "queued"


@pytest.mark.parametrize(
    ("status", "more", "reads", "charged"),
    [
        ("completed", {"duration_s": 20}, ("delivered", "answered", "answered", None), 20),
        ("no-answer", {}, ("failed", "not_answered", "no_answer", "not_picked_up"), 5),
        ("busy", {}, ("failed", "not_answered", "busy", "not_picked_up"), 5),
        ("failed", {"sip_code": 480}, ("failed", "not_answered", "no_answer", "not_picked_up"), 5),
        ("failed", {"sip_code": 404}, ("failed", "failed", "failed", None), 0),
        ("canceled", {}, ("failed", "failed", "failed", None), 0),
    ],
)
def test_a_call_costs_and_reads_by_its_outcome(
    sender: Sender, status: str, more: dict[str, Any], reads: tuple[str, str, str, str | None], charged: int
) -> None:
    answer = sender.send(TOOL)
    assert sender.money() == (4980, 20)
    sender.work()
    sender.report(answer, status, sequence=3, **more)
    alert = sender.status(answer)
    (attempt,) = alert["attempts"]
    assert (alert["status"], alert["outcome"], attempt["status"], attempt["outcome"]) == reads
    assert (alert["charged_cents"], attempt["charged_cents"], sender.money()) == (charged, charged, (5000 - charged, 0))


def test_nobody_picking_up_is_no_error_of_delivery(sender: Sender) -> None:
    answer = sender.send(TOOL)
    sender.work()
    sender.report(answer, "no-answer", sequence=3)
    failure = {"code": "NOT_ANSWERED", "reason": None, "message": "Nobody picked up the call."}
    assert sender.status(answer)["failure"] == failure
    sender.work()
    assert len(sender.carrier.requests) == 1


def test_a_second_call_waits_for_the_first_to_end(sender: Sender) -> None:
    first = sender.send(TOOL)
    busy = {
        "code": "RATE_LIMITED",
        "message": "A call to this recipient is already in progress.",
        "retry_after_s": 60,
        "details": {"reason": "call_in_progress"},
    }
    assert sender.refused(TOOL, message="Due, not yet placed.") == busy
    sender.work()
    assert sender.refused(TOOL, message="Ringing.") == busy
    sender.add("Ada")
    assert sender.send(TOOL, recipient="Ada")["status"] == "queued"
    assert sender.send("send_sms")["status"] == "queued"
    sender.report(first, "completed", sequence=3, duration_s=20)
    assert sender.send(TOOL, message="The line is free.")["status"] == "queued"


def test_a_lost_end_frees_the_line_after_ring_call_and_slack(sender: Sender, clock: Any) -> None:
    sender.send(TOOL)
    sender.work()
    clock.shift(timedelta(seconds=40 + 55 + 15 - 1))
    assert sender.refused(TOOL, message="A second early.")["details"] == {"reason": "call_in_progress"}
    clock.shift(timedelta(seconds=1))
    assert sender.send(TOOL, message="Free.")["status"] == "queued"


def test_a_workflows_call_takes_the_line_as_well(sender: Sender) -> None:
    sender.send("start_workflow")
    sender.work()
    assert sender.refused(TOOL)["details"] == {"reason": "call_in_progress"}


def test_calls_need_a_number_to_call_from(sender: Sender, settings: Settings) -> None:
    settings.TWILIO_VOICE_FROM = ""
    assert sender.refused(TOOL) == {
        "code": "CHANNEL_UNAVAILABLE",
        "message": "Calling can't be used right now. Use WhatsApp or SMS.",
        "details": {
            "channel": "call",
            "reason": "channel_unavailable",
            "available_channels": ["whatsapp", "sms"],
        },
    }


def test_a_country_without_calls_has_none(sender: Sender) -> None:
    sender.add("Ada", sends.NUMBERS["numeric"])
    sends.change_rate("BE", "call", status="unavailable")
    assert sender.refused(TOOL, recipient="Ada") == {
        "code": "CHANNEL_UNAVAILABLE",
        "message": "Calling isn't offered for this number. Use WhatsApp or SMS.",
        "details": {"channel": "call", "reason": "not_in_country", "available_channels": ["whatsapp", "sms"]},
    }
