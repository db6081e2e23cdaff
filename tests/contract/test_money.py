"""What sends cost, as the agent is told: held, charged by outcome, given back, and the day's rule for spam blocks."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings
from time_machine import TimeMachineFixture

from accounts.ledger import find_differences
from accounts.locking import locked
from accounts.models import LedgerEntry
from alerts.models import Alert, Attempt
from tests.contract import sends
from tests.contract.sends import CHANNELS, TOOLS, Sender
from workflows import saved
from workflows.plan import Step

pytestmark = pytest.mark.django_db
NOTICE = "From now on today, texts that carriers block as spam are charged at the normal price."
SPAM = 30007


@pytest.fixture(autouse=True)
def _sums_add_up(sender: Sender) -> Any:
    yield
    assert find_differences() == []
    holds = LedgerEntry.objects.filter(kind="hold").values_list("ref", flat=True)
    assert len(holds) == len(set(holds))


@pytest.mark.parametrize(("tool", "channel"), list(CHANNELS.items()))
def test_the_estimate_is_the_price_of_the_persons_country(sender: Sender, tool: str, channel: str) -> None:
    sender.add("Ada", sends.NUMBERS["alphanumeric"])
    sends.change_rate("GB", channel, price_cents=77)
    assert sender.send(tool)["estimated_cost_cents"] == sends.CENTS[channel][0]
    assert sender.send(tool, recipient="Ada")["estimated_cost_cents"] == 77
    assert sender.money() == (5000 - 77 - sends.CENTS[channel][0], 77 + sends.CENTS[channel][0])


@pytest.mark.parametrize(("tool", "channel"), list(CHANNELS.items()))
def test_a_delivered_send_is_charged_once_at_the_price_of_its_acceptance(
    sender: Sender, tool: str, channel: str
) -> None:
    price_cents = sends.CENTS[channel][0]
    answer = sender.send(tool)
    sends.change_rate("US", channel, price_cents=99)
    sender.work()
    status, more = ("completed", {"sequence": 3, "duration_s": 9}) if channel == "call" else ("delivered", {})
    for _ in range(3):
        sender.report(answer, status, **more)
    alert = sender.status(answer)
    assert (alert["charged_cents"], alert["attempts"][0]["charged_cents"]) == (price_cents, price_cents)
    setup = sender.mcp.call("get_setup_status")
    assert (setup["balance_cents"], setup["reserved_cents"]) == (5000 - price_cents, 0)
    assert setup["spent_today_cents"] == price_cents
    assert list(LedgerEntry.objects.order_by("pk").values_list("kind", flat=True)) == ["top_up", "hold", "capture"]


@pytest.mark.parametrize("tool", ["send_whatsapp", "send_sms"])
def test_a_message_that_is_not_delivered_costs_nothing(sender: Sender, tool: str) -> None:
    answer = sender.fail(tool)
    assert (sender.status(answer)["charged_cents"], sender.money()) == (0, (5000, 0))
    assert sender.mcp.call("get_setup_status")["spent_today_cents"] == 0


def test_a_read_receipt_after_the_delivery_charges_nothing_more(sender: Sender) -> None:
    answer = sender.deliver("send_whatsapp")
    sender.report(answer, "read")
    assert (sender.status(answer)["attempts"][0]["status"], sender.money()) == ("read", (4997, 0))


def test_a_message_not_delivered_in_time_is_released_and_a_late_delivery_is_not_charged(
    sender: Sender, clock: TimeMachineFixture
) -> None:
    answer = sender.send("send_whatsapp")
    sender.work()
    sender.report(answer, "sent")
    clock.shift(timedelta(minutes=75))
    sender.work()
    late = sender.status(answer)
    assert (late["status"], late["failure"]["reason"], sender.money()) == ("failed", "R14", (5000, 0))
    sender.report(answer, "delivered")
    assert (sender.status(answer), sender.money()) == (late, (5000, 0))


def test_an_sms_that_failed_after_all_within_72_hours_is_given_back(sender: Sender, clock: TimeMachineFixture) -> None:
    answer = sender.send("send_sms")
    sender.work()
    sender.report(answer, "sent")
    clock.shift(timedelta(minutes=10))
    sender.work()
    assert sender.money() == (4996, 0)
    clock.shift(timedelta(hours=71))
    sender.report(answer, "undelivered", error_code=30003)
    assert (sender.status(answer)["charged_cents"], sender.money()) == (0, (5000, 0))
    assert LedgerEntry.objects.filter(kind="adjust").get().balance_delta_cents == 4


def test_each_later_step_is_held_when_it_is_due(sender: Sender, clock: TimeMachineFixture) -> None:
    answer = sender.send("start_workflow")
    assert sender.money() == (4977, 23)
    sender.work()
    sender.report(answer, "delivered", seq=1)
    sender.report(answer, "no-answer", seq=2, sequence=3)
    assert sender.money() == (5000 - 3 - 5, 0)
    clock.shift(timedelta(minutes=1))
    sender.work()
    assert sender.money() == (5000 - 3 - 5 - 20, 20)
    sender.report(answer, "busy", seq=3, sequence=3)
    clock.shift(timedelta(minutes=1))
    sender.work()
    sender.report(answer, "completed", seq=4, sequence=3, duration_s=30)
    alert = sender.status(answer)
    assert [one["charged_cents"] for one in alert["attempts"]] == [3, 5, 5, 20]
    assert (alert["charged_cents"], sender.money()) == (33, (4967, 0))


def test_a_later_step_that_the_balance_cannot_cover_is_not_sent_and_ends_the_alert(
    sender: Sender, clock: TimeMachineFixture
) -> None:
    sender.set_balance(32)
    answer = sender.send("start_workflow")
    assert answer["max_cost_cents"] > 32
    sender.work()
    sender.report(answer, "delivered", seq=1)
    sender.report(answer, "no-answer", seq=2, sequence=3)
    # 32 - 3 - 5 = 24 covers the call at minute 1; once that costs 5, the 19 that are left cover no other.
    clock.shift(timedelta(minutes=1))
    sender.work()
    sender.report(answer, "no-answer", seq=3, sequence=3)
    clock.shift(timedelta(minutes=1))
    sender.work()
    alert = sender.status(answer)
    assert (alert["status"], alert["terminal"], alert["failure"]) == (
        "failed",
        True,
        {"code": "INSUFFICIENT_BALANCE", "reason": None, "message": "The balance didn't cover the next step."},
    )
    assert [(one["status"], one["failure_code"]) for one in alert["attempts"]] == [
        ("delivered", None),
        ("no_answer", None),
        ("no_answer", None),
        ("skipped", "INSUFFICIENT_BALANCE"),
    ]
    assert (len(sender.carrier.requests), sender.money()) == (3, (19, 0))


def test_a_workflow_whose_first_step_comes_later_holds_nothing_at_first(
    sender: Sender, clock: TimeMachineFixture
) -> None:
    with locked(sender.account.pk) as account:
        saved.save(
            account,
            "inform",
            steps=(Step(5, "message"),),
            requires_ack=False,
            has_sms_fallback=False,
            max_attempts=1,
            now=account.created_at,
        )
    sender.send("start_workflow", workflow_id="inform")
    assert sender.money() == (5000, 0)
    sender.work()
    assert sender.carrier.requests == []
    clock.shift(timedelta(minutes=5))
    sender.work()
    assert (len(sender.carrier.requests), sender.money()) == (1, (4997, 3))


@pytest.mark.parametrize("channel", ["whatsapp", "sms", "call"])
def test_a_setup_test_is_free(sender: Sender, channel: str) -> None:
    sender.set_balance(0)
    test = sender.test(channel, arrives=True)
    alert = sender.mcp.call("get_alert_status", {"alert_ids": [test.code]})["alerts"][0]
    assert (alert["charged_cents"], alert["attempts"][0]["charged_cents"], sender.money()) == (0, 0, (0, 0))


@pytest.mark.parametrize("tool", TOOLS)
def test_after_the_fifth_failed_send_of_a_day_every_send_carries_the_notice(
    sender: Sender, clock: TimeMachineFixture, tool: str
) -> None:
    for number in range(5):
        assert "notice" not in sender.fail("send_sms", message=f"Number {number}.")
    answer = sender.send(tool, idempotency_key="k")
    assert answer["notice"] == NOTICE
    assert sender.send(tool, idempotency_key="k")["notice"] == NOTICE
    sender.mcp.call("cancel_alert", {"alert_id": answer["alert_id"]})
    clock.shift(timedelta(hours=5))
    assert "notice" not in sender.send(tool, message="The next UTC day.")


def test_failed_setup_tests_and_calls_nobody_picked_up_are_no_failed_sends(sender: Sender) -> None:
    for number in range(4):
        sender.fail("send_sms", message=f"Number {number}.")
    sender.test("sms", arrives=False)
    missed = sender.send("make_call")
    sender.work()
    sender.report(missed, "no-answer", sequence=3)
    assert "notice" not in sender.send("send_whatsapp")


@pytest.mark.parametrize("tool", ["send_whatsapp", "send_sms"])
def test_with_the_notice_a_text_blocked_as_spam_is_charged_and_no_other_failure_is(sender: Sender, tool: str) -> None:
    for number in range(4):
        sender.fail("send_sms", message=f"Number {number}.")
    blocked = sender.fail(tool, message="The fifth.", error_code=SPAM)
    assert (sender.status(blocked)["charged_cents"], sender.money()) == (0, (5000, 0))
    price_cents = sends.CENTS[CHANNELS[tool]][0]
    charged = sender.fail(tool, message="The sixth.", error_code=SPAM)
    assert charged["notice"] == NOTICE
    alert = sender.status(charged)
    assert (alert["status"], alert["failure"]["reason"]) == ("failed", "R06")
    assert (alert["charged_cents"], sender.money()) == (price_cents, (5000 - price_cents, 0))
    other = sender.fail(tool, message="The seventh.")
    assert (sender.status(other)["charged_cents"], sender.money()) == (0, (5000 - price_cents, 0))


def test_an_alert_accepted_before_the_fifth_failure_is_never_charged_for_a_spam_block(sender: Sender) -> None:
    before = sender.send("send_whatsapp", message="Accepted first.")
    for number in range(5):
        sender.fail("send_sms", message=f"Number {number}.")
    sender.work()
    sender.report(before, "undelivered", error_code=SPAM)
    assert (sender.status(before)["charged_cents"], sender.money()) == (0, (5000, 0))


def test_a_setting_turns_the_rule_off(sender: Sender, settings: Settings) -> None:
    settings.CHARGE_SPAM_BLOCKS = False
    for number in range(5):
        sender.fail("send_sms", message=f"Number {number}.")
    answer = sender.fail("send_sms", message="The sixth.", error_code=SPAM)
    assert "notice" not in answer
    assert (sender.status(answer)["charged_cents"], sender.money()) == (0, (5000, 0))


def test_the_balance_net_of_what_is_held_decides(sender: Sender) -> None:
    sender.set_balance(23)
    sender.send("send_whatsapp")
    error = sender.refused("start_workflow")
    assert (error["code"], error["details"]) == (
        "INSUFFICIENT_BALANCE",
        {"price_cents": 23, "balance_cents": 20},
    )
    assert sender.send("start_workflow", workflow_id="acknowledge")["status"] == "queued"


def test_what_is_due_at_once_is_held_together_or_not_at_all(sender: Sender) -> None:
    sender.set_balance(22)
    assert sender.refused("start_workflow")["details"] == {"price_cents": 23, "balance_cents": 22}
    assert (Alert.objects.count(), Attempt.objects.count(), sender.money()) == (0, 0, (22, 0))
