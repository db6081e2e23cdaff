"""get_setup_status through MCP: every state of setup, what can be spent, and what an answer never holds."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import ledger, pauses, payments, preferences, standing
from accounts.ledger import HoldRequest
from accounts.locking import locked
from accounts.models import Account, Holder, Number, Rate
from alerts.models import Alert
from tests.contract.course import Course, following
from tests.factories import NOW, AccountFactory, NumberFactory, PersonFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db
START = "http://127.0.0.1:8000/start/"
PAYMENT = {"code": "payment_needed", "message": "Payment is missing: the owner adds balance first."}
RESIDENCE = {"code": "residence_needed", "message": "The owner has not confirmed their country of residence."}
VERIFICATION = {"code": "verification_needed", "message": "No phone number on the account is verified yet."}


@pytest.fixture(autouse=True)
def course() -> Iterator[Course]:
    """Time and the carrier in the test's hands."""
    with following() as begun:
        yield begun


def linked(blocker: dict[str, str]) -> dict[str, str]:
    """A blocker as it reads once payment is there."""
    place = {"residence_needed": "residence", "verification_needed": "number"}[blocker["code"]]
    return {**blocker, "action_url": f"{START}#{place}"}


def agent_of(account: Account) -> McpClient:
    """A connected agent of this account."""
    return McpClient(Client(), issue_token(account))


def test_the_seeds_example_comes_from_an_account_in_that_state(load_rates: None) -> None:
    Rate.objects.filter(country="US").update(price_cents=0, reduced_cents=0)
    Rate.objects.filter(country="US", channel="sms").update(status="coming_soon")
    account = AccountFactory(number="+12025550143", balance_cents=2400)
    Holder.objects.update(whatsapp="yes")
    agent = agent_of(account)
    assert agent.call("get_setup_status") == {
        "account_state": "ready",
        "readiness": {"account_connected": True, "delivery_ready": True, "agent_guidance_configured": False},
        "onboarding_complete": True,
        "blockers": [],
        "recipients": [
            {
                "name": "Sam",
                "is_owner": True,
                "verified": True,
                "channels": {"whatsapp": "yes", "sms": "coming_soon", "call": "available"},
                "price_cents": {"whatsapp": 0, "sms": None, "call": 0},
                "max_chars": {"whatsapp": 600, "sms": None, "sms_confirm_link": None, "call": 150},
            }
        ],
        "default_recipient": "Sam",
        "owner_name": "Sam",
        "balance_cents": 2400,
        "reserved_cents": 0,
        "spent_today_cents": 0,
        "workflows_version": 1,
        "setup_url": START,
    }
    assert agent.text == "The account can send alerts."


@pytest.mark.parametrize("has_number", [True, False])
@pytest.mark.parametrize("is_verified", [True, False])
@pytest.mark.parametrize("is_resident", [True, False])
@pytest.mark.parametrize("is_paid", [True, False])
def test_every_combination_of_what_is_missing(
    load_rates: None, is_paid: bool, is_resident: bool, is_verified: bool, has_number: bool
) -> None:
    account = AccountFactory(
        number="+12025550143" if has_number else None,
        is_verified=is_verified,
        first_payment_at=NOW if is_paid else None,
        residence_confirmed_at=NOW if is_resident else None,
    )
    missing = []
    if not is_paid:
        missing.append(PAYMENT)
    if not is_resident:
        missing.append(RESIDENCE)
    if not (has_number and is_verified):
        missing.append(VERIFICATION)
    agent = agent_of(account)
    answer = agent.call("get_setup_status")
    assert answer["blockers"] == ([linked(each) for each in missing] if is_paid else missing)
    assert answer.get("setup_url") == (START if is_paid else None)
    assert "url" not in repr(answer) or is_paid
    first = missing[0]["code"] if missing else ""
    states = {"": "ready", "payment_needed": "payment_needed"}
    assert answer["account_state"] == states.get(first, "verification_needed")
    assert answer["readiness"]["delivery_ready"] is not bool(missing)
    assert answer["onboarding_complete"] is not bool(missing)
    assert answer["default_recipient"] == ("Sam" if has_number else None)
    assert [each["verified"] for each in answer["recipients"]] == ([is_verified] if has_number else [])
    assert (
        agent.text
        == {
            "ready": "The account can send alerts.",
            "payment_needed": "The account can't send yet: payment is missing.",
            "verification_needed": "The account can't send yet: setup isn't finished.",
        }[answer["account_state"]]
    )


def test_setup_step_by_step_as_an_agent_sees_it(load_rates: None) -> None:
    """The order in which an owner usually goes: each step takes its blocker away, and the last one opens the door."""
    account = AccountFactory(
        number=None, owner_name="", residence="", first_payment_at=None, residence_confirmed_at=None, balance_cents=0
    )
    agent = agent_of(account)

    def now_reads() -> tuple[str, list[str], bool, str | None]:
        answer = agent.call("get_setup_status")
        codes = [blocker["code"] for blocker in answer["blockers"]]
        return answer["account_state"], codes, answer["readiness"]["delivery_ready"], answer["default_recipient"]

    everything = ["payment_needed", "residence_needed", "verification_needed"]
    assert now_reads() == ("payment_needed", everything, False, None)
    with locked(account.pk) as held:
        payment = payments.record(held, amount_cents=2400, method="manual", external_ref="", now=NOW)
    assert now_reads() == ("payment_needed", everything, False, None)
    with locked(account.pk) as held:
        payments.confirm(held, payment, by=None, now=NOW)
    assert now_reads() == ("verification_needed", everything[1:], False, None)
    with locked(account.pk) as held:
        preferences.confirm_residence(held, country="US", now=NOW)
    assert now_reads() == ("verification_needed", everything[2:], False, None)
    assert account.own_person is not None
    number = NumberFactory(person=account.own_person, e164="+12025550143", verified_at=None)
    assert now_reads() == ("verification_needed", everything[2:], False, "Owner")
    Number.objects.filter(pk=number.pk).update(verified_at=NOW)
    assert now_reads() == ("ready", [], True, "Owner")
    assert agent.call("get_setup_status")["balance_cents"] == 2400


def test_anyones_verified_number_is_enough(mcp: McpClient, account: Account) -> None:
    Number.objects.update(verified_at=None)
    PersonFactory(account=account, name="Ada", number="+12025550171")
    answer = mcp.call("get_setup_status")
    assert (answer["account_state"], answer["blockers"]) == ("ready", [])
    assert {each["name"]: each["verified"] for each in answer["recipients"]} == {"Sam": False, "Ada": True}


def test_sends_paused_until_a_number_is_verified_again_are_a_blocker(mcp: McpClient, account: Account) -> None:
    with locked(account.pk) as held:
        standing.pause_until_verified(held)
    answer = mcp.call("get_setup_status")
    sentence = "Sending is paused until a phone number on the account is verified again."
    assert answer["account_state"] == "verification_needed"
    assert answer["blockers"] == [{"code": "verification_needed", "message": sentence, "action_url": f"{START}#number"}]
    assert answer["readiness"]["delivery_ready"] is False
    assert answer["recipients"][0]["verified"] is True


def test_a_suspended_account_reads_suspended_and_is_still_answered(mcp: McpClient, account: Account) -> None:
    with locked(account.pk) as held:
        standing.suspend(held, reason="spam complaints", now=NOW)
    answer = mcp.call("get_setup_status")
    assert (answer["account_state"], answer["blockers"]) == ("suspended", [])
    assert answer["readiness"] == {
        "account_connected": True,
        "delivery_ready": False,
        "agent_guidance_configured": False,
    }
    assert answer["onboarding_complete"] is False
    assert "spam" not in repr(answer)
    assert mcp.text == "The account is suspended."
    with locked(account.pk) as held:
        standing.lift_suspension(held, now=NOW)
    assert mcp.call("get_setup_status")["account_state"] == "ready"


def test_a_disputed_payment_suspends(mcp: McpClient, account: Account) -> None:
    with locked(account.pk) as held:
        payment = payments.record(held, amount_cents=900, method="card", external_ref="p-1", now=NOW)
        payments.confirm(held, payment, by=None, now=NOW)
        payments.dispute(held, payment, now=NOW)
    assert mcp.call("get_setup_status")["account_state"] == "suspended"
    refused = mcp.refusal("send_sms", {"message": "Checkout is failing."})
    assert refused == {"code": "ACCOUNT_SUSPENDED", "message": "This BreakPass account is suspended."}
    assert not Alert.objects.exists()


def test_a_closed_account_is_refused_in_the_seeds_words_and_keeps_its_token(mcp: McpClient, account: Account) -> None:
    with locked(account.pk) as held:
        standing.close(held, now=NOW)
    assert mcp.refusal("get_setup_status") == {
        "code": "ACCOUNT_SUSPENDED",
        "message": "This BreakPass account is closed.",
    }
    # Of the reads, only this one is refused.
    assert len(mcp.call("list_workflows")["workflows"]) == 3
    assert mcp.call("get_alert_status") == {"alerts": [], "not_found": []}


def test_a_pause_of_sending_changes_no_answer_about_setup(mcp: McpClient, account: Account) -> None:
    before = mcp.call("get_setup_status")
    for flag in ("all", "whatsapp", "sms", "call", "whatsapp_capacity", "whatsapp_not_live"):
        pauses.pause(flag, reason="maintenance", now=NOW)
    pauses.pause("destination", reason="storm", countries=["US"], now=NOW)
    pauses.pause("account", reason="abuse", account=account, now=NOW)
    assert mcp.call("get_setup_status") == before


def test_the_owner_ticks_the_agents_guidance(mcp: McpClient, account: Account) -> None:
    Account.objects.update(is_agent_guidance_configured=True)
    assert mcp.call("get_setup_status")["readiness"]["agent_guidance_configured"] is True


# --- money


def test_what_can_be_spent_is_net_of_what_is_held_and_today_counts_from_midnight_utc(
    mcp: McpClient, account: Account
) -> None:
    yesterday = NOW - timedelta(days=1)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 100)], now=yesterday)
        ledger.capture(held, ref="attempt:1", amount_cents=100, now=yesterday)
        ledger.hold(held, [HoldRequest("attempt:2", 30), HoldRequest("attempt:3", 70)], now=NOW)
        ledger.capture(held, ref="attempt:2", amount_cents=5, now=NOW)
    answer = mcp.call("get_setup_status")
    assert (answer["balance_cents"], answer["reserved_cents"], answer["spent_today_cents"]) == (4825, 70, 5)


def test_a_send_moves_its_price_from_the_balance_to_what_is_reserved(mcp: McpClient, course: Course) -> None:
    code = mcp.call("make_call", {"message": "Checkout is failing."})["alert_id"]
    answer = mcp.call("get_setup_status")
    assert (answer["balance_cents"], answer["reserved_cents"], answer["spent_today_cents"]) == (4992, 8, 0)
    course.run()
    course.report(code, 1, "no-answer")
    answer = mcp.call("get_setup_status")
    assert (answer["balance_cents"], answer["reserved_cents"], answer["spent_today_cents"]) == (4998, 0, 2)
    course.clock.move_to(NOW + timedelta(hours=5))
    assert timezone.now().date() > NOW.date()
    later = McpClient(mcp.client, issue_token(Account.objects.get()))
    assert later.call("get_setup_status")["spent_today_cents"] == 0


# --- how


def count_queries(call: Callable[[], object]) -> int:
    """How many queries a call takes, the bearer's check included."""
    with CaptureQueriesContext(connection) as captured:
        call()
    return sum("SAVEPOINT" not in query["sql"] for query in captured.captured_queries)


def test_the_answer_takes_as_many_queries_for_ten_people_as_for_one(mcp: McpClient, account: Account) -> None:
    Rate.objects.filter(country="US").update(needs_test=True)
    mcp.call("get_setup_status")
    alone = count_queries(lambda: mcp.call("get_setup_status"))
    prefixes = ("+1202555", "+4477009001", "+5255123456", "+4915123456")
    for index in range(10):
        digits = {"+1202555": f"02{index:02d}", "+4477009001": f"{index:02d}"}
        prefix = prefixes[index % 4]
        PersonFactory(account=account, number=prefix + digits.get(prefix, f"{index:03d}"[-12 + len(prefix) :]))
    assert count_queries(lambda: mcp.call("get_setup_status")) == alone
    assert alone <= 8
    assert len(mcp.call("get_setup_status")["recipients"]) == 11


def test_no_answer_holds_a_number_a_country_or_a_payment(mcp: McpClient, account: Account) -> None:
    PersonFactory(account=account, name="Ada", number="+525512345678")
    with locked(account.pk) as held:
        payments.record(held, amount_cents=900, method="card", external_ref="card-4242", now=NOW)
    said = repr(mcp.call("get_setup_status")) + mcp.text
    for hidden in ("5550143", "5512345678", "+1", "+52", "'US'", "'MX'", "4242", "•"):
        assert hidden not in said


def test_there_is_no_input(mcp: McpClient) -> None:
    error = mcp.refusal("get_setup_status", {"recipient": "Sam"})
    assert (error["code"], error["details"]) == ("CONTENT_REJECTED", {"field": "recipient", "rule": "unknown_field"})
