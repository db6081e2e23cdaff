"""The owner's saved workflows: reading them, and saving a new version (behaviour, Alerts)."""

from collections.abc import Sequence
from datetime import datetime

from accounts.models import Account
from breakpass.errors import Refusal
from breakpass.text import rejection
from workflows.defaults import DEFAULTS, MAX_ATTEMPTS, MAX_OFFSET_MIN, MAX_STEPS, Definition
from workflows.models import Workflow, WorkflowVersion
from workflows.plan import Step, steps_as_json, steps_from_json


def check_key(key: str) -> None:
    """Refuse an id that is none of the workflows: WORKFLOW_NOT_FOUND with the valid ids."""
    if key not in DEFAULTS:
        raise Refusal(
            "WORKFLOW_NOT_FOUND",
            "There is no workflow with this id. Use one that list_workflows returns.",
            details={"available": list(DEFAULTS)},
        )


def definition_of(account: Account, key: str) -> Definition:
    """The workflow as it is now; without a row it is the default, version 1. Refuses WORKFLOW_NOT_FOUND."""
    check_key(key)
    row = account.workflows.filter(key=key).first() if was_ever_saved(account) else None
    return DEFAULTS[key] if row is None else read(row)


def definitions(account: Account) -> list[Definition]:
    """All workflows of the account, in the order in which they are always listed. One query at most."""
    rows = {row.key: row for row in account.workflows.all()} if was_ever_saved(account) else {}
    return [read(rows[key]) if key in rows else DEFAULTS[key] for key in DEFAULTS]


def was_ever_saved(account: Account) -> bool:
    """Whether any workflow has a row: every save counts the account's version up, so most accounts need no query."""
    return account.workflows_version > 1


def read(row: Workflow) -> Definition:
    """The row as frozen data."""
    return Definition(
        key=row.key,
        name=row.name,
        version=row.version,
        steps=steps_from_json(row.steps),
        requires_ack=row.requires_ack,
        allows_sms_fallback=row.has_sms_fallback,
        max_attempts=row.max_attempts,
    )


def save(
    account: Account,
    key: str,
    *,
    steps: Sequence[Step],
    requires_ack: bool,
    has_sms_fallback: bool,
    max_attempts: int,
    now: datetime,
) -> Definition:
    """Save a new version of a workflow; saving what it already says changes nothing. Needs the locked account.

    Alerts that run keep the version they started with. Refuses CONTENT_REJECTED, field `steps` or `max_attempts`.
    """
    before = definition_of(account, key)
    check_steps(steps)
    check_attempts(max_attempts, len(steps))
    after = Definition(key, before.name, before.version + 1, tuple(steps), requires_ack, has_sms_fallback, max_attempts)
    if after.as_content() == before.as_content():
        return before
    row, is_first = Workflow.objects.update_or_create(
        account=account,
        key=key,
        defaults={
            "name": after.name,
            "version": after.version,
            "steps": steps_as_json(after.steps),
            "requires_ack": requires_ack,
            "has_sms_fallback": has_sms_fallback,
            "max_attempts": max_attempts,
            "updated_at": now,
        },
    )
    if is_first:
        # The default was version 1: the history starts with what it said.
        row.versions.create(version=before.version, content=before.as_content(), created_at=account.created_at)
    row.versions.create(version=after.version, content=after.as_content(), created_at=now)
    account.workflows_version += 1
    account.workflows_updated_at = now
    account.save(update_fields=["workflows_version", "workflows_updated_at"])
    return after


def restore_default(account: Account, key: str, *, now: datetime) -> Definition:
    """Save what the workflow said at first as a new version. Needs the locked account."""
    check_key(key)
    default = DEFAULTS[key]
    return save(
        account,
        key,
        steps=default.steps,
        requires_ack=default.requires_ack,
        has_sms_fallback=default.allows_sms_fallback,
        max_attempts=default.max_attempts,
        now=now,
    )


def history(account: Account, key: str) -> list[tuple[Definition, datetime]]:
    """Every version the workflow ever had with the time it was saved, newest first; empty while it is the default."""
    check_key(key)
    rows = WorkflowVersion.objects.filter(workflow__account=account, workflow__key=key).order_by("-version")
    return [(Definition.from_content(key, row.version, row.content), row.created_at) for row in rows]


def check_steps(steps: Sequence[Step]) -> None:
    """Refuse steps that no workflow may have: 1 to 10, minutes 0 to 1440 in order, one of a kind a minute."""
    if not 1 <= len(steps) <= MAX_STEPS:
        raise rejection("steps", "format", f"A workflow has 1 to {MAX_STEPS} steps.")
    if any(step.kind not in ("message", "call") for step in steps):
        raise rejection("steps", "format", "A step is a message or a call.")
    minutes = [step.offset_min for step in steps]
    if min(minutes) < 0 or max(minutes) > MAX_OFFSET_MIN:
        raise rejection("steps", "format", f"A step's minute is between 0 and {MAX_OFFSET_MIN}.")
    if minutes != sorted(minutes):
        raise rejection("steps", "format", "Steps stand in the order of their minutes.")
    if len(set(steps)) < len(steps):
        raise rejection("steps", "format", "Two messages, or two calls, can't go at the same minute.")


def check_attempts(max_attempts: int, steps: int) -> None:
    """Refuse a number of attempts that the steps exceed, or that is over 12."""
    if not steps <= max_attempts <= MAX_ATTEMPTS:
        raise rejection(
            "max_attempts", "format", f"The most attempts are between the number of steps and {MAX_ATTEMPTS}."
        )
