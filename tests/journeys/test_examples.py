"""The contract's eight examples, called as they are printed on an account in the state that they show."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from accounts.models import Account, Holder
from mcp_gateway.contract import TOOLS
from tests import world
from tests.factories import PlanFactory
from tests.journeys.story import SAM, Story
from tests.mcp_client import McpClient

pytestmark = pytest.mark.django_db(transaction=True)
SAM_IN_LONDON = "+447700900123"
FREE = {"whatsapp": (0, 0), "sms": (0, 0), "call": (0, 0)}


@pytest.fixture
def account(story: Story) -> Account:
    """Sam's account as in the examples: its amounts are placeholders, so everything is free here."""
    world.offer("US", sender="us_ca", cents=FREE)
    world.offer("GB", sender="alphanumeric", cents=FREE)
    return story.account(
        balance_cents=2400, plan=PlanFactory(), workflows_updated_at=datetime.fromisoformat("2026-10-03T09:00:00Z")
    )


@pytest.fixture
def agent(story: Story, account: Account) -> McpClient:
    """The app of the examples."""
    return story.agent(account, "Checkout monitor")


def run(agent: McpClient, tool: str, **instead: Any) -> dict[str, Any]:
    """Call a tool exactly as its example does, but for the id of an alert."""
    return agent.call(tool, {**TOOLS[tool].example_arguments, **instead})


def example(tool: str) -> dict[str, Any]:
    """What the example gets."""
    return dict(TOOLS[tool].example_result)


def same(answer: Any, printed: Any, *, apart: frozenset[str] = frozenset({"alert_id"})) -> bool:
    """Whether an answer has all that is printed, with the same values; a time counts to the millisecond.

    What is printed leaves some required fields out, so an answer may say more.
    """
    if isinstance(printed, Mapping):
        return all(name in answer and (name in apart or same(answer[name], printed[name])) for name in printed)
    if isinstance(printed, list):
        return len(answer) == len(printed) and all(map(same, answer, printed))
    if isinstance(printed, str) and printed.endswith("Z") and printed[:2] == "20":
        return bool(answer == printed.removesuffix("Z") + ".000Z")
    return bool(answer == printed) and type(answer) is type(printed)


def test_get_setup_status_answers_its_example(story: Story) -> None:
    world.offer("GB", sender="alphanumeric", cents=FREE)
    world.set_rate("GB", "sms", status="coming_soon")
    account = story.account(number=SAM_IN_LONDON, balance_cents=2400)
    Holder.objects.update(whatsapp="yes")
    answer = run(story.agent(account), "get_setup_status")
    printed = example("get_setup_status")
    assert printed.pop("setup_url") == "https://app.breakpass.ai/start"
    assert answer.pop("setup_url").removesuffix("/") == f"{story.site}/start"
    assert answer == printed


def test_list_workflows_answers_its_example(agent: McpClient) -> None:
    answer = run(agent, "list_workflows")
    printed = example("list_workflows")
    assert answer == {**printed, "updated_at": "2026-10-03T09:00:00.000Z"}


@pytest.mark.parametrize(
    ("tool", "accepted_at"), [("send_whatsapp", 0), ("send_sms", 5), ("make_call", 5), ("start_workflow", 0)]
)
def test_each_sender_answers_its_example_and_a_repeat_is_the_same_alert(
    story: Story, account: Account, agent: McpClient, tool: str, accepted_at: int
) -> None:
    story.until(story.minute(accepted_at))
    answer, printed = run(agent, tool), example(tool)
    assert answer.keys() == printed.keys()
    assert same(answer, printed)
    # The same call again, as an agent that lost the answer makes it, is the same alert.
    again = run(agent, tool)
    assert again == {**answer, "idempotent_replay": True}
    assert account.alerts.count() == 1
    story.after(minutes=90)
    for message in story.sandbox.messages(SAM):
        story.text(SAM, message.channel if message.channel == "sms" else "whatsapp")
    for _ in story.sandbox.calls(SAM):
        story.call(SAM)
    assert account.alerts.get().ended_at is not None


def test_get_alert_status_answers_its_example(story: Story, agent: McpClient) -> None:
    alert_id = run(agent, "start_workflow")["alert_id"]
    story.after(seconds=20)
    story.phone(SAM).answer()
    story.after(seconds=20)
    assert story.phone(SAM).press("1") is True
    story.after(minutes=30)
    story.text(SAM, "whatsapp")
    story.call(SAM)
    answer, printed = run(agent, "get_alert_status", alert_ids=[alert_id]), example("get_alert_status")
    assert answer["alerts"][0]["alert_id"] == alert_id
    # The example prints the two attempts that happened.
    later = [answer["alerts"][0]["attempts"].pop() for _ in range(2)]
    assert [(one["seq"], one["status"], one["failure_code"]) for one in later] == [
        (4, "skipped", "ACKNOWLEDGED"),
        (3, "skipped", "ACKNOWLEDGED"),
    ]
    assert same(answer, printed)


def test_cancel_alert_answers_its_example(story: Story, agent: McpClient) -> None:
    story.phone(SAM).set_behaviour(call="decline")
    alert_id = run(agent, "start_workflow")["alert_id"]
    story.after(seconds=130)
    answer, printed = run(agent, "cancel_alert", alert_id=alert_id), example("cancel_alert")
    assert answer["alert_id"] == alert_id
    assert same(answer, printed)
    assert run(agent, "cancel_alert", alert_id=alert_id) == answer
    story.after(minutes=30)
    story.text(SAM, "whatsapp")
    assert [story.call(SAM).created_at - story.began_at for _ in range(3)] == [timedelta(minutes=m) for m in (0, 1, 2)]
