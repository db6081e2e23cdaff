"""get_alert_status through MCP: what is found by ids, by reference and without either, and who may know of it."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import standing
from accounts.locking import locked
from accounts.models import Account, LedgerEntry
from alerts.models import Alert, Attempt, CarrierEvent
from mcp_gateway.contract import TOOLS
from tests.contract.course import Course, following
from tests.factories import NOW, AccountFactory, PersonFactory
from tests.mcp_client import McpClient, issue_token
from tests.world import run

pytestmark = pytest.mark.django_db
MESSAGE = "Checkout is failing."


@pytest.fixture(autouse=True)
def course() -> Iterator[Course]:
    """Time and the carrier in the test's hands."""
    with following() as begun:
        yield begun


@pytest.fixture(autouse=True)
def room(settings: Any) -> None:
    """No cap stands in the way of many alerts."""
    for name in ("HOLDER_ALERTS_PER_HOUR", "UNBILLED_PER_HOUR", "UNBILLED_PER_DAY", "ACCOUNT_PER_MINUTE"):
        setattr(settings, name, 1000)


def start(mcp: McpClient, key: str, workflow_id: str = "inform", **more: Any) -> str:
    """Start a workflow; its id."""
    arguments = {"workflow_id": workflow_id, "message": f"{MESSAGE} {key}", "idempotency_key": key, **more}
    return str(mcp.call("start_workflow", arguments)["alert_id"])


def many(account: Account, count: int, **more: Any) -> list[str]:
    """Alerts a second apart, the oldest first; their ids."""
    moments = [NOW - timedelta(minutes=50) + timedelta(seconds=n) for n in range(count)]
    return [run(account, "inform", f"Number {n}", now=at, **more).alert.code for n, at in enumerate(moments)]


def ids(answer: dict[str, Any]) -> list[str]:
    """The alerts of an answer."""
    return [alert["alert_id"] for alert in answer["alerts"]]


# --- the seed's example


def test_the_seeds_example_is_an_escalation_acknowledged_in_its_first_call(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "k1", "escalate", recipient="owner")
    course.run()
    course.report(code, 1, "delivered")
    course.clock.shift(40)
    said = course.pick_up(code, 2)
    course.press(said, "message", "1", call_sid=Attempt.objects.get(seq=2).carrier_sid)
    course.report(code, 2, "completed", SequenceNumber=3, CallDuration=12)
    answer = mcp.call("get_alert_status", {"alert_ids": [code]})
    [shown] = answer["alerts"]
    example = TOOLS["get_alert_status"].example_result["alerts"][0]
    prices = {"charged_cents": 11}
    times = {"created_at": "19:00:00", "deadline_at": "19:12:00", "acknowledged_at": "19:00:40"}
    expected = {**example, "alert_id": code, **prices}
    expected |= {name: f"2026-10-03T{at}.000Z" for name, at in times.items()}
    seen = {name: shown[name] for name in expected}
    attempts, wanted = seen.pop("attempts"), expected.pop("attempts")
    assert seen == expected
    for attempt, one, cents in zip(attempts, wanted, (3, 8), strict=False):
        assert {name: attempt[name] for name in one} == {**one, "charged_cents": cents}
    assert [(one["seq"], one["status"], one["failure_code"]) for one in attempts[2:]] == [
        (3, "skipped", "ACKNOWLEDGED"),
        (4, "skipped", "ACKNOWLEDGED"),
    ]
    assert answer["not_found"] == []
    assert mcp.text == f"{code}: acknowledged, closed."


def test_every_field_of_a_fresh_alert(mcp: McpClient, account: Account) -> None:
    PersonFactory(account=account, name="Ada", number="+12025550171")
    code = mcp.call("send_sms", {"message": MESSAGE, "recipient": "ADA", "event_reference": "e-1"})["alert_id"]
    assert mcp.call("get_alert_status", {"alert_ids": [code]})["alerts"] == [
        {
            "alert_id": code,
            "kind": "direct",
            "workflow": None,
            "recipient": "Ada",
            "status": "queued",
            "terminal": False,
            "awaiting_ack": False,
            "requires_acknowledgement": False,
            "outcome": "queued",
            "outcome_text": "Queued",
            "created_at": "2026-10-03T19:00:00.000Z",
            "deadline_at": None,
            "next_attempt_at": "2026-10-03T19:00:00.000Z",
            "acknowledged_at": None,
            "ack_via": None,
            "late_ack_at": None,
            "cancelled_at": None,
            "cancelled_by": None,
            "failure": None,
            "charged_cents": 0,
            "attempts": [
                {
                    "seq": 1,
                    "offset_min": 0,
                    "kind": "message",
                    "channel": "sms",
                    "status": "scheduled",
                    "scheduled_at": "2026-10-03T19:00:00.000Z",
                    "sent_at": None,
                    "delivered_at": None,
                    "failure_code": None,
                    "failure_reason": None,
                    "failure_message": None,
                    "outcome": None,
                    "charged_cents": 0,
                }
            ],
        }
    ]
    assert re.fullmatch(r"A-[0-9A-HJ-NP-Z]{6}", code)


# --- by ids


def test_ids_come_back_in_their_order_once_each_in_any_case_and_unknown_ones_are_named(mcp: McpClient) -> None:
    one, two, three = (start(mcp, key) for key in ("k1", "k2", "k3"))
    asked = [three, "A-000000", one.lower(), f" {two} ", three, "a-zzzzzz"]
    answer = mcp.call("get_alert_status", {"alert_ids": asked})
    assert ids(answer) == [three, one, two]
    assert answer["not_found"] == ["A-000000", "a-zzzzzz"]
    assert mcp.text == "3 alerts, 3 still open. 2 not found."


def test_only_when_none_of_the_ids_is_known_it_is_a_refusal(mcp: McpClient) -> None:
    error = mcp.refusal("get_alert_status", {"alert_ids": ["A-000000", "nonsense"]})
    assert error == {
        "code": "ALERT_NOT_FOUND",
        "message": "No such alert is on this account.",
        "details": {"not_found": ["A-000000", "nonsense"]},
    }


def test_an_alert_of_another_account_is_as_unknown_as_none(mcp: McpClient) -> None:
    mine = start(mcp, "k1", event_reference="e-1")
    other = McpClient(Client(), issue_token(AccountFactory(number="+12025550144")))
    theirs = start(other, "k1", event_reference="e-1")
    assert mcp.refusal("get_alert_status", {"alert_ids": [theirs]})["details"] == {"not_found": [theirs]}
    both = mcp.call("get_alert_status", {"alert_ids": [theirs, mine]})
    assert (ids(both), both["not_found"]) == ([mine], [theirs])
    assert ids(mcp.call("get_alert_status", {"event_reference": "e-1"})) == [mine]
    assert ids(mcp.call("get_alert_status")) == [mine]
    assert ids(other.call("get_alert_status")) == [theirs]


def test_another_agent_of_the_account_sees_the_same(mcp: McpClient, account: Account) -> None:
    code = start(mcp, "k1")
    reader = McpClient(Client(), issue_token(account, client_name="Reader", scopes="alerts.read"))
    assert reader.call("get_alert_status", {"alert_ids": [code]}) == mcp.call("get_alert_status")


# --- by reference


def test_a_reference_finds_its_alerts_newest_first_and_twenty_at_most(mcp: McpClient, account: Account) -> None:
    made = many(account, 21, event_reference="incident-7")
    many(account, 1, event_reference="incident-8")
    found = ids(mcp.call("get_alert_status", {"event_reference": " incident-7 "}))
    assert found == made[:0:-1]
    assert len(found) == 20


def test_a_reference_finds_ended_alerts_too_and_is_exact(mcp: McpClient) -> None:
    code = start(mcp, "k1", event_reference="Incident 7")
    mcp.call("cancel_alert", {"alert_id": code})
    assert ids(mcp.call("get_alert_status", {"event_reference": "Incident 7"})) == [code]
    for other in ("incident 7", "Incident", "Incident 70"):
        assert mcp.call("get_alert_status", {"event_reference": other}) == {"alerts": [], "not_found": []}
    assert mcp.text == "0 alerts, 0 still open."


# --- without either


def test_without_ids_the_open_alerts_are_listed_newest_first_and_fifty_at_most(
    mcp: McpClient, account: Account
) -> None:
    assert mcp.call("get_alert_status") == {"alerts": [], "not_found": []}
    made = many(account, 52)
    mcp.call("cancel_alert", {"alert_id": made[51]})
    found = ids(mcp.call("get_alert_status"))
    assert found == made[50:0:-1]
    assert len(found) == 50
    assert mcp.text == "50 alerts, 50 still open."


# --- breaches


@pytest.mark.parametrize(
    ("arguments", "details"),
    [
        ({"alert_ids": []}, {"field": "alert_ids", "rule": "empty"}),
        ({"alert_ids": ["A-000000"] * 21}, {"field": "alert_ids", "rule": "max_length", "max_length": 20}),
        ({"alert_ids": ["A" * 33]}, {"field": "alert_ids", "rule": "max_length", "max_length": 32}),
        ({"alert_ids": [""]}, {"field": "alert_ids", "rule": "empty"}),
        ({"alert_ids": [7]}, {"field": "alert_ids", "rule": "type"}),
        ({"alert_ids": "A-000000"}, {"field": "alert_ids", "rule": "type"}),
        ({"alert_ids": None}, {"field": "alert_ids", "rule": "type"}),
        ({"event_reference": ""}, {"field": "event_reference", "rule": "empty"}),
        ({"event_reference": "x" * 101}, {"field": "event_reference", "rule": "max_length", "max_length": 100}),
        ({"alert_id": "A-000000"}, {"field": "alert_id", "rule": "unknown_field"}),
    ],
)
def test_a_breach_of_the_input(mcp: McpClient, arguments: dict[str, Any], details: dict[str, Any]) -> None:
    error = mcp.refusal("get_alert_status", arguments)
    assert (error["code"], error["details"]) == ("CONTENT_REJECTED", details)


def test_ids_and_a_reference_together_are_refused_in_the_seeds_words(mcp: McpClient) -> None:
    code = start(mcp, "k1", event_reference="e-1")
    assert mcp.refusal("get_alert_status", {"alert_ids": [code], "event_reference": "e-1"}) == {
        "code": "CONTENT_REJECTED",
        "message": "Send alert_ids or event_reference, not both.",
        "details": {"field": "alert_ids", "rule": "both_given"},
    }


# --- how


def count_queries(call: Callable[[], object]) -> int:
    """How many queries a call takes, the bearer's check included."""
    with CaptureQueriesContext(connection) as captured:
        call()
    return sum("SAVEPOINT" not in query["sql"] for query in captured.captured_queries)


def test_fifty_alerts_take_as_many_queries_as_one(mcp: McpClient, account: Account) -> None:
    first = start(mcp, "k1", "escalate", event_reference="e-1")
    by: list[dict[str, Any]] = [{}, {"alert_ids": [first]}, {"event_reference": "e-1"}]
    alone = [count_queries(partial(mcp.call, "get_alert_status", arguments)) for arguments in by]
    made = many(account, 49, event_reference="e-1")
    by[1] = {"alert_ids": made[:20]}
    assert [count_queries(partial(mcp.call, "get_alert_status", arguments)) for arguments in by] == alone
    assert max(alone) <= 8
    assert len(ids(mcp.call("get_alert_status"))) == 50


def test_reading_moves_nothing_and_costs_nothing(mcp: McpClient, account: Account, course: Course) -> None:
    code = start(mcp, "k1", "escalate")
    course.clock.shift(timedelta(minutes=30))

    def everything() -> list[Any]:
        tables: list[Any] = [Alert, Attempt, LedgerEntry, CarrierEvent, Account]
        return [list(table.objects.order_by("pk").values()) for table in tables]

    before = everything()
    for _ in range(3):
        assert mcp.call("get_alert_status", {"alert_ids": [code]})["alerts"][0]["status"] == "queued"
    assert everything() == before
    assert course.sent == []


def test_a_suspended_and_a_closed_account_can_still_look(mcp: McpClient, account: Account) -> None:
    code = start(mcp, "k1")
    with locked(account.pk) as held:
        standing.suspend(held, reason="spam", now=NOW)
    assert ids(mcp.call("get_alert_status", {"alert_ids": [code]})) == [code]
    with locked(account.pk) as held:
        standing.close(held, now=NOW)
    assert ids(mcp.call("get_alert_status")) == [code]


def test_nothing_of_the_number_or_the_text_is_in_any_answer(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "k1", agent_name="Checkout monitor", use_case="checkout")
    course.run()
    course.report(code, 1, "failed", ErrorCode=63024)
    said = repr(mcp.call("get_alert_status", {"alert_ids": [code]})) + mcp.text
    sid = Attempt.objects.get(seq=1).carrier_sid
    for hidden in ("5550143", "Checkout", "63024", "'US'", sid, Alert.objects.get().ack_token):
        assert hidden not in said
