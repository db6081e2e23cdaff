"""RATE_LIMITED: every reason with its words, its details and the exact wait, after which the send is accepted."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings
from time_machine import TimeMachineFixture

from accounts.models import CapHit
from alerts.models import Alert
from tests.contract import sends
from tests.contract.limited import limited, moved, refused_until, send_many
from tests.contract.sends import TOOLS, Sender
from tests.factories import NOW, AccountFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db
S, M, H, D = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FULL = "Too many alerts for this account right now."
GONE_WRONG = (
    "Too many sends from this account didn't go through recently, so sending is paused for this account for now. Try "
    "again later."
)
BUSY = "Other sends from this account are still on their way. Try again in a moment."


def test_the_limits_of_a_new_installation_are_the_seeds(settings: Settings) -> None:
    assert (settings.ACCOUNT_PER_MINUTE, settings.ACCOUNT_PER_HOUR, settings.ACCOUNT_PER_DAY) == (10, 100, 500)
    assert (settings.NEW_ACCOUNT_ALERTS_PER_DAY, settings.NEW_ACCOUNT_CALLS_PER_DAY) == (30, 6)
    assert (settings.HOLDER_ALERTS_PER_HOUR, settings.HOLDER_CALLS_PER_HOUR, settings.NEW_ACCOUNT_DAYS) == (20, 10, 7)
    assert (settings.BRAKE_HITS, settings.BRAKE_WINDOW_S, settings.BRAKE_PAUSE_S) == (3, 600, 900)
    assert (settings.UNBILLED_PER_HOUR, settings.UNBILLED_PER_DAY) == (20, 60)


def test_twenty_alerts_an_hour_reach_one_person_on_a_paid_plan_too(sender: Sender, clock: TimeMachineFixture) -> None:
    sender.pay_for_plan()
    send_many(sender, 20)
    moved(sender, 20, by=20 * M)
    error = limited(
        "holder_per_hour",
        "Too many alerts to this recipient in the last hour (the limit is 20 an hour).",
        40 * 60,
    )
    for tool in TOOLS:
        assert sender.refused(tool) == error
    sender.add("Ada")
    assert sender.send("send_sms", recipient="Ada")["status"] == "queued"
    refused_until(sender, clock, error)


def test_the_persons_hour_counts_every_account_that_sends_there(sender: Sender, client: Client) -> None:
    sender.pay_for_plan()
    send_many(sender, 20)
    other = AccountFactory(number=sends.OWNER_NUMBER)
    agent = Sender(other, McpClient(client, issue_token(other)))
    assert agent.refused("send_sms")["details"] == {"reason": "holder_per_hour"}


def test_ten_calls_an_hour_reach_one_number(sender: Sender) -> None:
    sender.pay_for_plan()
    send_many(sender, 10, "make_call")
    sentence = "Too many calls to this recipient in the last hour (the limit is {} calls an hour to one number)."
    assert sender.refused("make_call") == limited("holder_calls_per_hour", sentence.format(10), 600, limit=10)
    assert sender.refused("start_workflow") == limited("holder_calls_per_hour", sentence.format(10), 600, limit=10)
    assert sender.send("start_workflow", workflow_id="acknowledge")["status"] == "queued"
    sender.set(holder_calls_per_hour=11)
    send_many(sender, 1, "make_call")
    assert sender.refused("make_call") == limited("holder_calls_per_hour", sentence.format(11), 600, limit=11)


def test_a_workflows_planned_calls_take_their_places_in_the_hour(sender: Sender) -> None:
    sender.pay_for_plan()
    send_many(sender, 8, "make_call")
    assert sender.refused("start_workflow")["details"] == {"reason": "holder_calls_per_hour", "limit": 10}
    assert sender.send("make_call")["status"] == "queued"


def test_free_setup_test_calls_do_not_count(sender: Sender) -> None:
    sender.pay_for_plan()
    sender.test("call", arrives=True)
    send_many(sender, 9, "make_call")
    assert sender.send("make_call")["status"] == "queued"


def test_ten_alerts_a_minute_leave_an_account_without_a_paid_plan(sender: Sender, clock: TimeMachineFixture) -> None:
    send_many(sender, 10)
    moved(sender, 10, by=15 * S)
    for tool in TOOLS[:2]:
        assert sender.refused(tool) == limited("account_per_minute", FULL, 45)
    clock.shift(45 * S)
    assert sender.send("send_sms")["status"] == "queued"


def test_a_sliding_minute_ends_when_the_oldest_of_its_ten_is_a_minute_old(
    sender: Sender, clock: TimeMachineFixture
) -> None:
    for _ in range(10):
        send_many(sender, 1)
        clock.shift(2 * S)
    refused_until(sender, clock, limited("account_per_minute", FULL, 40))


def test_so_many_an_hour_leave_an_account_without_a_paid_plan(
    sender: Sender, settings: Settings, clock: TimeMachineFixture
) -> None:
    settings.ACCOUNT_PER_HOUR = 5
    send_many(sender, 5)
    moved(sender, 5, by=50 * M)
    refused_until(sender, clock, limited("account_per_hour", FULL, 600))


def test_so_many_a_utc_day_leave_an_account_without_a_paid_plan(
    sender: Sender, settings: Settings, clock: TimeMachineFixture
) -> None:
    settings.ACCOUNT_PER_DAY = 5
    send_many(sender, 5)
    moved(sender, 5, by=19 * H)
    refused_until(sender, clock, limited("account_per_day", FULL, 5 * 3600))


def test_a_paid_plan_has_no_cap_of_the_account(sender: Sender, settings: Settings) -> None:
    settings.ACCOUNT_PER_MINUTE = settings.ACCOUNT_PER_HOUR = settings.ACCOUNT_PER_DAY = 1
    sender.pay_for_plan()
    send_many(sender, 3)


def test_thirty_alerts_a_day_leave_a_new_account(sender: Sender, settings: Settings, clock: TimeMachineFixture) -> None:
    settings.HOLDER_ALERTS_PER_HOUR = settings.ACCOUNT_PER_MINUTE = 100
    sender.set(first_payment_at=NOW - 6 * D)
    send_many(sender, 30)
    moved(sender, 30, by=10 * H)
    error = limited(
        "new_account_per_day", "This account has reached its daily alert limit. Try again tomorrow.", 5 * 3600
    )
    for tool in TOOLS[:2]:
        assert sender.refused(tool) == error
    refused_until(sender, clock, error, message="Tomorrow.")


@pytest.mark.parametrize("change", [{"first_payment_at": NOW - 7 * D}, {"has_new_account_caps_lifted": True}])
def test_after_a_week_or_by_staff_an_account_is_not_new(
    sender: Sender, settings: Settings, change: dict[str, Any]
) -> None:
    settings.NEW_ACCOUNT_ALERTS_PER_DAY, settings.NEW_ACCOUNT_CALLS_PER_DAY = 1, 0
    sender.set(first_payment_at=NOW - 7 * D + S)
    send_many(sender, 1)
    assert sender.refused("send_sms")["details"] == {"reason": "new_account_per_day"}
    sender.set(**change)
    assert sender.send("make_call")["status"] == "queued"


def test_six_calls_a_day_leave_a_new_account_planned_ones_included(sender: Sender, clock: TimeMachineFixture) -> None:
    sender.set(first_payment_at=NOW - 6 * D)
    send_many(sender, 4, "make_call")
    error = limited(
        "new_account_calls_per_day",
        "This account has reached its daily call limit. Try again tomorrow.",
        5 * 3600,
        limit=6,
    )
    assert sender.refused("start_workflow") == error
    send_many(sender, 2, "make_call")
    assert sender.send("send_sms")["status"] == "queued"
    refused_until(sender, clock, error, "make_call")


def test_sends_that_were_not_charged_use_up_a_channels_hour(
    sender: Sender, settings: Settings, clock: TimeMachineFixture
) -> None:
    settings.UNBILLED_PER_HOUR = 3
    sender.pay_for_plan()
    for _ in range(3):
        sender.fail("send_sms", message=f"Number {Alert.objects.count()}.")
        clock.shift(10 * M)
    error = limited("unbilled_budget", GONE_WRONG, 30 * 60, channel="sms", window="hour", limit=3)
    assert sender.refused("send_sms") == error
    assert sender.send("send_whatsapp")["status"] == "queued"
    refused_until(sender, clock, error)


def test_sends_that_were_not_charged_use_up_a_channels_utc_day(
    sender: Sender, settings: Settings, clock: TimeMachineFixture
) -> None:
    settings.UNBILLED_PER_DAY = 3
    sender.pay_for_plan()
    for _ in range(3):
        sender.fail("send_whatsapp", message=f"Number {Alert.objects.count()}.")
        clock.shift(H)
    error = limited("unbilled_budget", GONE_WRONG, 2 * 3600, channel="whatsapp", window="day", limit=3)
    assert sender.refused("start_workflow") == error
    refused_until(sender, clock, error, "send_whatsapp")


def test_sends_on_their_way_that_could_fill_the_budget_hold_the_next_one_up(sender: Sender, settings: Settings) -> None:
    settings.UNBILLED_PER_HOUR = 2
    sender.pay_for_plan()
    on_its_way = [sender.send("send_sms", message=f"Number {number}.") for number in range(2)]
    assert sender.refused("send_sms") == limited("unbilled_send_busy", BUSY, 2, channel="sms")
    assert sender.send("send_whatsapp")["status"] == "queued"
    sender.work()
    sender.report(on_its_way[0], "delivered")
    assert sender.send("send_sms")["status"] == "queued"


def test_what_was_charged_uses_up_no_budget(sender: Sender, settings: Settings) -> None:
    settings.UNBILLED_PER_HOUR = 2
    sender.pay_for_plan()
    sender.deliver("make_call")
    missed = sender.send("make_call", message="Missed.")
    sender.work()
    sender.report(missed, "no-answer", sequence=3)
    assert sender.send("make_call", message="Again.")["status"] == "queued"


def test_an_installation_may_cap_what_the_carrier_is_asked_for_in_a_minute(
    sender: Sender, settings: Settings, client: Client, clock: TimeMachineFixture
) -> None:
    settings.CARRIER_REQUESTS_PER_MINUTE = 3
    other = AccountFactory()
    theirs = Sender(other, McpClient(client, issue_token(other)))
    theirs.deliver("send_sms")
    clock.shift(20 * S)
    theirs.deliver("send_whatsapp")
    waiting = sender.send("send_sms", message="Not sent yet.")
    error = limited("rate_cap", "Too many alerts right now.", 60)
    for tool in TOOLS:
        for _ in range(3):
            assert sender.refused(tool) == error
    assert (CapHit.objects.count(), sender.connection().braked_until) == (0, None)
    sender.work()
    assert sender.refused("send_sms") == error
    clock.shift(40 * S)
    assert sender.send("send_sms")["status"] == "queued"
    assert sender.status(waiting)["status"] == "sent"


def test_a_replay_is_no_send_and_meets_no_limit(sender: Sender, settings: Settings) -> None:
    settings.ACCOUNT_PER_MINUTE = 1
    arguments = sender.arguments("start_workflow")
    first = sender.mcp.call("start_workflow", arguments)
    for _ in range(4):
        again = sender.mcp.call("start_workflow", arguments)
        assert (again["alert_id"], again["idempotent_replay"]) == (first["alert_id"], True)
    assert CapHit.objects.count() == 0
