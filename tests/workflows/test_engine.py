"""The engine as tables: what happens next, without a database."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.defaults import ACKNOWLEDGE, ESCALATE, INFORM, Definition
from workflows.engine import Finish, Send, Tried, Wait, at_deadline, decide, superseded
from workflows.plan import Plan, PlannedStep, Price

CENTS = {"whatsapp": Price(3), "sms": Price(4), "call": Price(20, 5)}


def plan_of(definition: Definition, **changes: Any) -> Plan:
    steps = tuple(
        PlannedStep(seq, step.offset_min, step.kind, "call" if step.kind == "call" else "whatsapp")
        for seq, step in enumerate(definition.steps, start=1)
    )
    plan = Plan(
        workflow_id=definition.key,
        name=definition.name,
        version=1,
        steps=steps,
        requires_ack=definition.requires_ack,
        has_sms_fallback=definition.has_sms_fallback,
        max_attempts=definition.max_attempts,
        deadline_min=definition.deadline_min,
        prices=CENTS,
        max_cost_cents=0,
    )
    return replace(plan, **changes)


def message(seq: int, status: str, *, minute: int = 0, channel: str = "whatsapp", **more: Any) -> Tried:
    return Tried(seq, "message", channel, status, offset_min=minute, **more)


def call(seq: int, status: str, *, minute: int = 0, **more: Any) -> Tried:
    return Tried(seq, "call", "call", status, offset_min=minute, **more)


def failed(seq: int, reason: str, *, minute: int = 0, channel: str = "whatsapp", falls_back: bool = True) -> Tried:
    return Tried(seq, "message", channel, "failed", "DELIVERY_FAILED", reason, falls_back, minute)


def fallback(seq: int, status: str, **more: Any) -> Tried:
    return Tried(seq, "fallback", "sms", status, **more)


INF, A, E = plan_of(INFORM), plan_of(ACKNOWLEDGE), plan_of(ESCALATE)
I_TWICE = plan_of(replace(ACKNOWLEDGE, requires_ack=False))
UNSENT = [message(2, "scheduled", minute=10), message(3, "scheduled", minute=30)]
CALLS = [call(2, "no_answer"), call(3, "no_answer", minute=1), call(4, "busy", minute=2)]


@pytest.mark.parametrize(
    ("plan", "tried", "expected"),
    [
        # Without acknowledgement the first delivery ends it.
        (INF, [message(1, "scheduled")], Wait()),
        (INF, [message(1, "sending")], Wait()),
        (INF, [message(1, "sent")], Wait()),
        (INF, [message(1, "delivered")], Finish("delivered")),
        (INF, [message(1, "read")], Finish("delivered")),
        (INF, [message(1, "delivered_unconfirmed", channel="sms")], Finish("delivered")),
        (I_TWICE, [message(1, "delivered"), *UNSENT], Finish("delivered")),
        (I_TWICE, [failed(1, "R09", falls_back=False), *UNSENT], Wait()),
        # The fallback goes once, after a confirmed failure that allows it.
        (INF, [failed(1, "R04")], Send(seq=2, offset_min=0)),
        (INF, [failed(1, "R02", falls_back=False)], Finish("failed", "DELIVERY_FAILED", "R02")),
        (INF, [failed(1, "R04"), fallback(2, "scheduled")], Wait()),
        (INF, [failed(1, "R04"), fallback(2, "sent")], Wait()),
        (INF, [failed(1, "R04"), fallback(2, "delivered")], Finish("delivered")),
        (
            INF,
            [failed(1, "R04"), fallback(2, "failed", failure_code="DELIVERY_FAILED", failure_reason="R06")],
            Finish("failed", "DELIVERY_FAILED", "R06"),
        ),
        (INF, [message(1, "skipped", failure_code="SERVICE_PAUSED")], Finish("failed", "SERVICE_PAUSED")),
        (INF, [failed(1, "R01", channel="sms")], Finish("failed", "DELIVERY_FAILED", "R01")),
        (plan_of(INFORM, has_sms_fallback=False), [failed(1, "R04")], Finish("failed", "DELIVERY_FAILED", "R04")),
        (plan_of(INFORM, max_attempts=1), [failed(1, "R04")], Finish("failed", "DELIVERY_FAILED", "R04")),
        # With acknowledgement a delivery is not the end, and neither is the last attempt.
        (A, [message(1, "delivered"), *UNSENT], Wait()),
        (
            A,
            [message(1, "delivered"), message(2, "read", minute=10), message(3, "delivered", minute=30)],
            Wait(),
        ),
        (A, [message(1, "delivered"), failed(2, "R11", minute=10), UNSENT[1]], Send(seq=4, offset_min=10)),
        (
            A,
            [
                failed(1, "R11", falls_back=False),
                failed(2, "R11", minute=10, falls_back=False),
                failed(3, "R10", minute=30, falls_back=False),
            ],
            Finish("failed", "DELIVERY_FAILED", "R10"),
        ),
        # A call nobody picked up has no reason; it is the last thing that happened, whatever its number.
        (E, [failed(1, "R11", falls_back=False), *CALLS], Finish("failed", "NOT_ANSWERED")),
        (
            E,
            [
                failed(1, "R04"),
                *CALLS,
                fallback(5, "failed", failure_code="DELIVERY_FAILED", failure_reason="R06", offset_min=0),
            ],
            Finish("failed", "NOT_ANSWERED"),
        ),
        (E, [message(1, "delivered"), *CALLS], Wait()),
        (E, [failed(1, "R11", falls_back=False), call(2, "answered"), *CALLS[1:]], Wait()),
        (
            E,
            [failed(1, "R11", falls_back=False), *CALLS[:2], call(4, "failed", minute=2, failure_reason="R09")],
            Finish("failed", "DELIVERY_FAILED", "R09"),
        ),
        # An empty balance ends it at once, even while something else is on its way or was delivered.
        (
            E,
            [
                message(1, "delivered"),
                call(2, "no_answer"),
                call(3, "skipped", minute=1, failure_code="INSUFFICIENT_BALANCE"),
                call(4, "scheduled", minute=2),
            ],
            Finish("failed", "INSUFFICIENT_BALANCE"),
        ),
        (
            I_TWICE,
            [message(1, "sent"), message(2, "skipped", minute=10, failure_code="INSUFFICIENT_BALANCE"), UNSENT[1]],
            Finish("failed", "INSUFFICIENT_BALANCE"),
        ),
        # What was skipped only because of the failure before it does not hide that failure.
        (
            A,
            [
                failed(1, "R02", falls_back=False),
                message(2, "skipped", minute=10, failure_code="CHANNEL_UNAVAILABLE"),
                message(3, "skipped", minute=30, failure_code="CHANNEL_UNAVAILABLE"),
            ],
            Finish("failed", "DELIVERY_FAILED", "R02"),
        ),
        (
            A,
            [
                failed(1, "R11", falls_back=False),
                message(2, "skipped", minute=10, failure_code="SERVICE_PAUSED"),
                message(3, "skipped", minute=30, failure_code="ACCOUNT_SUSPENDED"),
            ],
            Finish("failed", "ACCOUNT_SUSPENDED"),
        ),
    ],
)
def test_the_engine_decides_by_the_table(plan: Plan, tried: list[Tried], expected: object) -> None:
    assert decide(plan, tried, fallback_fits=True) == expected


def test_a_text_that_does_not_fit_one_sms_gets_no_fallback() -> None:
    assert decide(INF, [failed(1, "R04")], fallback_fits=False) == Finish("failed", "DELIVERY_FAILED", "R04")


@pytest.mark.parametrize(
    ("plan", "tried", "expected"),
    [
        (A, [message(1, "delivered"), message(2, "sent", minute=10)], Finish("expired")),
        (A, [message(1, "delivered_unconfirmed", channel="sms")], Finish("expired")),
        (E, [failed(1, "R11"), call(2, "answered"), call(3, "no_answer", minute=1)], Finish("expired")),
        (A, [message(1, "sent"), message(2, "sent", minute=10)], Finish("failed", "DEADLINE_PASSED", "R14")),
        (INF, [message(1, "sent")], Finish("failed", "DEADLINE_PASSED", "R14")),
        (INF, [message(1, "delivered")], Finish("delivered")),
        (A, [failed(1, "R11"), message(2, "sent", minute=10)], Finish("failed", "DELIVERY_FAILED", "R11")),
        (E, [message(1, "sent"), call(2, "no_answer"), call(3, "ringing", minute=1)], Finish("failed", "NOT_ANSWERED")),
        (
            A,
            [message(seq, "skipped", minute=seq, failure_code="DEADLINE_PASSED") for seq in (1, 2, 3)],
            Finish("failed", "DEADLINE_PASSED", "R14"),
        ),
    ],
)
def test_the_deadline_ends_an_alert_by_the_table(plan: Plan, tried: list[Tried], expected: Finish) -> None:
    assert at_deadline(plan, tried) == expected


def test_after_an_outage_only_the_latest_overdue_step_of_each_kind_goes() -> None:
    tried = [message(1, "scheduled"), *(call(seq, "scheduled", minute=seq - 2) for seq in (2, 3, 4))]
    assert superseded(E, tried, elapsed_min=1.5) == {2: "SUPERSEDED"}
    assert superseded(E, tried, elapsed_min=11.9) == {2: "SUPERSEDED", 3: "SUPERSEDED"}


def test_steps_of_one_minute_and_steps_that_are_not_due_stay() -> None:
    tried = [message(1, "scheduled"), call(2, "scheduled"), call(3, "scheduled", minute=1)]
    assert superseded(E, tried, elapsed_min=0.99) == {}


def test_what_was_sent_is_never_superseded() -> None:
    tried = [message(1, "delivered"), message(2, "sending", minute=10), message(3, "scheduled", minute=30)]
    assert superseded(A, tried, elapsed_min=31) == {}


def test_past_the_deadline_every_unsent_step_is_too_late_and_the_fallback_with_it() -> None:
    tried = [failed(1, "R04"), message(2, "scheduled", minute=10), message(3, "scheduled", minute=30)]
    expected = {2: "DEADLINE_PASSED", 3: "DEADLINE_PASSED", 4: "DEADLINE_PASSED"}
    assert superseded(A, [*tried, fallback(4, "scheduled")], elapsed_min=40) == expected
    assert superseded(A, [*tried, fallback(4, "scheduled")], elapsed_min=39.9) == {2: "SUPERSEDED"}


MOVES = {
    "scheduled": ["sending", "skipped"],
    "sending": ["sent", "failed"],
    "sent": ["delivered", "failed"],
    "ringing": ["answered", "no_answer", "busy", "failed"],
}
CODES = {"failed": "DELIVERY_FAILED", "skipped": "SERVICE_PAUSED"}


@given(plan=st.sampled_from([INF, A, E, I_TWICE]), data=st.data())
def test_any_course_ends_in_exactly_one_terminal_state(plan: Plan, data: st.DataObject) -> None:
    """Random reports, until nothing is left to come: one fallback at most, and after `Finish` nothing changes it."""
    tried = {
        step.seq: Tried(step.seq, step.kind, step.channel, "scheduled", offset_min=step.offset_min)
        for step in plan.steps
    }
    fallbacks = 0
    for _ in range(60):
        verdict = decide(plan, list(tried.values()), fallback_fits=data.draw(st.booleans()))
        if isinstance(verdict, Finish):
            assert verdict.status in ("delivered", "failed")
            assert bool(verdict.failure_code) == (verdict.status == "failed")
            assert (verdict.status == "delivered") <= (not plan.requires_ack)
            return
        if isinstance(verdict, Send):
            fallbacks += 1
            assert verdict.seq not in tried
            tried[verdict.seq] = Tried(verdict.seq, verdict.kind, verdict.channel, "scheduled")
            continue
        open_seqs = sorted(seq for seq, one in tried.items() if one.status in MOVES)
        if not open_seqs:
            assert plan.requires_ack
            assert at_deadline(plan, list(tried.values())).status == "expired"
            break
        one = tried[data.draw(st.sampled_from(open_seqs))]
        targets = ["ringing", "failed"] if (one.kind, one.status) == ("call", "sending") else MOVES[one.status]
        status = data.draw(st.sampled_from(targets))
        tried[one.seq] = replace(
            one, status=status, failure_code=CODES.get(status, ""), allows_fallback=data.draw(st.booleans())
        )
    assert fallbacks <= 1
    assert len(tried) <= plan.max_attempts
