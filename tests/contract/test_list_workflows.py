"""list_workflows through MCP: the seed's values for a fresh account, any workflow in its style, priced per person."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accounts import pauses, people, standing
from accounts.locking import locked
from accounts.models import Account, Country, Holder, Number, Rate
from alerts import acks
from mcp_gateway.contract import TOOLS
from tests.contract.course import Course, following
from tests.factories import NOW, NumberFactory, PersonFactory
from tests.mcp_client import McpClient
from workflows import saved
from workflows.plan import Step

pytestmark = pytest.mark.django_db
SAVED_AT = datetime(2026, 10, 3, 9, 0, tzinfo=UTC)
# sms and call in the US, as loaded.
SMS, CALL = 3, 8


@pytest.fixture(autouse=True)
def course() -> Iterator[Course]:
    """Time stands still."""
    with following() as begun:
        yield begun


def listed(mcp: McpClient, key: str, **arguments: str) -> dict[str, Any]:
    """One workflow as the agent gets it."""
    [found] = [each for each in mcp.call("list_workflows", arguments)["workflows"] if each["workflow_id"] == key]
    return dict(found)


def costs(mcp: McpClient, **arguments: str) -> list[int]:
    """The worst case of each workflow, in the order of the list."""
    return [each["max_cost_cents"] for each in mcp.call("list_workflows", arguments)["workflows"]]


def channels(mcp: McpClient, key: str, **arguments: str) -> list[str]:
    """The channel of each step."""
    return [step["channel"] for step in listed(mcp, key, **arguments)["steps"]]


# --- a fresh account


def test_the_seeds_example_comes_from_a_fresh_account(mcp: McpClient) -> None:
    Rate.objects.filter(country="US").update(price_cents=0, reduced_cents=0)
    Account.objects.update(workflows_updated_at=SAVED_AT)
    example = TOOLS["list_workflows"].example_result
    answer = mcp.call("list_workflows", {"recipient": "owner"})
    assert answer["updated_at"] == "2026-10-03T09:00:00.000Z"
    assert answer == {**example, "updated_at": answer["updated_at"]}
    assert mcp.text == "3 workflows, 3 available for this recipient."


def test_the_table_of_workflows_in_the_seed_is_what_is_served(mcp: McpClient) -> None:
    page = next((Path(settings.BASE_DIR).parent / "shared" / "seeds").glob("001_*.txt"), None)
    if page is None:
        pytest.skip("the seed is not here")
    text = page.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (Max attempts|Deadline)[^|]*\| (.+) \|$", text, flags=re.MULTILINE))
    answer = mcp.call("list_workflows")["workflows"]
    most = [int(cell) for cell in rows["Max attempts"].split(" | ")]
    deadlines = [int(cell.split()[0]) for cell in rows["Deadline"].split(" | ")]
    assert [each["max_attempts"] for each in answer] == most == [2, 4, 5]
    assert [each["deadline_min"] for each in answer] == deadlines == [75, 40, 12]


# --- for whom


def test_costs_are_worked_out_for_the_person_named(mcp: McpClient, account: Account) -> None:
    PersonFactory(account=account, name="Ada", number="+447700900123")
    # One message and its fallback; three and one; one, three calls, and one.
    assert costs(mcp) == costs(mcp, recipient="owner") == costs(mcp, recipient="SAM") == [6, 12, 30]
    assert costs(mcp, recipient="Ada") == costs(mcp, recipient=" ADA ") == [5 + 9, 15 + 9, 5 + 54 + 9]
    Rate.objects.filter(country="GB", channel="sms").update(status="coming_soon")
    assert costs(mcp, recipient="Ada") == [5, 15, 5 + 54]


@pytest.mark.parametrize(
    ("arguments", "shown"), [({}, "Sam"), ({"recipient": "Owner"}, "owner"), ({"recipient": "sAM"}, "Sam")]
)
def test_the_recipient_is_named_as_asked_for(mcp: McpClient, arguments: dict[str, str], shown: str) -> None:
    assert mcp.call("list_workflows", arguments)["recipient"] == shown


def test_the_default_recipient_is_the_number_picked_in_settings(mcp: McpClient, account: Account) -> None:
    work = PersonFactory(account=account, name="Work phone", number="+447700900123")
    with locked(account.pk) as held:
        people.pick_owner_person(held, work)
    answer = mcp.call("list_workflows")
    assert answer["recipient"] == "Sam"
    assert [each["max_cost_cents"] for each in answer["workflows"]] == [14, 24, 68]
    assert costs(mcp, recipient="Previous number") == [6, 12, 30]


def test_nobody_of_that_name_and_two_of_one_name(mcp: McpClient, account: Account) -> None:
    PersonFactory(name="Ada", number="+12025550171")
    assert mcp.refusal("list_workflows", {"recipient": "Ada"}) == {
        "code": "RECIPIENT_NOT_FOUND",
        "message": "No one on this account has that name. Use a name from `recipients` in `get_setup_status`, or "
        "`owner` for the user's own number.",
    }
    for number in ("+12025550172", "+12025550173"):
        PersonFactory(account=account, name="Kim", number=number)
    assert mcp.refusal("list_workflows", {"recipient": "kim"}) == {
        "code": "RECIPIENT_AMBIGUOUS",
        "message": "Two or more people on the account share the name, so nothing was sent. The owner renames one in "
        "Settings > Phone numbers.",
    }


@pytest.mark.parametrize(
    ("arguments", "field", "rule"),
    [
        ({"recipient": ""}, "recipient", "empty"),
        ({"recipient": "x" * 31}, "recipient", "max_length"),
        ({"recipient": None}, "recipient", "type"),
        ({"workflow_id": "inform"}, "workflow_id", "unknown_field"),
    ],
)
def test_a_breach_of_the_input(mcp: McpClient, arguments: dict[str, Any], field: str, rule: str) -> None:
    error = mcp.refusal("list_workflows", arguments)
    assert (error["code"], error["details"]["field"], error["details"]["rule"]) == ("CONTENT_REJECTED", field, rule)


def test_reading_needs_no_verified_willing_or_paid_for_person(mcp: McpClient, account: Account) -> None:
    ada = PersonFactory(account=account, name="Ada")
    number = NumberFactory(person=ada, e164="+12025550171", verified_at=None)
    acks.opt_out(number.holder_id, via="sms", now=NOW)
    Account.objects.update(first_payment_at=None, residence_confirmed_at=None)
    with locked(account.pk) as held:
        standing.suspend(held, reason="spam", now=NOW)
    assert costs(mcp, recipient="Ada") == [6, 12, 30]


def test_before_the_owner_has_a_number_nothing_is_available(mcp: McpClient, account: Account) -> None:
    Number.objects.all().delete()
    answer = mcp.call("list_workflows")
    assert answer["recipient"] == "Sam"
    assert [each["available"] for each in answer["workflows"]] == [False] * 3
    assert [each["max_cost_cents"] for each in answer["workflows"]] == [0] * 3
    assert mcp.text == "3 workflows, 0 available for this recipient."
    assert mcp.refusal("list_workflows", {"recipient": "owner"})["code"] == "RECIPIENT_NOT_FOUND"


# --- what can be used


def test_messages_go_by_sms_to_a_number_that_is_known_not_to_have_whatsapp(mcp: McpClient) -> None:
    Holder.objects.update(whatsapp="no")
    assert channels(mcp, "acknowledge") == ["sms", "sms", "sms"]
    assert channels(mcp, "escalate") == ["sms", "call", "call", "call"]
    # Nothing stands in for a text: the steps alone.
    assert costs(mcp) == [SMS, 3 * SMS, SMS + 3 * CALL]
    assert all(each["available"] for each in mcp.call("list_workflows")["workflows"])


@pytest.mark.parametrize(
    ("closed", "available"),
    [
        (["call"], [True, True, False]),
        (["sms"], [True, True, True]),
        (["whatsapp"], [True, True, True]),
        (["whatsapp", "sms"], [False, False, False]),
        (["whatsapp", "sms", "call"], [False, False, False]),
    ],
)
def test_a_workflow_is_available_when_every_step_has_a_channel(
    mcp: McpClient, closed: list[str], available: list[bool]
) -> None:
    Rate.objects.filter(country="US", channel__in=closed).update(status="coming_soon")
    assert [each["available"] for each in mcp.call("list_workflows")["workflows"]] == available


@pytest.mark.parametrize("flag", ["whatsapp_capacity", "whatsapp_not_live"])
def test_when_whatsapp_is_out_of_use_messages_go_by_sms(mcp: McpClient, flag: str) -> None:
    pauses.pause(flag, reason="Meta", now=NOW)
    assert channels(mcp, "inform") == ["sms"]
    assert costs(mcp) == [SMS, 3 * SMS, SMS + 3 * CALL]


def test_a_price_above_the_owners_maximum_takes_the_channel_away(mcp: McpClient) -> None:
    Account.objects.update(max_price_cents=5)
    answer = mcp.call("list_workflows")["workflows"]
    assert [each["available"] for each in answer] == [True, True, False]
    Account.objects.update(max_price_cents=2)
    assert [each["available"] for each in mcp.call("list_workflows")["workflows"]] == [False] * 3


def test_where_staff_switched_the_country_off_nothing_is_available(mcp: McpClient) -> None:
    Country.objects.filter(code="US").update(is_offered=False)
    assert [each["available"] for each in mcp.call("list_workflows")["workflows"]] == [False] * 3


def test_without_a_whatsapp_template_messages_go_by_sms(mcp: McpClient, settings: Settings) -> None:
    settings.TWILIO_CONTENT_SID_ALERT = ""
    assert channels(mcp, "inform") == ["sms"]


# --- the decision model


@pytest.mark.parametrize(("urgency", "importance"), [(6, 6), (1, 10), (10, 1)])
def test_the_decision_model_shows_while_it_is_on(mcp: McpClient, urgency: int, importance: int) -> None:
    Account.objects.update(is_matrix_enabled=True, urgency_threshold=urgency, importance_threshold=importance)
    assert mcp.call("list_workflows")["decision_model"] == {
        "matrix_enabled": True,
        "urgency_threshold": urgency,
        "importance_threshold": importance,
    }
    Account.objects.update(is_matrix_enabled=False)
    assert mcp.call("list_workflows")["decision_model"] is None


# --- how


def count_queries(call: Callable[[], object]) -> int:
    """How many queries a call takes, the bearer's check included."""
    with CaptureQueriesContext(connection) as captured:
        call()
    return sum("SAVEPOINT" not in query["sql"] for query in captured.captured_queries)


def test_the_list_takes_as_many_queries_for_ten_people_as_for_one(mcp: McpClient, account: Account) -> None:
    with locked(account.pk) as held:
        saved.save(
            held,
            "inform",
            steps=[Step(0, "call")],
            requires_ack=True,
            has_sms_fallback=False,
            max_attempts=1,
            now=NOW,
        )
    mcp.call("list_workflows")
    alone = count_queries(lambda: mcp.call("list_workflows"))
    for index in range(10):
        PersonFactory(account=account, name=f"Person {index}", number=f"+4477009001{index:02d}")
    assert count_queries(lambda: mcp.call("list_workflows", {"recipient": "Person 7"})) == alone
    assert alone <= 8


def test_no_answer_names_a_number_or_a_country(mcp: McpClient, account: Account) -> None:
    PersonFactory(account=account, name="Ada", number="+447700900123")
    said = repr(mcp.call("list_workflows", {"recipient": "Ada"})) + mcp.text
    assert not re.search(r"7700900123|\+44|'GB'|United Kingdom", said)
