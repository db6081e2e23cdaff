"""What an alert will do, as frozen data: the workflow's steps, and the plan that one alert snapshots. No Django."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["message", "call"]
Channel = Literal["whatsapp", "sms", "call"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a saved workflow: what to do, minutes from the first alert."""

    offset_min: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Price:
    """US cents of one channel when the alert was accepted: full, and for a call nobody picks up."""

    full_cents: int
    reduced_cents: int = 0


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step as it runs for one recipient."""

    seq: int
    offset_min: int
    kind: Kind
    channel: Channel
    # "Reminder 2 of 3: " before the text, or nothing.
    reminder: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The snapshot an alert follows (seed 001, `start_workflow`). A direct send is a plan of one step."""

    workflow_id: str | None
    name: str
    version: int
    steps: tuple[PlannedStep, ...]
    requires_ack: bool
    # One SMS after a confirmed WhatsApp failure: the workflow allows it and SMS is offered at acceptance.
    has_sms_fallback: bool
    max_attempts: int
    # Minutes from acceptance to the end of the alert, whatever happens. For a direct send without
    # acknowledgement an inner limit that no answer shows.
    deadline_min: int
    prices: Mapping[str, Price]
    max_cost_cents: int

    def price_of(self, channel: str) -> Price:
        """The price of a channel; zero for a channel that was not offered when the plan was made."""
        return self.prices.get(channel, Price(0))

    def as_json(self) -> dict[str, Any]:
        """The plan as it is stored with its alert."""
        return {
            "workflow_id": self.workflow_id,
            "name": self.name,
            "version": self.version,
            "steps": [[s.seq, s.offset_min, s.kind, s.channel, s.reminder] for s in self.steps],
            "requires_ack": self.requires_ack,
            "has_sms_fallback": self.has_sms_fallback,
            "max_attempts": self.max_attempts,
            "deadline_min": self.deadline_min,
            "prices": {channel: [p.full_cents, p.reduced_cents] for channel, p in self.prices.items()},
            "max_cost_cents": self.max_cost_cents,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Plan":
        """The stored plan, as it was accepted."""
        return cls(
            workflow_id=data["workflow_id"],
            name=data["name"],
            version=data["version"],
            steps=tuple(PlannedStep(*step) for step in data["steps"]),
            requires_ack=data["requires_ack"],
            has_sms_fallback=data["has_sms_fallback"],
            max_attempts=data["max_attempts"],
            deadline_min=data["deadline_min"],
            prices={channel: Price(*pair) for channel, pair in data["prices"].items()},
            max_cost_cents=data["max_cost_cents"],
        )


def steps_from_json(data: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    """The steps of a saved workflow row."""
    return tuple(Step(step["offset_min"], step["kind"]) for step in data)


def steps_as_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """The steps as a saved workflow row keeps them."""
    return [{"offset_min": step.offset_min, "kind": step.kind} for step in steps]
