"""May this alert go to this person? One function per refusal (seed 001, Errors; behaviour, Order of refusals)."""

from collections.abc import Mapping, Sequence

from django.conf import settings

from accounts.channels import ChannelState, refuse_channel
from accounts.models import Number
from accounts.people import Recipient
from alerts import breaker, wording
from alerts.carriers import templates
from alerts.content import LINKED_SENDER, carried_link_chars, check_call, check_sms, sender_kind
from alerts.counts import Counts
from breakpass.errors import Refusal
from workflows.plan import Plan
from workflows.planning import unavailable_steps


def check_opted_out(number: Number | None) -> None:
    """RECIPIENT_OPTED_OUT until the number is invited and verified again (behaviour, Numbers). Needs `holder`."""
    if number is not None and number.is_opted_out():
        raise Refusal(
            "RECIPIENT_OPTED_OUT",
            f"This person stopped all {settings.SERVICE_NAME} alerts to the number. "
            "Only a new invite and verification restart them.",
        )


def check_verified(recipient: Recipient) -> Number:
    """The number to reach; RECIPIENT_NOT_VERIFIED while it is pending or paused by the plan."""
    number = recipient.number
    if number is None or not number.is_verified:
        raise not_verified(was_named=recipient.was_named)
    if number.is_over_plan:
        raise Refusal(
            "RECIPIENT_NOT_VERIFIED",
            f"{whose(recipient.was_named)} number is paused, because the plan allows fewer numbers.",
            details={"reason": "plan_limit" if recipient.was_named else "number_paused"},
        )
    return number


def not_verified(*, was_named: bool) -> Refusal:
    """RECIPIENT_NOT_VERIFIED for a number that waits for its code; for nobody named: the owner's, even without one."""
    return Refusal(
        "RECIPIENT_NOT_VERIFIED",
        f"{whose(was_named)} number isn't verified yet.",
        details={"reason": "pending" if was_named else "number_not_verified"},
    )


def whose(was_named: bool) -> str:
    """Who is meant, at the start of a sentence."""
    return "This person's" if was_named else "The owner's"


def check_channels(plan: Plan, states: Mapping[str, ChannelState]) -> None:
    """CHANNEL_UNAVAILABLE when a step has no channel; for a workflow with the steps that have none."""
    missing = unavailable_steps(plan, states)
    if missing:
        raise refuse_channel(missing[0]["channel"], states, unavailable_steps=missing if plan.workflow_id else None)


def check_sms_ack(plan: Plan, sender: str, states: Mapping[str, ChannelState]) -> None:
    """CHANNEL_UNAVAILABLE for a direct SMS that asks for an acknowledgement where it can carry no link."""
    if plan.workflow_id is None and plan.requires_ack and goes_by_sms(plan) and sender != LINKED_SENDER:
        raise refuse_channel("sms", states, reason="sms_ack_us_ca_only")


def check_template(plan: Plan) -> None:
    """TEMPLATE_MISMATCH when the last look found the WhatsApp template changed; nothing goes on the wire here."""
    if any(step.channel == "whatsapp" for step in plan.steps):
        templates.check(templates.for_alert(requires_ack=plan.requires_ack))


def check_carrier(counts: Counts) -> None:
    """PROVIDER_ERROR while the carrier only fails (behaviour, Limits)."""
    if breaker.is_open(failures=counts.carrier_failures, successes=counts.carrier_successes):
        raise breaker.refusal()


def check_room(message: str, plan: Plan, sender: str) -> None:
    """CONTENT_REJECTED for a text too long to be spoken, or for one SMS with its link and its longest reminder.

    Only steps that go by SMS count: a fallback that would not fit is not sent, and refuses nothing.
    """
    if any(step.channel == "call" for step in plan.steps):
        check_call(message)
    reminders = [step.reminder for step in plan.steps if step.channel == "sms"]
    kind = sender_kind(sender)
    if reminders and kind is not None:
        check_sms(
            message,
            sender_kind=kind,
            link_chars=carried_link_chars(settings.LINK_BASE_URL, kind, requires_ack=plan.requires_ack),
            reminders=reminders,
            wording=wording.in_use(),
        )


def goes_by_sms(plan: Plan) -> bool:
    """Whether a step of the plan is a text."""
    return any(step.channel == "sms" for step in plan.steps)


def as_code(alert_id: str) -> str:
    """A public id as it was given, in the form in which it is kept."""
    return alert_id.strip().upper()


def not_on_account(alert_ids: Sequence[str]) -> Refusal:
    """ALERT_NOT_FOUND: ids that are unknown, or on another account."""
    return Refusal("ALERT_NOT_FOUND", "No such alert is on this account.", details={"not_found": list(alert_ids)})
