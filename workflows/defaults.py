"""What a workflow says, and the three that every account starts with (seed 001, Workflows)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from workflows.plan import Step, steps_as_json, steps_from_json

MAX_STEPS: Final = 10
MAX_OFFSET_MIN: Final = 1440
MAX_ATTEMPTS: Final = 12
# Minutes that an acknowledgement may take after the last step, and after the only one.
ACK_GRACE_MIN: Final = 10
ACK_SINGLE_MIN: Final = 60
# Minutes in which a message may still be delivered when nobody is asked to acknowledge.
DELIVERY_MIN: Final = 75


@dataclass(frozen=True, slots=True)
class Definition:
    """One workflow of an account as saved: its steps and rules, for any recipient."""

    key: str
    name: str
    version: int
    steps: tuple[Step, ...]
    requires_ack: bool
    # The owner's switch; see `has_sms_fallback` for whether there is room for one.
    allows_sms_fallback: bool
    max_attempts: int

    @property
    def deadline_min(self) -> int:
        """Minutes from acceptance to the end of the alert (behaviour, Alerts)."""
        last = max(step.offset_min for step in self.steps)
        if not self.requires_ack:
            return last + DELIVERY_MIN
        return last + (ACK_SINGLE_MIN if len(self.steps) == 1 else ACK_GRACE_MIN)

    @property
    def has_sms_fallback(self) -> bool:
        """Whether one SMS may stand in for a message: it is an attempt of its own (seed 001, `sms_fallback`)."""
        return self.allows_sms_fallback and self.count("message") > 0 and len(self.steps) < self.max_attempts

    def count(self, kind: str) -> int:
        """How many steps are of this kind."""
        return sum(step.kind == kind for step in self.steps)

    def as_content(self) -> dict[str, Any]:
        """What a version of it says, for the owner's history."""
        return {
            "steps": steps_as_json(self.steps),
            "requires_ack": self.requires_ack,
            "has_sms_fallback": self.allows_sms_fallback,
            "max_attempts": self.max_attempts,
        }

    @classmethod
    def from_content(cls, key: str, version: int, content: Mapping[str, Any]) -> "Definition":
        """The definition that `as_content` described."""
        return cls(
            key=key,
            name=DEFAULTS[key].name,
            version=version,
            steps=steps_from_json(content["steps"]),
            requires_ack=content["requires_ack"],
            allows_sms_fallback=content["has_sms_fallback"],
            max_attempts=content["max_attempts"],
        )


INFORM: Final = Definition("inform", "Inform", 1, (Step(0, "message"),), False, True, 2)
ACKNOWLEDGE: Final = Definition(
    "acknowledge", "Acknowledge", 1, (Step(0, "message"), Step(10, "message"), Step(30, "message")), True, True, 4
)
ESCALATE: Final = Definition(
    "escalate", "Escalate", 1, (Step(0, "message"), Step(0, "call"), Step(1, "call"), Step(2, "call")), True, True, 5
)
DEFAULTS: Final[Mapping[str, Definition]] = MappingProxyType(
    {definition.key: definition for definition in (INFORM, ACKNOWLEDGE, ESCALATE)}
)
