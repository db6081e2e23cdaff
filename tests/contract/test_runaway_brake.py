"""The runaway brake: three caps in ten minutes pause a connection for fifteen, never on a paid plan."""

from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import Settings
from time_machine import TimeMachineFixture

from accounts.models import CapHit
from tests.contract.limited import limited, refused_until, send_many
from tests.contract.sends import TOOLS, Sender
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db
S, M = timedelta(seconds=1), timedelta(minutes=1)
BRAKED = "This agent connection is paused for sending too fast."


def test_three_caps_in_ten_minutes_pause_the_connection_for_fifteen(
    sender: Sender, settings: Settings, client: Client, clock: TimeMachineFixture
) -> None:
    settings.ACCOUNT_PER_HOUR = 1
    send_many(sender, 1)
    for _ in range(3):
        assert sender.refused("send_sms")["details"] == {"reason": "account_per_hour"}
        clock.shift(4 * M + 59 * S)
    assert list(CapHit.objects.values_list("reason", flat=True)) == ["account_per_hour"] * 3
    braked_for = 15 * 60 - (4 * 60 + 59)
    for tool in TOOLS:
        assert sender.refused(tool) == limited("runaway_brake", BRAKED, braked_for)
    assert CapHit.objects.count() == 3
    other = McpClient(client, issue_token(sender.account, client_name="Another agent"))
    assert other.refusal("send_sms", sender.arguments("send_sms"))["details"] == {"reason": "account_per_hour"}
    settings.ACCOUNT_PER_HOUR = 100
    refused_until(sender, clock, limited("runaway_brake", BRAKED, braked_for))


def test_reading_and_cancelling_go_on_while_the_brake_holds(sender: Sender, settings: Settings) -> None:
    started = sender.send("start_workflow")
    settings.ACCOUNT_PER_HOUR = 1
    for _ in range(3):
        sender.refused("send_sms")
    assert sender.refused("send_sms")["details"] == {"reason": "runaway_brake"}
    assert sender.status(started)["status"] == "queued"
    assert sender.mcp.call("cancel_alert", {"alert_id": started["alert_id"]})["status"] == "cancelled"


def test_caps_that_lie_ten_minutes_apart_brake_nothing(
    sender: Sender, settings: Settings, clock: TimeMachineFixture
) -> None:
    settings.ACCOUNT_PER_HOUR = 1
    send_many(sender, 1)
    for _ in range(4):
        assert sender.refused("send_sms")["details"] == {"reason": "account_per_hour"}
        clock.shift(5 * M)
    assert sender.connection().braked_until is None


def test_the_persons_own_caps_brake_as_well_but_never_on_a_paid_plan(sender: Sender, settings: Settings) -> None:
    settings.HOLDER_ALERTS_PER_HOUR = 1
    sender.pay_for_plan()
    send_many(sender, 1)
    for _ in range(5):
        assert sender.refused("send_sms")["details"] == {"reason": "holder_per_hour"}
    assert (CapHit.objects.count(), sender.connection().braked_until) == (0, None)
    sender.set(plan=None)
    for _ in range(3):
        assert sender.refused("send_sms")["details"] == {"reason": "holder_per_hour"}
    assert sender.refused("send_sms")["details"] == {"reason": "runaway_brake"}


def test_a_busy_line_and_sends_on_their_way_brake_nothing(sender: Sender, settings: Settings) -> None:
    settings.UNBILLED_PER_HOUR = 1
    sender.send("make_call")
    sender.send("send_sms")
    for _ in range(4):
        assert sender.refused("make_call", message="Again.")["details"] == {"reason": "call_in_progress"}
        assert sender.refused("send_sms", message="Again.")["details"]["reason"] == "unbilled_send_busy"
    assert (CapHit.objects.count(), sender.connection().braked_until) == (0, None)
