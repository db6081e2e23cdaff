"""A workflow in words, as an agent and an owner read it (seed 001, `summary` and `use_when`)."""

from collections.abc import Sequence
from typing import Final

from workflows.defaults import Definition
from workflows.plan import Step

# What each workflow is for; what it does follows from its steps.
PURPOSES: Final = {
    "inform": "The user only needs to know.",
    "acknowledge": "It matters that the user saw it.",
    "escalate": "The user must know or act before returning.",
}


def summary(definition: Definition) -> str:
    """One line on what the workflow does, for any steps."""
    groups = [timed(kind, minutes) for kind, minutes in by_kind(definition.steps)]
    what = capitalised("; ".join(groups))
    if definition.requires_ack:
        sentences = [f"{what}, then it stops; an acknowledgement stops it sooner."]
    elif len(definition.steps) == 1:
        sentences = [f"{what}.", "No acknowledgement."]
    else:
        sentences = [f"{what}, then it stops; the first delivery stops it sooner.", "No acknowledgement."]
    if definition.has_sms_fallback:
        sentences.append("One SMS if a WhatsApp message can't be delivered.")
    return " ".join(sentences)


def use_when(definition: Definition) -> str:
    """When an agent should pick the workflow: its purpose, and how often the person is contacted."""
    return f"{PURPOSES[definition.key]} {capitalised(effort(definition))}."


def effort(definition: Definition) -> str:
    """How often the person is contacted, without a full stop."""
    groups = by_kind(definition.steps)
    until = "until acknowledged" if definition.requires_ack else "until one is delivered"
    if len(definition.steps) == 1:
        when = "" if definition.steps[0].offset_min == 0 else f" after {counted(definition.steps[0].offset_min)}"
        return f"one {groups[0][0]}{when}, " + (until if definition.requires_ack else "no reply needed")
    if len(groups) == 1:
        return f"{tries(groups[0])}, {until}"
    at_once = [step.kind for step in definition.steps if step.offset_min == 0]
    later = [step for step in definition.steps if step.offset_min > 0]
    if definition.requires_ack and sorted(at_once) == ["call", "message"] and {s.kind for s in later} == {"call"}:
        calls = definition.count("call")
        then = "calls" if len(later) > 1 else "a call"
        return f"a message and a call at once, then {then} at {spaced(later)}; {calls} calls in all"
    return f"{' and '.join(tries(group) for group in groups)}, {until}"


def by_kind(steps: Sequence[Step]) -> list[tuple[str, list[int]]]:
    """The minutes of each kind of step, in the order in which the kinds first come."""
    groups: dict[str, list[int]] = {}
    for step in steps:
        groups.setdefault(step.kind, []).append(step.offset_min)
    return list(groups.items())


def timed(kind: str, minutes: Sequence[int]) -> str:
    """For example "message at minute 0" or "calls at minutes 0, 1 and 2"."""
    if len(minutes) == 1:
        return f"{kind} at minute {minutes[0]}"
    return f"{kind}s at minutes {listed(minutes)}"


def tries(group: tuple[str, Sequence[int]]) -> str:
    """For example "a call at 5 minutes" or "up to 3 messages, at 0, 10 and 30 minutes"."""
    kind, minutes = group
    if len(minutes) == 1:
        return f"a {kind} at {counted(minutes[0])}"
    return f"up to {len(minutes)} {kind}s, at {listed(minutes)} minutes"


def spaced(steps: Sequence[Step]) -> str:
    """For example "1 and 2 minutes"."""
    minutes = [step.offset_min for step in steps]
    return counted(minutes[0]) if len(minutes) == 1 else f"{listed(minutes)} minutes"


def counted(minutes: int) -> str:
    """For example "1 minute"."""
    return f"{minutes} minute" if minutes == 1 else f"{minutes} minutes"


def listed(numbers: Sequence[int]) -> str:
    """For example "0, 10 and 30"."""
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def capitalised(words: str) -> str:
    """The words as the start of a sentence; the rest stays as it is."""
    return words[:1].upper() + words[1:]
