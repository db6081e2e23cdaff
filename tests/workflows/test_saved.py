"""Saved workflows: versions, what may be saved, and what an agent is listed."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.locking import locked
from accounts.models import Account, Holder, Number
from breakpass.errors import Refusal
from tests import world
from tests.world import NOW
from workflows import saved
from workflows.defaults import ACKNOWLEDGE, DEFAULTS, INFORM, Definition
from workflows.listing import list_workflows
from workflows.models import Workflow, WorkflowVersion
from workflows.plan import Step

pytestmark = pytest.mark.django_db
TWO = [Step(0, "message"), Step(5, "call")]


def save(account: Account, key: str = "inform", *, now: Any = NOW, **changes: Any) -> Definition:
    wanted = {"steps": TWO, "requires_ack": True, "has_sms_fallback": True, "max_attempts": 3, **changes}
    with locked(account.pk) as held:
        return saved.save(held, key, now=now, **wanted)


def test_without_a_row_a_workflow_is_its_default_and_costs_no_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    account = world.open_account()
    with django_assert_num_queries(0):
        assert saved.definition_of(account, "inform") == INFORM
        assert saved.definitions(account) == list(DEFAULTS.values())


def test_saving_makes_a_new_version_of_the_workflow_and_of_the_set() -> None:
    account = world.open_account()
    first = save(account)
    assert first == Definition("inform", "Inform", 2, tuple(TWO), True, True, 3)
    second = save(account, has_sms_fallback=False, now=NOW + timedelta(hours=1))
    account.refresh_from_db()
    assert (second.version, account.workflows_version) == (3, 3)
    assert account.workflows_updated_at == NOW + timedelta(hours=1)
    assert saved.definition_of(account, "inform") == second
    assert saved.definitions(account) == [second, *list(DEFAULTS.values())[1:]]
    assert [(old.version, at) for old, at in saved.history(account, "inform")] == [
        (3, NOW + timedelta(hours=1)),
        (2, NOW),
        (1, account.created_at),
    ]
    assert saved.history(account, "inform")[2][0] == INFORM
    assert saved.history(account, "escalate") == []


def test_saving_what_is_there_changes_nothing() -> None:
    account = world.open_account()
    same = save(account, steps=INFORM.steps, requires_ack=False, has_sms_fallback=True, max_attempts=2)
    account.refresh_from_db()
    assert (same, account.workflows_version) == (INFORM, 1)
    assert not Workflow.objects.exists()
    save(account)
    save(account)
    account.refresh_from_db()
    assert account.workflows_version == 2
    assert WorkflowVersion.objects.count() == 2


def test_the_default_can_be_had_back_as_a_new_version() -> None:
    account = world.open_account()
    save(account, "acknowledge")
    with locked(account.pk) as held:
        back = saved.restore_default(held, "acknowledge", now=NOW)
    assert (back.version, back.as_content()) == (3, ACKNOWLEDGE.as_content())


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"steps": []}, "steps"),
        ({"steps": [Step(minute, "message") for minute in range(11)], "max_attempts": 12}, "steps"),
        ({"steps": [Step(-1, "message")]}, "steps"),
        ({"steps": [Step(1441, "message")]}, "steps"),
        ({"steps": [Step(5, "message"), Step(0, "call")]}, "steps"),
        ({"steps": [Step(0, "call"), Step(0, "call")]}, "steps"),
        ({"steps": [Step(0, "fax")]}, "steps"),  # type: ignore[arg-type]  # the wrong word is the point
        ({"max_attempts": 1}, "max_attempts"),
        ({"max_attempts": 13}, "max_attempts"),
    ],
)
def test_what_no_workflow_may_be_is_refused_and_not_saved(changes: dict[str, Any], field: str) -> None:
    account = world.open_account()
    with pytest.raises(Refusal) as caught:
        save(account, **changes)
    assert (caught.value.code, caught.value.details) == ("CONTENT_REJECTED", {"field": field, "rule": "format"})
    account.refresh_from_db()
    assert account.workflows_version == 1
    assert not Workflow.objects.exists()


def test_ten_steps_over_a_whole_day_may_be_saved() -> None:
    steps = [Step(minute * 160, "message") for minute in range(10)]
    assert save(world.open_account(), steps=steps, max_attempts=12).deadline_min == 1450


def test_the_list_is_priced_for_the_owner_unless_someone_is_named(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    account = world.open_account()
    world.offer("GB", cents={"whatsapp": (7, 0), "sms": (9, 0), "call": (30, 10)})
    world.add_person(account, "Ada", number=world.LONDON_NUMBER)
    with django_assert_max_num_queries(4):
        answer = list_workflows(account, None, now=NOW)
    assert {name: answer[name] for name in ("version", "updated_at", "recipient", "decision_model")} == {
        "version": 1,
        "updated_at": "2026-09-03T19:00:00.000Z",
        "recipient": "Sam",
        "decision_model": None,
    }
    assert [each["max_cost_cents"] for each in answer["workflows"]] == [7, 13, 67]
    assert answer["workflows"][0] == {
        "workflow_id": "inform",
        "name": "Inform",
        "summary": "Message at minute 0. No acknowledgement. One SMS if a WhatsApp message can't be delivered.",
        "use_when": "The user only needs to know. One message, no reply needed.",
        "version": 1,
        "steps": [{"offset_min": 0, "kind": "message", "channel": "whatsapp"}],
        "ack_required_default": False,
        "requires_acknowledgement": False,
        "sms_fallback": True,
        "max_attempts": 2,
        "deadline_min": 75,
        "max_cost_cents": 7,
        "available": True,
        "editable_in": "portal",
    }
    named = list_workflows(account, "ADA", now=NOW)
    assert (named["recipient"], [each["max_cost_cents"] for each in named["workflows"]]) == ("Ada", [16, 30, 106])
    assert list_workflows(account, " Owner ", now=NOW)["recipient"] == "owner"


def test_the_list_follows_what_the_recipient_can_get() -> None:
    account = world.open_account()
    Holder.objects.update(whatsapp="no")
    world.set_rate("US", "call", status="unavailable")
    answer = list_workflows(account, None, now=NOW)
    assert [each["available"] for each in answer["workflows"]] == [True, True, False]
    assert answer["workflows"][0]["steps"][0]["channel"] == "sms"
    assert answer["workflows"][0]["max_cost_cents"] == 4


def test_before_the_owner_has_a_number_the_list_is_there_and_nothing_is_available() -> None:
    account = world.open_account()
    Number.objects.all().delete()
    answer = list_workflows(account, None, now=NOW)
    assert answer["recipient"] == "Sam"
    assert [each["available"] for each in answer["workflows"]] == [False, False, False]
    with pytest.raises(Refusal) as caught:
        list_workflows(account, "Bob", now=NOW)
    assert caught.value.code == "RECIPIENT_NOT_FOUND"


def test_the_decision_model_is_listed_only_when_it_is_on() -> None:
    account = world.open_account(is_matrix_enabled=True, urgency_threshold=7, importance_threshold=5)
    assert list_workflows(account, None, now=NOW)["decision_model"] == {
        "matrix_enabled": True,
        "urgency_threshold": 7,
        "importance_threshold": 5,
    }
