"""Workflows that the owner edited, as list_workflows shows them: versions, words in the seed's style, the fallback."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.locking import locked
from accounts.models import Account
from tests.contract.course import Course, following
from tests.factories import NOW, PersonFactory
from tests.mcp_client import McpClient
from workflows import saved
from workflows.plan import Step

pytestmark = pytest.mark.django_db
FALLBACK = "One SMS if a WhatsApp message can't be delivered."
# whatsapp, sms and call in the US, as loaded.
WHATSAPP, SMS, CALL = 3, 3, 8


@pytest.fixture(autouse=True)
def course() -> Iterator[Course]:
    """Time stands still."""
    with following() as begun:
        yield begun


def save(account: Account, key: str, steps: list[Step], **changes: Any) -> None:
    """What the owner does on the workflow's page."""
    wanted = {"requires_ack": True, "has_sms_fallback": True, "max_attempts": 12, **changes}
    with locked(account.pk) as held:
        saved.save(held, key, steps=steps, now=NOW, **wanted)


def listed(mcp: McpClient, key: str, **arguments: str) -> dict[str, Any]:
    """One workflow as the agent gets it."""
    [found] = [each for each in mcp.call("list_workflows", arguments)["workflows"] if each["workflow_id"] == key]
    return dict(found)


def test_an_edit_shows_on_the_next_read_with_its_versions(mcp: McpClient, account: Account, course: Course) -> None:
    course.clock.shift(60)
    save(account, "inform", [Step(0, "message"), Step(15, "call")], max_attempts=3)
    answer = mcp.call("list_workflows")
    assert (answer["version"], answer["updated_at"]) == (2, "2026-10-03T19:00:00.000Z")
    assert [(each["workflow_id"], each["version"]) for each in answer["workflows"]] == [
        ("inform", 2),
        ("acknowledge", 1),
        ("escalate", 1),
    ]
    assert answer["workflows"][0] == {
        "workflow_id": "inform",
        "name": "Inform",
        "summary": f"Message at minute 0; call at minute 15, then it stops; an acknowledgement stops it sooner. "
        f"{FALLBACK}",
        "use_when": "The user only needs to know. A message at 0 minutes and a call at 15 minutes, until acknowledged.",
        "version": 2,
        "steps": [
            {"offset_min": 0, "kind": "message", "channel": "whatsapp"},
            {"offset_min": 15, "kind": "call", "channel": "call"},
        ],
        "ack_required_default": True,
        "requires_acknowledgement": True,
        "sms_fallback": True,
        "max_attempts": 3,
        "deadline_min": 25,
        "max_cost_cents": WHATSAPP + CALL + SMS,
        "available": True,
        "editable_in": "portal",
    }
    assert mcp.call("get_setup_status")["workflows_version"] == 2


@pytest.mark.parametrize(
    ("steps", "changes", "summary", "deadline_min"),
    [
        (
            [Step(0, "message")],
            {},
            f"Message at minute 0, then it stops; an acknowledgement stops it sooner. {FALLBACK}",
            60,
        ),
        ([Step(5, "call")], {}, "Call at minute 5, then it stops; an acknowledgement stops it sooner.", 65),
        ([Step(0, "call")], {"requires_ack": False}, "Call at minute 0. No acknowledgement.", 75),
        (
            [Step(0, "message"), Step(5, "message")],
            {"requires_ack": False, "has_sms_fallback": False},
            "Messages at minutes 0 and 5, then it stops; the first delivery stops it sooner. No acknowledgement.",
            80,
        ),
        (
            [Step(0, "call"), Step(0, "message"), Step(5, "call"), Step(60, "message"), Step(1440, "call")],
            {},
            "Calls at minutes 0, 5 and 1440; messages at minutes 0 and 60, then it stops; an acknowledgement stops it "
            f"sooner. {FALLBACK}",
            1450,
        ),
    ],
)
def test_any_steps_read_in_the_seeds_style(
    mcp: McpClient, account: Account, steps: list[Step], changes: dict[str, Any], summary: str, deadline_min: int
) -> None:
    save(account, "escalate", steps, **changes)
    answer = listed(mcp, "escalate")
    assert (answer["summary"], answer["deadline_min"]) == (summary, deadline_min)
    assert [(step["offset_min"], step["kind"]) for step in answer["steps"]] == [(s.offset_min, s.kind) for s in steps]
    assert answer["ack_required_default"] is answer["requires_acknowledgement"] is changes.get("requires_ack", True)


@pytest.mark.parametrize(
    ("steps", "changes", "fallback"),
    [
        ([Step(0, "message"), Step(5, "message")], {"max_attempts": 3}, True),
        ([Step(0, "message"), Step(5, "message")], {"max_attempts": 2}, False),
        ([Step(0, "message"), Step(5, "message")], {"max_attempts": 3, "has_sms_fallback": False}, False),
        ([Step(0, "call"), Step(5, "call")], {"max_attempts": 3}, False),
    ],
)
def test_the_fallback_needs_a_message_the_owners_leave_and_an_attempt_of_its_own(
    mcp: McpClient, account: Account, steps: list[Step], changes: dict[str, Any], fallback: bool
) -> None:
    save(account, "acknowledge", steps, **changes)
    answer = listed(mcp, "acknowledge")
    assert (answer["sms_fallback"], answer["max_attempts"]) == (fallback, changes["max_attempts"])
    assert (FALLBACK in answer["summary"]) is fallback
    price = {"message": WHATSAPP, "call": CALL}
    assert answer["max_cost_cents"] == sum(price[step.kind] for step in steps) + (SMS if fallback else 0)


def test_saving_what_is_already_there_is_no_edit(mcp: McpClient, account: Account) -> None:
    before = mcp.call("list_workflows")
    save(account, "inform", [Step(0, "message")], requires_ack=False, max_attempts=2)
    assert mcp.call("list_workflows") == before


def test_the_list_of_one_account_knows_nothing_of_anothers(mcp: McpClient, account: Account) -> None:
    other = PersonFactory(name="Ada", number="+12025550171").account
    before = mcp.call("list_workflows")
    save(other, "inform", [Step(0, "call")])
    assert mcp.call("list_workflows") == before
