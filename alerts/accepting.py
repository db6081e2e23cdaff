"""Taking an alert in: the last rules, the money for what is due at once, and its rows."""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from accounts import ledger
from accounts.models import Account, Connection
from alerts import content, limits, rules
from alerts.counts import Counts, read_counts
from alerts.fields import Fields
from alerts.models import Alert, Attempt
from alerts.target import Target
from alerts.waking import wake
from breakpass.ids import new_code, new_token
from workflows.plan import Plan

# Candidates for a public id and for a confirmation token, of which the first that is free is taken.
CANDIDATES: Final = 3


def accept(
    account: Account,
    connection: Connection | None,
    target: Target,
    plan: Plan,
    said: Fields,
    *,
    mark: str,
    is_test: bool = False,
    now: datetime,
) -> Alert:
    """Check channel, room, limits and balance, then insert the alert with all its attempts, and wake what is due.

    Needs the locks on the account and on the holder. Everything due at minute 0 is held together, all or none, before
    a row is written (seed 001, `start_workflow` cost). `mark` is the fingerprint of a direct send.
    """
    rules.check_channels(plan, target.states)
    rules.check_sms_ack(plan, target.sms_sender, target.states)
    rules.check_template(plan)
    codes = tuple(new_code("A") for _ in range(CANDIDATES))
    tokens = tuple(new_token(content.ack_token_length(settings.LINK_BASE_URL)) for _ in range(CANDIDATES))
    counted = read_counts(account, target.holder, names=(*codes, *tokens), now=now)
    rules.check_carrier(counted)
    rules.check_room(said.message, plan, target.sms_sender)
    if is_test:
        limits.check_test(account, target.holder, plan, counted, now=now)
    else:
        limits.check(account, connection, target.holder, plan, counted, now=now)
    alert = Alert(
        code=first_free(codes, counted),
        account=account,
        connection=connection,
        person=target.recipient.person,
        number=target.number,
        holder=target.holder,
        is_setup_test=is_test,
        workflow_key=plan.workflow_id or "",
        plan_data=plan.as_json(),
        recipient=target.label,
        is_to_owner=target.recipient.is_owner,
        agent_name=said.agent_name,
        message=said.message,
        use_case=said.use_case,
        event_reference=said.event_reference,
        requires_ack=plan.requires_ack,
        ack_token=first_free(tokens, counted),
        fingerprint=mark,
        charges_spam_blocks=charges_spam_blocks(counted) and not is_test,
        created_at=now,
        expires_at=now + timedelta(minutes=plan.deadline_min),
    )
    attempts = attempts_of(alert, plan, now=now)
    at_once = [attempt for attempt in attempts if attempt.offset_min == 0]
    if at_once:
        requests = [ledger.HoldRequest(attempt.ledger_ref, attempt.price_cents) for attempt in at_once]
        ledger.hold(account, requests, now=now)
    alert.save(force_insert=True)
    Attempt.objects.bulk_create(attempts)
    wake([attempt.pk for attempt in at_once])
    return alert


def attempts_of(alert: Alert, plan: Plan, *, now: datetime) -> list[Attempt]:
    """One unsaved row per step; the fallback gets its own when it is needed. Those of minute 0 count as held."""
    return [
        Attempt(
            alert=alert,
            account=alert.account,
            holder=alert.holder,
            seq=step.seq,
            offset_min=step.offset_min,
            kind=step.kind,
            channel=step.channel,
            reminder=step.reminder,
            scheduled_at=now + timedelta(minutes=step.offset_min),
            due_at=now + timedelta(minutes=step.offset_min),
            price_cents=plan.price_of(step.channel).full_cents,
            reduced_cents=plan.price_of(step.channel).reduced_cents,
            held_at=now if step.offset_min == 0 else None,
        )
        for step in plan.steps
    ]


def charges_spam_blocks(counted: Counts) -> bool:
    """Whether texts blocked as spam are charged from here on today (behaviour, Money)."""
    rule_is_on: bool = settings.CHARGE_SPAM_BLOCKS
    return rule_is_on and counted.failed_today >= settings.FAILED_SENDS_NOTICE_AT


def first_free(candidates: tuple[str, ...], counted: Counts) -> str:
    """The first candidate that no alert has; the database's unique constraint has the last word."""
    return next(candidate for candidate in candidates if candidate not in counted.taken_names)
