"""Accepting an alert: the rules in their fixed order, the plan, the money, and the rows. Cancelling one.

The edge holds the account's lock (`with locked(account_id)`) and turns what is raised here into its own words. A
refusal leaves nothing behind: no row, no hold, and the idempotency key is still free.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

from django.conf import settings

from accounts import people
from accounts.models import Account, Connection, Person
from alerts import closing, fields, keys
from alerts.accepting import accept
from alerts.fields import Fields
from alerts.models import Alert
from alerts.rules import as_code, not_on_account
from alerts.states import AlertStatus
from alerts.target import Target, look_up, reach
from breakpass.errors import Refusal
from workflows import planning, saved

NOTICE: Final = "From now on today, texts that carriers block as spam are charged at the normal price."
TOOLS: Final[Mapping[str, str]] = {"whatsapp": "send_whatsapp", "sms": "send_sms", "call": "make_call"}
# Fits every channel, with the confirmation link where an SMS carries one.
TEST_MESSAGE: Final = "Your test alert arrived. Please acknowledge it."
TEST_MESSAGE_UNASKED: Final = "Your test alert arrived. Everything works."
# A setup test is how the one is got over, and the other does not concern it: it is free.
TESTS_PASS: Final = frozenset({"test_alert_pending", "rate_above_max"})


@dataclass(frozen=True, slots=True)
class Accepted:
    """An alert that was accepted now, or earlier by the same request."""

    alert: Alert
    is_replay: bool

    @property
    def notice(self) -> str | None:
        """Set once the account has five failed sends today, while that rule is on (seed 001, `notice`)."""
        return NOTICE if self.alert.charges_spam_blocks else None


def start_workflow(
    account: Account,
    connection: Connection | None,
    *,
    workflow_id: str,
    message: str,
    recipient: str | None = None,
    agent_name: str | None = None,
    use_case: str | None = None,
    event_reference: str | None = None,
    idempotency_key: str,
    now: datetime,
) -> Accepted:
    """Run a saved workflow for one person (seed 001, `start_workflow`). Raises its refusals in their order."""
    sender = default_sender(connection)
    said = fields.read_fields(
        message, agent_name=agent_name, use_case=use_case, event_reference=event_reference, default_name=sender
    )
    fields.check_key(idempotency_key)
    saved.check_key(workflow_id)
    request_hash = keys.hash_request(
        "start_workflow", {"workflow_id": workflow_id, **canonical(said, recipient, requires_ack=None)}
    )
    earlier = keys.find_replay(account, idempotency_key, request_hash=request_hash, now=now)
    if earlier is not None:
        return Accepted(earlier, is_replay=True)
    definition = saved.definition_of(account, workflow_id)

    def channels_used(states: planning.Offers | None) -> list[str | None]:
        plan = planning.plan_workflow(definition, states or {})
        return [None] if states is None else [step.channel for step in plan.steps]

    target = reach(account, recipient, look_up(account, recipient), channels_used=channels_used, now=now)
    plan = planning.plan_workflow(definition, target.states)
    mark = keys.fingerprint(target.recipient.person.pk, workflow_id, said.message)
    alert = accept(account, connection, target, plan, signed(said, sender), mark=mark, now=now)
    keys.remember(account, idempotency_key, request_hash=request_hash, alert=alert, now=now)
    return Accepted(alert, is_replay=False)


def start_direct(
    account: Account,
    connection: Connection | None,
    *,
    channel: str,
    message: str,
    recipient: str | None = None,
    agent_name: str | None = None,
    use_case: str | None = None,
    event_reference: str | None = None,
    require_ack: bool = False,
    idempotency_key: str | None = None,
    now: datetime,
) -> Accepted:
    """One message or one call (seed 001, `send_whatsapp`, `send_sms`, `make_call`). Raises its refusals in order."""
    sender = default_sender(connection)
    said = fields.read_fields(
        message, agent_name=agent_name, use_case=use_case, event_reference=event_reference, default_name=sender
    )
    if idempotency_key is not None:
        fields.check_key(idempotency_key)
    request_hash = keys.hash_request(TOOLS[channel], canonical(said, recipient, requires_ack=require_ack))
    found = look_up(account, recipient)
    # Whoever cannot be found has no earlier send either; the refusal waits for its turn.
    mark = "" if isinstance(found, Refusal) else keys.fingerprint(found.person.pk, channel, said.message)
    earlier = None
    if idempotency_key is not None:
        earlier = keys.find_replay(account, idempotency_key, request_hash=request_hash, now=now)
    elif mark:
        earlier = keys.find_duplicate(account, mark, now=now)
    if earlier is not None:
        return Accepted(earlier, is_replay=True)
    target = reach(account, recipient, found, channels_used=lambda _: [channel], now=now)
    plan = planning.plan_direct(planning.as_channel(channel), target.states, requires_ack=require_ack)
    alert = accept(account, connection, target, plan, signed(said, sender), mark=mark, now=now)
    if idempotency_key is not None:
        keys.remember(account, idempotency_key, request_hash=request_hash, alert=alert, now=now)
    return Accepted(alert, is_replay=False)


def start_test(account: Account, person: Person, *, channel: str, now: datetime) -> Alert:
    """Send the owner's free setup test to a verified number: before payment too, within the account's caps."""
    found = next((each for each in people.list_recipients(account) if each.person.pk == person.pk), None)
    if found is None:
        raise Refusal("RECIPIENT_NOT_FOUND", "This person is not on the account any more.")
    target = reach(account, None, found, channels_used=lambda _: [channel], is_test=True, now=now)
    target = open_to_tests(target)
    requires_ack = channel != "sms" or target.sms_sender == "us_ca"
    plan = planning.plan_direct(planning.as_channel(channel), target.states, requires_ack=requires_ack, is_free=True)
    message = TEST_MESSAGE if requires_ack else TEST_MESSAGE_UNASKED
    said = Fields(message, default_sender(None), "", "")
    # No fingerprint of a direct send: a test is never taken for one, nor one for a test.
    mark = keys.fingerprint(person.pk, f"test:{channel}", message)
    return accept(account, None, target, plan, said, mark=mark, is_test=True, now=now)


def open_to_tests(target: Target) -> Target:
    """The target with the channels open that only a paid send must wait for."""
    states = {
        channel: replace(state, is_available=True, reason=None) if state.reason in TESTS_PASS else state
        for channel, state in target.states.items()
    }
    return replace(target, states=states)


def cancel(account: Account, code: str, *, by: Literal["agent", "owner", "system"], now: datetime) -> Alert:
    """Stop what is unsent and release its money (seed 001, `cancel_alert`); an alert that has ended stays as it is.

    Refuses ALERT_NOT_FOUND. Needs the locked account.
    """
    alert = account.alerts.filter(code=as_code(code)).first()
    if alert is None:
        raise not_on_account([code])
    if not alert.is_ended:
        closing.close(account, alert, to=AlertStatus.CANCELLED, now=now, cancelled_at=now, cancelled_by=by)
    return alert


def default_sender(connection: Connection | None) -> str:
    """The sender's name when the call gives none: the connected app's, else the service's (seed 001, `agent_name`)."""
    service: str = settings.SERVICE_NAME
    return fields.presentable_name(service if connection is None else connection.name, fallback=service)


def signed(said: Fields, sender: str) -> Fields:
    """The fields with the sender's name that people see."""
    return said if said.agent_name else replace(said, agent_name=sender)


def canonical(said: Fields, recipient: str | None, *, requires_ack: bool | None) -> dict[str, Any]:
    """What makes two requests the same: the cleaned arguments with their defaults (behaviour, Idempotency)."""
    asked: dict[str, Any] = {
        "message": said.message,
        "recipient": people.fold_name(recipient or people.OWNER),
        "agent_name": said.agent_name,
        "use_case": said.use_case,
        "event_reference": said.event_reference,
    }
    return asked if requires_ack is None else {**asked, "require_ack": requires_ack}
