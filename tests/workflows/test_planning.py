"""Plans: the channel of each step for one recipient, the deadline, and the worst case of the cost."""

from dataclasses import dataclass, replace

import pytest

from workflows.defaults import ACKNOWLEDGE, ESCALATE, INFORM, Definition
from workflows.plan import Plan, Price, Step
from workflows.planning import plan_direct, plan_workflow, unavailable_steps


@dataclass(frozen=True)
class Offered:
    is_available: bool
    full_cents: int = 0
    reduced_cents: int = 0


OFFERS = {"whatsapp": Offered(True, 3), "sms": Offered(True, 4), "call": Offered(True, 20, 5)}
NO_WHATSAPP = {**OFFERS, "whatsapp": Offered(False)}
NO_SMS = {**OFFERS, "sms": Offered(False)}
ONLY_CALL = {**NO_WHATSAPP, "sms": Offered(False)}


@pytest.mark.parametrize(
    ("definition", "deadline_min", "max_attempts", "cost"),
    [(INFORM, 75, 2, 3 + 4), (ACKNOWLEDGE, 40, 4, 3 * 3 + 4), (ESCALATE, 12, 5, 3 + 3 * 20 + 4)],
)
def test_the_defaults_have_the_contracts_deadlines_and_attempts(
    definition: Definition, deadline_min: int, max_attempts: int, cost: int
) -> None:
    plan = plan_workflow(definition, OFFERS)
    assert plan.deadline_min == deadline_min
    assert plan.max_attempts == max_attempts
    assert plan.has_sms_fallback is True
    assert plan.max_cost_cents == cost
    assert plan.prices == {"whatsapp": Price(3, 0), "sms": Price(4, 0), "call": Price(20, 5)}


@pytest.mark.parametrize(
    ("steps", "requires_ack", "deadline_min"),
    [
        ((Step(0, "message"),), True, 60),
        ((Step(0, "call"),), True, 60),
        ((Step(0, "message"), Step(1440, "call")), True, 1450),
        ((Step(0, "message"), Step(20, "message")), False, 95),
    ],
)
def test_the_deadline_follows_the_last_step(steps: tuple[Step, ...], requires_ack: bool, deadline_min: int) -> None:
    definition = replace(INFORM, steps=steps, requires_ack=requires_ack)
    assert definition.deadline_min == deadline_min


def test_messages_go_by_sms_where_whatsapp_cannot_be_used_and_then_nothing_falls_back() -> None:
    plan = plan_workflow(ESCALATE, NO_WHATSAPP)
    assert [step.channel for step in plan.steps] == ["sms", "call", "call", "call"]
    assert plan.has_sms_fallback is False
    assert plan.max_cost_cents == 4 + 3 * 20
    assert unavailable_steps(plan, NO_WHATSAPP) == []


def test_without_sms_there_is_no_fallback_and_no_price_for_it() -> None:
    plan = plan_workflow(INFORM, NO_SMS)
    assert plan.has_sms_fallback is False
    assert plan.max_cost_cents == 3
    assert plan.price_of("sms") == Price(0)


def test_steps_that_have_no_channel_are_named() -> None:
    plan = plan_workflow(ESCALATE, ONLY_CALL)
    assert unavailable_steps(plan, ONLY_CALL) == [{"offset_min": 0, "kind": "message", "channel": "whatsapp"}]


def test_only_an_acknowledging_workflow_numbers_its_messages() -> None:
    numbered = plan_workflow(ACKNOWLEDGE, OFFERS)
    assert [step.reminder for step in numbered.steps] == ["", "Reminder 2 of 3: ", "Reminder 3 of 3: "]
    plain = plan_workflow(replace(ACKNOWLEDGE, requires_ack=False), OFFERS)
    assert [step.reminder for step in plain.steps] == ["", "", ""]
    assert [step.reminder for step in plan_workflow(ESCALATE, OFFERS).steps] == ["", "", "", ""]


def test_steps_that_fill_the_attempts_leave_no_fallback() -> None:
    full = replace(ACKNOWLEDGE, max_attempts=3)
    assert full.has_sms_fallback is False
    assert plan_workflow(full, OFFERS).has_sms_fallback is False


@pytest.mark.parametrize(("requires_ack", "deadline_min"), [(True, 60), (False, 75)])
def test_a_direct_send_is_a_plan_of_one_step(requires_ack: bool, deadline_min: int) -> None:
    plan = plan_direct("call", OFFERS, requires_ack=requires_ack)
    assert [(step.kind, step.channel, step.offset_min) for step in plan.steps] == [("call", "call", 0)]
    assert (plan.workflow_id, plan.deadline_min, plan.max_cost_cents) == (None, deadline_min, 20)
    assert (plan.has_sms_fallback, plan.max_attempts) == (False, 1)


def test_a_setup_test_costs_nothing() -> None:
    plan = plan_direct("sms", OFFERS, requires_ack=True, is_free=True)
    assert plan.max_cost_cents == 0
    assert plan.price_of("sms") == Price(0)


def test_a_stored_plan_comes_back_as_it_was() -> None:
    plan = plan_workflow(ACKNOWLEDGE, OFFERS)
    assert Plan.from_json(plan.as_json()) == plan
