"""cancel_alert: what is unsent never goes and its money comes back; what was sent, or has ended, stays as it is."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from time_machine import TimeMachineFixture

from accounts.locking import locked
from alerts import sending
from alerts.models import Alert, Attempt
from mcp_gateway.contract import TOOLS
from tests.contract import sends
from tests.contract.sends import Sender, counting_queries, sent_time
from tests.factories import NOW, AccountFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db


def cancel(sender: Sender, answer: dict[str, Any]) -> dict[str, Any]:
    """Cancel the alert behind an answer."""
    return sender.mcp.call("cancel_alert", {"alert_id": answer["alert_id"]})


def test_the_seeds_example_has_its_values(sender: Sender, clock: TimeMachineFixture) -> None:
    started = sender.send("start_workflow")
    Alert.objects.update(code="A-5F2VC8")
    clock.shift(timedelta(minutes=2, seconds=10))
    answer = sender.mcp.call("cancel_alert", dict(TOOLS["cancel_alert"].example_arguments))
    expected = {**TOOLS["cancel_alert"].example_result, "cancelled_at": "2026-10-03T19:02:10.000Z"}
    assert expected.items() <= answer.items()
    assert started["alert_id"] != "A-5F2VC8"


def test_an_unsent_workflow_ends_with_every_step_skipped_and_every_cent_back(
    sender: Sender, clock: TimeMachineFixture
) -> None:
    started = sender.send("start_workflow", event_reference="incident-7")
    assert sender.money() == (4977, 23)
    answer = cancel(sender, started)
    assert (answer["status"], answer["terminal"], answer["outcome"], answer["outcome_text"]) == (
        "cancelled",
        True,
        "cancelled",
        "Cancelled",
    )
    assert (answer["cancelled_at"], answer["cancelled_by"]) == (sent_time(NOW), "agent")
    assert (answer["next_attempt_at"], answer["failure"], answer["charged_cents"]) == (None, None, 0)
    told = {(one["status"], one["failure_code"], one["failure_message"]) for one in answer["attempts"]}
    assert told == {("skipped", "CANCELLED", "The alert was cancelled first.")}
    assert len(answer["attempts"]) == 4
    assert sender.status(started) == answer
    clock.shift(timedelta(minutes=3))
    sender.work()
    assert (sender.carrier.requests, sender.money()) == ([], (5000, 0))


def test_cancelling_again_is_safe_and_changes_nothing(sender: Sender, clock: TimeMachineFixture) -> None:
    started = sender.send("start_workflow")
    first = cancel(sender, started)
    before = sends.Trace.of(sender.account)
    clock.shift(timedelta(minutes=5))
    assert cancel(sender, started) == first
    assert sends.Trace.of(sender.account) == before


def test_what_was_sent_stays_charged_and_what_rings_may_finish(sender: Sender, clock: TimeMachineFixture) -> None:
    started = sender.send("start_workflow")
    sender.work()
    sender.report(started, "delivered", seq=1)
    sender.report(started, "ringing", seq=2, sequence=1)
    answer = cancel(sender, started)
    assert [one["status"] for one in answer["attempts"]] == ["delivered", "ringing", "skipped", "skipped"]
    assert (answer["charged_cents"], sender.money()) == (3, (4977, 20))
    sender.report(started, "completed", seq=2, sequence=3, duration_s=20)
    ended = sender.status(started)
    assert (ended["status"], ended["charged_cents"], sender.money()) == ("cancelled", 23, (4977, 0))
    clock.shift(timedelta(minutes=3))
    sender.work()
    assert len(sender.carrier.requests) == 2


def test_an_alert_that_waits_for_its_acknowledgement_can_be_cancelled(sender: Sender) -> None:
    started = sender.deliver("send_whatsapp", require_ack=True)
    assert sender.status(started)["awaiting_ack"] is True
    answer = cancel(sender, started)
    assert (answer["status"], answer["awaiting_ack"], answer["charged_cents"]) == ("cancelled", False, 3)


@pytest.mark.parametrize("end", ["delivered", "failed", "acknowledged"])
def test_an_ended_alert_comes_back_unchanged(sender: Sender, end: str) -> None:
    started = sender.fail() if end == "failed" else sender.deliver(require_ack=end == "acknowledged")
    if end == "acknowledged":
        sends.acknowledge(sender.alert(started))
    before = sender.status(started)
    answer = cancel(sender, started)
    assert answer == before
    assert (answer["status"], answer["cancelled_at"], answer["cancelled_by"]) == (end, None, None)


@pytest.mark.parametrize("by", ["owner", "system"])
def test_what_others_cancelled_stays_theirs(sender: Sender, by: Any) -> None:
    started = sender.send("start_workflow")
    with locked(sender.account.pk) as account:
        sending.cancel(account, started["alert_id"], by=by, now=NOW)
    assert cancel(sender, started)["cancelled_by"] == by


def test_an_id_is_taken_in_any_case_and_with_spaces_around_it(sender: Sender) -> None:
    started = sender.send("start_workflow")
    answer = sender.mcp.call("cancel_alert", {"alert_id": f" {started['alert_id'].lower()} "})
    assert (answer["alert_id"], answer["status"]) == (started["alert_id"], "cancelled")


@pytest.mark.parametrize("alert_id", ["A-222222", "x", "A-" + "2" * 30])
def test_an_unknown_id_is_not_found(sender: Sender, alert_id: str) -> None:
    sender.send("start_workflow")
    assert sender.mcp.refusal("cancel_alert", {"alert_id": alert_id}) == not_found(alert_id)
    assert Attempt.objects.filter(status="scheduled").count() == 4


def test_the_alert_of_another_account_is_not_found_and_goes_on(sender: Sender, client: Client) -> None:
    other = Sender(AccountFactory(), McpClient(client, ""))
    other.mcp.token = issue_token(other.account)
    theirs = other.send("start_workflow")
    code = theirs["alert_id"]
    assert sender.mcp.refusal("cancel_alert", {"alert_id": code}) == not_found(code)
    assert other.status(theirs)["status"] == "queued"


def not_found(alert_id: str) -> dict[str, Any]:
    """ALERT_NOT_FOUND for one id."""
    return {
        "code": "ALERT_NOT_FOUND",
        "message": "No such alert is on this account.",
        "details": {"not_found": [alert_id]},
    }


@pytest.mark.parametrize(
    ("arguments", "field", "rule", "sentence", "more"),
    [
        ({}, "alert_id", "required", "alert_id is required.", {}),
        ({"alert_id": ""}, "alert_id", "empty", "alert_id must not be empty.", {}),
        ({"alert_id": 5}, "alert_id", "type", "alert_id must be a string.", {}),
        (
            {"alert_id": "A" * 33},
            "alert_id",
            "max_length",
            "alert_id takes at most 32 characters.",
            {"max_length": 32},
        ),
        (
            {"alert_id": "A-222222", "reason": "x"},
            "reason",
            "unknown_field",
            "cancel_alert takes no field named reason.",
            {},
        ),
    ],
)
def test_a_field_that_breaks_a_rule_is_rejected(
    sender: Sender, arguments: dict[str, Any], field: str, rule: str, sentence: str, more: dict[str, Any]
) -> None:
    assert sender.mcp.refusal("cancel_alert", arguments) == {
        "code": "CONTENT_REJECTED",
        "message": sentence,
        "details": {"field": field, "rule": rule, **more},
    }


@pytest.mark.parametrize("status", ["suspended", "closed"])
def test_what_runs_can_be_stopped_even_on_an_account_that_may_not_send(sender: Sender, status: str) -> None:
    started = sender.send("start_workflow")
    sender.set(status=status)
    assert cancel(sender, started)["status"] == "cancelled"


def test_a_token_that_may_only_read_cancels_nothing(sender: Sender, client: Client) -> None:
    started = sender.send("start_workflow")
    reader = McpClient(client, issue_token(sender.account, client_name="Reader", scopes="alerts.read"))
    response = reader.post("tools/call", {"name": "cancel_alert", "arguments": {"alert_id": started["alert_id"]}})
    assert response.status_code == 403
    assert sender.status(started)["status"] == "queued"


def test_how_many_steps_are_skipped_adds_no_queries(sender: Sender) -> None:
    sender.mcp.post("tools/list")
    counts = []
    for workflow_id in ("inform", "escalate"):
        code = sender.send("start_workflow", workflow_id=workflow_id)["alert_id"]
        with counting_queries() as counted:
            sender.mcp.post("tools/call", {"name": "cancel_alert", "arguments": {"alert_id": code}})
        counts.append(counted[0])
    assert counts[0] == counts[1] <= 14
