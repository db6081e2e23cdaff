"""What happens next in an alert: one pure decision over its plan and its attempts. No Django, no clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from workflows.plan import Channel, Plan

SCHEDULED: Final = "scheduled"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"
# The person's phone got it: a carrier's word, or an SMS without a receipt that was never refused.
REACHED: Final = frozenset({"delivered", "delivered_unconfirmed", "read", "answered"})
NOT_PICKED_UP: Final = frozenset({"no_answer", "busy"})
PENDING: Final = frozenset({SCHEDULED, "sending", "sent", "ringing"})

INSUFFICIENT_BALANCE: Final = "INSUFFICIENT_BALANCE"
NOT_ANSWERED: Final = "NOT_ANSWERED"
DELIVERY_FAILED: Final = "DELIVERY_FAILED"
SUPERSEDED: Final = "SUPERSEDED"
DEADLINE_PASSED: Final = "DEADLINE_PASSED"
TOO_LATE_REASON: Final = "R14"
# Steps skipped with these say less about the alert than the failure before them.
CONSEQUENCES: Final = frozenset({SUPERSEDED, DEADLINE_PASSED, "CHANNEL_UNAVAILABLE", "TEXT_TOO_LONG"})

FinalStatus = Literal["delivered", "failed", "expired"]


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt of the alert as it is now, unsent ones included. `allows_fallback`: by its reason (R01…R15)."""

    seq: int
    kind: str
    channel: str
    status: str
    failure_code: str = ""
    failure_reason: str = ""
    allows_fallback: bool = False
    offset_min: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands in the alert's course: a fallback stands with the minute it stood in for."""
        return self.offset_min, self.seq


@dataclass(frozen=True, slots=True)
class Send:
    """Send the one SMS fallback now, as attempt `seq`, standing in for a step of `offset_min`."""

    seq: int
    offset_min: int
    kind: Literal["fallback"] = "fallback"
    channel: Channel = "sms"


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do: a report, a due step, an acknowledgement or the deadline comes next."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The alert ends. The failure is set exactly when the status is `failed`; a reason may be missing even then."""

    status: FinalStatus
    failure_code: str = ""
    failure_reason: str = ""


def decide(plan: Plan, tried: Sequence[Tried], *, fallback_fits: bool) -> Send | Wait | Finish:
    """What comes next for an open alert (seed 001, Workflows; behaviour, Alerts and Money).

    `fallback_fits`: whether the text fits the one SMS that may stand in for a WhatsApp message. Acknowledgement,
    cancelling and opting out end an alert before this is asked.
    """
    reached = any(one.status in REACHED for one in tried)
    if reached and not plan.requires_ack:
        return Finish("delivered")
    if any(one.status == SKIPPED and one.failure_code == INSUFFICIENT_BALANCE for one in tried):
        return Finish("failed", INSUFFICIENT_BALANCE)
    replaced = replaceable(plan, tried) if fallback_fits else None
    if replaced is not None:
        return Send(seq=max(one.seq for one in tried) + 1, offset_min=replaced.offset_min)
    if reached or not tried or any(one.status in PENDING for one in tried):
        return Wait()
    return known_failure(tried) or Finish("failed", DELIVERY_FAILED)


def at_deadline(plan: Plan, tried: Sequence[Tried]) -> Finish:
    """How the alert ends when its deadline passes: nobody acknowledged, or nothing arrived (behaviour, Alerts)."""
    if any(one.status in REACHED for one in tried):
        return Finish("expired") if plan.requires_ack else Finish("delivered")
    happened = [one for one in tried if one.status not in PENDING and one.failure_code not in CONSEQUENCES]
    return known_failure(happened) or Finish("failed", DEADLINE_PASSED, TOO_LATE_REASON)


def superseded(plan: Plan, tried: Sequence[Tried], *, elapsed_min: float) -> Mapping[int, str]:
    """The unsent steps that must not go any more, as seq -> failure code; `elapsed_min` counts from acceptance.

    Past the alert's deadline no step goes (`DEADLINE_PASSED`). Of overdue steps of one kind and different minutes only
    the latest goes (`SUPERSEDED`), so that an outage of hours ends in one message and one call, not in a volley.
    """
    unsent = [one for one in tried if one.status == SCHEDULED and one.kind != "fallback"]
    if elapsed_min >= plan.deadline_min:
        return {one.seq: DEADLINE_PASSED for one in tried if one.status == SCHEDULED}
    overdue = [one for one in unsent if one.offset_min <= elapsed_min]
    latest: dict[str, int] = {}
    for one in overdue:
        latest[one.kind] = max(one.offset_min, latest.get(one.kind, 0))
    return {one.seq: SUPERSEDED for one in overdue if one.offset_min < latest[one.kind]}


def replaceable(plan: Plan, tried: Sequence[Tried]) -> Tried | None:
    """The WhatsApp message for which the SMS fallback may go now: confirmed failed, and none went before."""
    if not plan.has_sms_fallback or len(tried) >= plan.max_attempts:
        return None
    if any(one.kind == "fallback" for one in tried):
        return None
    failed = [
        one
        for one in tried
        if one.kind == "message" and one.channel == "whatsapp" and one.status == FAILED and one.allows_fallback
    ]
    return min(failed, key=lambda one: one.place, default=None)


def known_failure(tried: Sequence[Tried]) -> Finish | None:
    """The failure an alert ends with: its last attempt's own; None when none of them failed.

    A call nobody picked up reads NOT_ANSWERED without a reason; a step that was skipped carries its code.
    """
    over = sorted((one for one in tried if one.status not in PENDING | REACHED), key=lambda one: one.place)
    telling = [one for one in over if one.status != SKIPPED or one.failure_code not in CONSEQUENCES] or over
    if not telling:
        return None
    last = telling[-1]
    if last.status in NOT_PICKED_UP:
        return Finish("failed", NOT_ANSWERED)
    return Finish("failed", last.failure_code or DELIVERY_FAILED, last.failure_reason)
