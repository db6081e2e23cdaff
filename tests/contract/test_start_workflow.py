"""start_workflow: its answer and example for each workflow, its key and id, its steps, fallback and query budget."""

from datetime import timedelta
from typing import Any

import pytest
from time_machine import TimeMachineFixture

from accounts.locking import locked
from accounts.models import Holder, Rate
from alerts.models import Attempt
from mcp_gateway.contract import TOOLS
from tests.contract import sends
from tests.contract.sends import CHANNELS, Sender, counting_queries, sent_time
from tests.factories import NOW
from workflows import saved
from workflows.plan import Step

pytestmark = pytest.mark.django_db
TOOL = "start_workflow"
NEXT_STEP = "Poll get_alert_status; do not call start_workflow again."


def step(offset_min: int, channel: str) -> dict[str, Any]:
    """A step as answers show it."""
    return {"offset_min": offset_min, "kind": "call" if channel == "call" else "message", "channel": channel}


def test_the_seeds_example_has_its_values(sender: Sender) -> None:
    answer = sender.mcp.call(TOOL, dict(TOOLS[TOOL].example_arguments))
    expected = {**TOOLS[TOOL].example_result, "alert_id": answer["alert_id"], "max_cost_cents": 3 + 3 * 20 + 4}
    expected["deadline_at"] = sent_time(NOW + timedelta(minutes=12))
    assert answer == expected


@pytest.mark.parametrize(
    ("key", "name", "steps", "asks", "cost", "minutes"),
    [
        ("inform", "Inform", [step(0, "whatsapp")], False, 3 + 4, 75),
        (
            "acknowledge",
            "Acknowledge",
            [step(0, "whatsapp"), step(10, "whatsapp"), step(30, "whatsapp")],
            True,
            3 * 3 + 4,
            40,
        ),
        (
            "escalate",
            "Escalate",
            [step(0, "whatsapp"), step(0, "call"), step(1, "call"), step(2, "call")],
            True,
            3 + 3 * 20 + 4,
            12,
        ),
    ],
)
def test_each_workflow_starts_with_all_its_steps_and_its_worst_case(
    sender: Sender, key: str, name: str, steps: list[dict[str, Any]], asks: bool, cost: int, minutes: int
) -> None:
    answer = sender.send(TOOL, workflow_id=key)
    assert answer == {
        "alert_id": answer["alert_id"],
        "status": "queued",
        "workflow": {"id": key, "name": name, "version": 1},
        "steps": steps,
        "recipient": "Sam",
        "require_ack": asks,
        "requires_acknowledgement": asks,
        "max_cost_cents": cost,
        "deadline_at": sent_time(NOW + timedelta(minutes=minutes)),
        "idempotent_replay": False,
        "next_step": NEXT_STEP,
    }
    rows = Attempt.objects.order_by("seq")
    assert [(row.offset_min, row.channel, row.status) for row in rows] == [
        (one["offset_min"], one["channel"], "scheduled") for one in steps
    ]
    assert [row.due_at for row in rows] == [NOW + timedelta(minutes=one["offset_min"]) for one in steps]


def test_only_what_is_due_at_once_is_held(sender: Sender) -> None:
    sender.send(TOOL)
    assert sender.money() == (5000 - 23, 23)


@pytest.mark.parametrize("key", ["panic", "Escalate", "escalate ", "workflow"])
def test_an_unknown_workflow_is_refused_with_the_ids_there_are(sender: Sender, key: str) -> None:
    assert sender.refused(TOOL, workflow_id=key) == {
        "code": "WORKFLOW_NOT_FOUND",
        "message": "There is no workflow with this id. Use one that list_workflows returns.",
        "details": {"available": ["inform", "acknowledge", "escalate"]},
    }


@pytest.mark.parametrize(
    ("field", "value", "rule", "sentence", "more"),
    [
        ("workflow_id", None, "required", "workflow_id is required.", {}),
        ("workflow_id", "", "empty", "workflow_id must not be empty.", {}),
        ("workflow_id", 3, "type", "workflow_id must be a string.", {}),
        ("workflow_id", "x" * 41, "max_length", "workflow_id takes at most 40 characters.", {"max_length": 40}),
        ("idempotency_key", None, "required", "idempotency_key is required.", {}),
        ("idempotency_key", "  ", "empty", "idempotency_key must not be empty.", {}),
        ("require_ack", True, "unknown_field", "start_workflow takes no field named require_ack.", {}),
    ],
)
def test_its_own_fields_are_checked_by_name(
    sender: Sender, field: str, value: Any, rule: str, sentence: str, more: dict[str, Any]
) -> None:
    arguments = {field: value} if value is not None else {}
    least = sender.arguments(TOOL)
    if value is None:
        del least[field]
    assert sender.mcp.refusal(TOOL, {**least, **arguments}) == {
        "code": "CONTENT_REJECTED",
        "message": sentence,
        "details": {"field": field, "rule": rule, **more},
    }
    assert not sender.account.alerts.exists()


def test_an_edited_workflow_starts_as_it_is_now_and_a_running_alert_keeps_its_own(sender: Sender) -> None:
    before = sender.send(TOOL, workflow_id="inform")
    with locked(sender.account.pk) as account:
        saved.save(
            account,
            "inform",
            steps=(Step(0, "message"), Step(5, "call")),
            requires_ack=True,
            has_sms_fallback=False,
            max_attempts=2,
            now=NOW,
        )
    after = sender.send(TOOL, workflow_id="inform")
    assert after["workflow"] == {"id": "inform", "name": "Inform", "version": 2}
    assert after["steps"] == [step(0, "whatsapp"), step(5, "call")]
    assert (after["require_ack"], after["requires_acknowledgement"], after["max_cost_cents"]) == (True, True, 23)
    assert after["deadline_at"] == sent_time(NOW + timedelta(minutes=15))
    assert sender.status(before)["workflow"] == {"id": "inform", "version": 1}
    assert len(sender.status(before)["attempts"]) == 1
    assert sender.rejected(TOOL, workflow_id="inform", message="x" * 151)["rule"] == "call_length"


def test_a_number_not_on_whatsapp_gets_the_messages_by_sms_and_needs_no_fallback(sender: Sender) -> None:
    Holder.objects.filter(pk=sender.owner_holder().pk).update(whatsapp="no")
    answer = sender.send(TOOL)
    assert answer["steps"][0] == step(0, "sms")
    assert answer["max_cost_cents"] == 4 + 3 * 20


def test_where_sms_is_not_offered_no_fallback_is_counted_on(sender: Sender) -> None:
    Rate.objects.filter(channel="sms").update(status="coming_soon")
    assert sender.send(TOOL, workflow_id="inform")["max_cost_cents"] == 3


def test_after_a_whatsapp_failure_one_sms_goes_in_its_place(sender: Sender) -> None:
    answer = sender.send(TOOL, workflow_id="inform")
    sender.work()
    sender.report(answer, "undelivered", error_code=30008)
    sender.work()
    assert [request.channel for request in sender.carrier.requests] == ["whatsapp", "sms"]
    sender.report(answer, "delivered", seq=2)
    alert = sender.status(answer)
    assert [(one["kind"], one["status"], one["charged_cents"]) for one in alert["attempts"]] == [
        ("message", "failed", 0),
        ("fallback", "delivered", 4),
    ]
    assert (alert["status"], alert["charged_cents"], sender.money()) == ("delivered", 4, (4996, 0))


@pytest.mark.parametrize(("length", "kinds"), [(98, ["message", "fallback"]), (99, ["message"])])
def test_a_text_that_fits_no_sms_is_accepted_and_has_no_fallback(sender: Sender, length: int, kinds: list[str]) -> None:
    answer = sender.send(TOOL, workflow_id="inform", message="x" * length)
    sender.work()
    sender.report(answer, "undelivered", error_code=30008)
    alert = sender.status(answer)
    assert [one["kind"] for one in alert["attempts"]] == kinds
    assert alert["terminal"] is (len(kinds) == 1)


def test_an_acknowledgement_stops_what_is_left_and_gives_its_money_back(
    sender: Sender, clock: TimeMachineFixture
) -> None:
    answer = sender.send(TOOL)
    sender.work()
    sender.report(answer, "delivered", seq=1)
    sender.report(answer, "no-answer", seq=2, sequence=3)
    waiting = sender.status(answer)
    assert (waiting["status"], waiting["awaiting_ack"], waiting["outcome"]) == ("delivered", True, "waiting_for_ack")
    assert waiting["next_attempt_at"] == sent_time(NOW + timedelta(minutes=1))
    sends.acknowledge(sender.alert(answer))
    clock.shift(timedelta(minutes=2))
    sender.work()
    alert = sender.status(answer)
    assert (alert["status"], alert["ack_via"], alert["acknowledged_at"]) == ("acknowledged", "portal", sent_time(NOW))
    assert [one["status"] for one in alert["attempts"]] == ["delivered", "no_answer", "skipped", "skipped"]
    assert (len(sender.carrier.requests), sender.money()) == (2, (5000 - 3 - 5, 0))


@pytest.mark.parametrize("tool", [TOOL, *CHANNELS])
def test_an_accepted_send_takes_fourteen_queries_at_most_and_people_and_history_add_none(
    sender: Sender, tool: str
) -> None:
    sender.mcp.post("tools/list")
    counts = [count(sender, tool, message="To the owner.")]
    for number in range(5):
        sender.add(f"Person {number}")
        sender.send("send_sms", message=f"To {number}.", recipient=f"Person {number}")
    counts.append(count(sender, tool, message="To another.", recipient="Person 3", event_reference="incident-7"))
    assert counts[0] == counts[1] <= 14
    assert sender.account.alerts.count() == 7


def count(sender: Sender, tool: str, **more: Any) -> int:
    """The queries of a send, from the bearer check to the answer."""
    with counting_queries() as counted:
        response = sender.mcp.post("tools/call", {"name": tool, "arguments": sender.arguments(tool, **more)})
    assert b'"isError":true' not in response.content.replace(b" ", b"")
    return counted[0]
