"""One request gives one alert: keys, conflicts, the minute of repeats, and calls at the same moment (cases, 21)."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from pytest_django import Settings
from time_machine import TimeMachineFixture

from accounts.models import Connection
from alerts.models import Alert, IdempotencyKey
from tests.contract import sends
from tests.contract.sends import CHANNELS, TOOLS, Sender
from tests.factories import AccountFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db
each_tool = pytest.mark.parametrize("tool", TOOLS)
KEY = "checkout-failing-1"
CONFLICT = {
    "code": "IDEMPOTENCY_CONFLICT",
    "message": "This idempotency_key was used with a different payload in the last 24 hours. Use a new key.",
}


def repeated(sender: Sender, tool: str, first: dict[str, Any], **more: Any) -> None:
    """The send gives the first answer again, marked as a replay, and leaves nothing new behind."""
    before = sends.Trace.of(sender.account)
    assert sender.send(tool, **more) == {**first, "idempotent_replay": True}
    assert sends.Trace.of(sender.account) == before


@each_tool
def test_one_key_with_one_payload_gives_one_alert_for_24_hours(
    sender: Sender, clock: TimeMachineFixture, tool: str
) -> None:
    first = sender.send(tool, idempotency_key=KEY)
    assert first["idempotent_replay"] is False
    repeated(sender, tool, first, idempotency_key=KEY)
    assert "nothing new is sent" in sender.mcp.text
    clock.shift(timedelta(hours=24) - timedelta(seconds=1))
    repeated(sender, tool, first, idempotency_key=KEY)
    sender.mcp.call("cancel_alert", {"alert_id": first["alert_id"]})
    clock.shift(timedelta(seconds=1))
    second = sender.send(tool, idempotency_key=KEY)
    assert second["idempotent_replay"] is False
    assert second["alert_id"] != first["alert_id"]
    repeated(sender, tool, second, idempotency_key=KEY)
    assert IdempotencyKey.objects.count() == 1


@each_tool
@pytest.mark.parametrize(
    "changed",
    [
        {"message": "Checkout is back."},
        {"recipient": "Ada"},
        {"agent_name": "Night watch"},
        {"use_case": "checkout"},
        {"event_reference": "incident-7"},
    ],
)
def test_one_key_with_another_payload_is_a_conflict(sender: Sender, tool: str, changed: dict[str, Any]) -> None:
    sender.add("Ada")
    first = sender.send(tool, idempotency_key=KEY)
    assert sender.refused(tool, idempotency_key=KEY, **changed) == CONFLICT
    repeated(sender, tool, first, idempotency_key=KEY)


@pytest.mark.parametrize("tool", list(CHANNELS))
def test_whether_an_acknowledgement_is_asked_is_part_of_the_payload(sender: Sender, tool: str) -> None:
    first = sender.send(tool, idempotency_key=KEY, require_ack=True)
    assert sender.refused(tool, idempotency_key=KEY) == CONFLICT
    repeated(sender, tool, first, idempotency_key=KEY, require_ack=True)


def test_another_workflow_or_another_tool_is_another_payload(sender: Sender) -> None:
    sender.send("start_workflow", idempotency_key=KEY)
    assert sender.refused("start_workflow", idempotency_key=KEY, workflow_id="inform") == CONFLICT
    for tool in CHANNELS:
        assert sender.refused(tool, idempotency_key=KEY) == CONFLICT


@each_tool
def test_what_reads_the_same_once_cleaned_and_defaulted_is_the_same_payload(sender: Sender, tool: str) -> None:
    first = sender.send(tool, idempotency_key=KEY, message="Checkout **is** failing.\n")
    repeated(
        sender,
        tool,
        first,
        idempotency_key=KEY,
        message=" Checkout\tis failing.\u200b",
        recipient=" OWNER ",
        agent_name="Test agent",
        use_case=None,
        **({} if tool == "start_workflow" else {"require_ack": False}),
    )


@each_tool
def test_a_key_is_compared_as_it_was_given(sender: Sender, tool: str) -> None:
    first = sender.send(tool, idempotency_key=KEY)
    if tool == "make_call":
        sender.mcp.call("cancel_alert", {"alert_id": first["alert_id"]})
    other = sender.send(tool, idempotency_key=KEY.upper())
    assert other["alert_id"] != first["alert_id"]


@each_tool
def test_a_key_used_again_after_its_alert_failed_gives_that_alert(sender: Sender, tool: str) -> None:
    # Too long for the SMS that would stand in for a WhatsApp message.
    request = {"idempotency_key": KEY, "message": "x" * (98 if tool == "send_sms" else 99)}
    request |= {"workflow_id": "inform"} if tool == "start_workflow" else {}
    first = sender.send(tool, **request)
    sender.work()
    sender.report(first, "failed", **({"sip_code": 404} if tool == "make_call" else {"error_code": 30008}))
    assert sender.status(first)["status"] == "failed"
    repeated(sender, tool, first, **request)
    sender.work()
    assert len(sender.carrier.requests) == 1


@each_tool
def test_one_key_on_two_accounts_gives_two_alerts(sender: Sender, client: Client, tool: str) -> None:
    other = AccountFactory()
    agent = Sender(other, McpClient(client, issue_token(other)))
    mine, theirs = sender.send(tool, idempotency_key=KEY), agent.send(tool, idempotency_key=KEY)
    assert (mine["idempotent_replay"], theirs["idempotent_replay"]) == (False, False)
    assert Alert.objects.count() == 2


def test_a_key_belongs_to_the_account_not_to_the_connection(sender: Sender, client: Client) -> None:
    first = sender.send("start_workflow", idempotency_key=KEY, agent_name="Night watch")
    other = Sender(sender.account, McpClient(client, issue_token(sender.account, client_name="Another agent")))
    repeated(other, "start_workflow", first, idempotency_key=KEY, agent_name="Night watch")
    assert Connection.objects.count() == 2


@each_tool
def test_a_refused_call_does_not_use_up_its_key(sender: Sender, tool: str) -> None:
    sender.set_balance(0)
    assert sender.refused(tool, idempotency_key=KEY)["code"] == "INSUFFICIENT_BALANCE"
    sender.set_balance(1000)
    assert sender.send(tool, idempotency_key=KEY, message="Another text.")["idempotent_replay"] is False


def test_a_call_refused_by_a_limit_and_allowed_later_goes_once(
    sender: Sender, settings: Settings, clock: TimeMachineFixture
) -> None:
    settings.ACCOUNT_PER_MINUTE = 1
    sender.send("send_sms")
    assert sender.refused("start_workflow", idempotency_key=KEY)["details"] == {"reason": "account_per_minute"}
    clock.shift(timedelta(minutes=1))
    first = sender.send("start_workflow", idempotency_key=KEY)
    assert first["idempotent_replay"] is False
    repeated(sender, "start_workflow", first, idempotency_key=KEY)


@pytest.mark.parametrize("tool", list(CHANNELS))
@pytest.mark.parametrize("after_ms", [3, 59_000, 60_000])
def test_without_a_key_the_same_send_within_a_minute_is_the_same_alert(
    sender: Sender, clock: TimeMachineFixture, tool: str, after_ms: int
) -> None:
    first = sender.send(tool)
    clock.shift(timedelta(milliseconds=after_ms))
    repeated(sender, tool, first, message=f" {sends.MESSAGE} ")


@pytest.mark.parametrize("tool", list(CHANNELS))
def test_after_the_minute_it_is_a_new_send(sender: Sender, clock: TimeMachineFixture, tool: str) -> None:
    first = sender.deliver(tool)
    clock.shift(timedelta(seconds=61))
    second = sender.send(tool)
    assert (second["idempotent_replay"], second["alert_id"] != first["alert_id"]) == (False, True)


@pytest.mark.parametrize("tool", list(CHANNELS))
def test_another_person_channel_or_text_is_another_send(sender: Sender, tool: str) -> None:
    sender.add("Ada")
    first = sender.send(tool)
    others = [other for other in CHANNELS if other != tool]
    answers = [sender.send(tool, recipient="Ada"), *(sender.send(other) for other in others)]
    if tool != "make_call":
        answers.append(sender.send(tool, message="Another text."))
    assert {answer["idempotent_replay"] for answer in answers} == {False}
    assert len({first["alert_id"], *(answer["alert_id"] for answer in answers)}) == 1 + len(answers)


def test_a_key_makes_the_same_text_within_a_minute_another_send(sender: Sender) -> None:
    first = sender.send("send_sms")
    second = sender.send("send_sms", idempotency_key=KEY)
    assert (second["idempotent_replay"], second["alert_id"] != first["alert_id"]) == (False, True)


def test_the_minute_is_the_accounts_own(sender: Sender, client: Client) -> None:
    other = AccountFactory(number=sends.OWNER_NUMBER)
    agent = Sender(other, McpClient(client, issue_token(other)))
    sender.send("send_sms")
    assert agent.send("send_sms")["idempotent_replay"] is False


@each_tool
def test_a_replay_shows_the_first_answer_even_when_its_price_has_changed_since(sender: Sender, tool: str) -> None:
    first = sender.send(tool, idempotency_key=KEY)
    for channel in sends.CENTS:
        sends.change_rate("US", channel, price_cents=99)
    repeated(sender, tool, first, idempotency_key=KEY)


@pytest.fixture
def committed(transactional_db: None, clock: TimeMachineFixture) -> Iterator[Sender]:
    """An agent in a world that other threads see."""
    cache.clear()
    for country, kind in sends.COUNTRIES.items():
        sends.offer(country, sender=kind)
    account = AccountFactory(number=sends.OWNER_NUMBER)
    yield Sender(account, McpClient(Client(), issue_token(account)))
    cache.clear()


@each_tool
@pytest.mark.parametrize("key", [KEY, None])
def test_calls_at_the_same_moment_give_one_alert_and_replays(committed: Sender, tool: str, key: str | None) -> None:
    if key is None and tool == "start_workflow":
        key = "another"
    arguments = committed.arguments(tool, idempotency_key=key)
    barrier = threading.Barrier(6)

    def call(_: int) -> dict[str, Any]:
        agent = McpClient(Client(), committed.mcp.token)
        try:
            barrier.wait(timeout=20)
            return agent.call(tool, arguments)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(call, range(6)))
    assert sorted(answer["idempotent_replay"] for answer in answers) == [False] + [True] * 5
    assert len({answer["alert_id"] for answer in answers}) == 1
    held = 23 if tool == "start_workflow" else sends.CENTS[CHANNELS[tool]][0]
    assert (Alert.objects.count(), committed.money()) == (1, (5000 - held, held))


def test_calls_at_the_same_moment_with_one_key_and_two_payloads_give_one_alert_and_conflicts(
    committed: Sender,
) -> None:
    barrier = threading.Barrier(6)

    def call(number: int) -> str:
        agent = McpClient(Client(), committed.mcp.token)
        arguments = committed.arguments("send_sms", idempotency_key=KEY, message=f"Text {number % 2}.")
        try:
            barrier.wait(timeout=20)
            structured = agent.call_raw("send_sms", arguments)["structuredContent"]
            return str(structured["error"]["code"] if "error" in structured else structured["alert_id"])
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(call, range(6)))
    assert told.count("IDEMPOTENCY_CONFLICT") == 3
    assert len(set(told)) == 2
    assert Alert.objects.count() == 1
