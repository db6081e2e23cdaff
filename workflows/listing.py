"""What `list_workflows` answers: every workflow in words and steps, priced for one person (seed 001)."""

from datetime import datetime
from typing import Any

from accounts import channels, pauses, people, rates
from accounts.models import Account
from accounts.people import Recipient
from breakpass.errors import Refusal
from breakpass.times import iso
from workflows import saved, wording
from workflows.defaults import Definition
from workflows.planning import Offers, plan_workflow, step_as_contract, unavailable_steps


def list_workflows(account: Account, recipient: str | None, *, now: datetime) -> dict[str, Any]:
    """The whole answer, in five queries or fewer. Refuses RECIPIENT_NOT_FOUND and RECIPIENT_AMBIGUOUS.

    Whether the person may be reached at all (verified, opted out) is not asked here: costs and channels are.
    """
    found = look_up(account, recipient)
    offers: Offers = {}
    if found is not None and found.number is not None and found.holder is not None:
        country_rates = rates.rates_of(found.holder.country)
        flags = pauses.open_pauses(account)
        offers = channels.channel_states(account, found.number, found.holder, country_rates, flags, now=now)
    shown = found.shown if found else account.owner_name or "Owner"
    return {
        "version": account.workflows_version,
        "updated_at": iso(account.workflows_updated_at),
        "recipient": people.label_of(recipient, shown),
        "workflows": [describe(definition, offers) for definition in saved.definitions(account)],
        "decision_model": decision_model(account),
    }


def look_up(account: Account, name: str | None) -> Recipient | None:
    """The person meant; None while nobody is named and the owner has no number yet: then no step is available."""
    try:
        return people.find_recipient(account, name)
    except Refusal as refusal:
        if name is None and refusal.code == "RECIPIENT_NOT_FOUND":
            return None
        raise


def describe(definition: Definition, offers: Offers) -> dict[str, Any]:
    """One of `workflows[]`."""
    plan = plan_workflow(definition, offers)
    return {
        "workflow_id": definition.key,
        "name": definition.name,
        "summary": wording.summary(definition),
        "use_when": wording.use_when(definition),
        "version": definition.version,
        "steps": [step_as_contract(step) for step in plan.steps],
        "ack_required_default": definition.requires_ack,
        "requires_acknowledgement": definition.requires_ack,
        "sms_fallback": definition.has_sms_fallback,
        "max_attempts": definition.max_attempts,
        "deadline_min": definition.deadline_min,
        "max_cost_cents": plan.max_cost_cents,
        "available": not unavailable_steps(plan, offers),
        "editable_in": "portal",
    }


def decision_model(account: Account) -> dict[str, Any] | None:
    """The owner's decision matrix, or None while it is off (behaviour, Alerts: Decision model)."""
    if not account.is_matrix_enabled:
        return None
    return {
        "matrix_enabled": True,
        "urgency_threshold": account.urgency_threshold,
        "importance_threshold": account.importance_threshold,
    }
