"""An alert as the contract shows it (seed 001, `get_alert_status` and the answers of the senders)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Prefetch

from accounts.models import Account
from alerts.carriers.reasons import REASONS
from alerts.models import Alert, Attempt
from alerts.rules import as_code, not_on_account
from alerts.sending import Accepted
from alerts.states import AlertStatus, AttemptStatus
from breakpass.text import rejection
from breakpass.times import iso, iso_or_none
from workflows.planning import step_as_contract

BY_REFERENCE_MAX: Final = 20
OPEN_MAX: Final = 50
NEXT_STEP: Final = "Poll get_alert_status; do not call start_workflow again."
OUTCOMES: Final = {
    AlertStatus.QUEUED: "queued",
    AlertStatus.SENT: "delivering",
    AlertStatus.DELIVERED: "delivered",
    AlertStatus.ACKNOWLEDGED: "acknowledged",
    AlertStatus.FAILED: "failed",
    AlertStatus.EXPIRED: "not_acknowledged",
    AlertStatus.CANCELLED: "cancelled",
}
# Behaviour, Words.
OUTCOME_WORDS: Final = {
    "queued": "Queued",
    "delivering": "Delivering",
    "waiting_for_ack": "Waiting for you to acknowledge",
    "acknowledged": "Acknowledged",
    "answered": "Answered",
    "delivered": "Delivered",
    "not_acknowledged": "Not acknowledged",
    "not_answered": "Not answered",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
# Where a code has no reason of its own (R01 to R15) to read.
FAILURE_WORDS: Final = {
    "DELIVERY_FAILED": "The delivery failed.",
    "NOT_ANSWERED": "Nobody picked up the call.",
    "INSUFFICIENT_BALANCE": "The balance didn't cover the next step.",
    "RECIPIENT_OPTED_OUT": REASONS["R05"].text,
    "PROVIDER_ERROR": REASONS["R13"].text,
    "TEMPLATE_MISMATCH": "A WhatsApp message template failed its check.",
    "SERVICE_PAUSED": "Sending was paused.",
    "ACCOUNT_SUSPENDED": "The account can't send right now.",
    "TEXT_TOO_LONG": "The text doesn't fit one SMS.",
    "CHANNEL_UNAVAILABLE": "The channel wasn't available for this person.",
    "DEADLINE_PASSED": REASONS["R14"].text,
    "ACKNOWLEDGED": "The alert was acknowledged first.",
    "CANCELLED": "The alert was cancelled first.",
    "SUPERSEDED": "A later step took its place.",
}


def as_contract(alert: Alert, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """One `get_alert_status` entry, all fields always there. `attempts`: all of the alert's."""
    ordered = sorted(attempts, key=lambda attempt: attempt.seq)
    outcome = outcome_of(alert, ordered)
    return {
        "alert_id": alert.code,
        "kind": "workflow" if alert.workflow_key else "direct",
        "workflow": {"id": alert.workflow_key, "version": alert.plan.version} if alert.workflow_key else None,
        "recipient": alert.recipient,
        "status": alert.status,
        "terminal": alert.is_ended,
        "awaiting_ack": outcome == "waiting_for_ack",
        "requires_acknowledgement": alert.requires_ack,
        "outcome": outcome,
        "outcome_text": outcome_words(alert, outcome),
        "created_at": iso(alert.created_at),
        "deadline_at": shown_deadline(alert),
        "next_attempt_at": iso_or_none(next_attempt_at(alert, ordered)),
        "acknowledged_at": iso_or_none(alert.acknowledged_at),
        "ack_via": alert.ack_via or None,
        "late_ack_at": iso_or_none(alert.late_ack_at),
        "cancelled_at": iso_or_none(alert.cancelled_at),
        "cancelled_by": alert.cancelled_by or None,
        "failure": failure_of(alert),
        "charged_cents": sum(attempt.charged_cents for attempt in ordered),
        "attempts": [attempt_as_contract(attempt) for attempt in ordered],
    }


def attempt_as_contract(attempt: Attempt) -> dict[str, Any]:
    """One of `alerts[].attempts`."""
    return {
        "seq": attempt.seq,
        "offset_min": attempt.offset_min,
        "kind": attempt.kind,
        "channel": attempt.channel,
        "status": attempt.status,
        "scheduled_at": iso(attempt.scheduled_at),
        "sent_at": iso_or_none(attempt.sent_at),
        "delivered_at": iso_or_none(attempt.delivered_at),
        "failure_code": attempt.failure_code or None,
        "failure_reason": attempt.failure_reason or None,
        "failure_message": failure_words(attempt.failure_code, attempt.failure_reason),
        "outcome": attempt.outcome or None,
        "charged_cents": attempt.charged_cents,
    }


def outcome_of(alert: Alert, attempts: Sequence[Attempt]) -> str:
    """What the alert reads as, the same in the app and to an agent (behaviour, Words)."""
    if alert.status == AlertStatus.DELIVERED and not alert.is_ended:
        return "waiting_for_ack"
    if alert.status == AlertStatus.DELIVERED and any(each.status == AttemptStatus.ANSWERED for each in attempts):
        return "answered"
    if alert.status == AlertStatus.FAILED and alert.failure_code == "NOT_ANSWERED":
        return "not_answered"
    return OUTCOMES[AlertStatus(alert.status)]


def outcome_words(alert: Alert, outcome: str) -> str:
    """The words for an outcome; who is waited for is named unless it is the owner."""
    if outcome == "waiting_for_ack" and not alert.is_to_owner:
        return f"Waiting for {alert.recipient} to acknowledge"
    return OUTCOME_WORDS[outcome]


def failure_of(alert: Alert) -> dict[str, str | None] | None:
    """Why the alert failed, or None."""
    words = failure_words(alert.failure_code, alert.failure_reason)
    if not alert.failure_code or words is None:
        return None
    return {"code": alert.failure_code, "reason": alert.failure_reason or None, "message": words}


def failure_words(code: str, reason: str) -> str | None:
    """A failure as people read it: the reason's words, else the code's; never a number, a code or alert text."""
    if reason in REASONS:
        return REASONS[reason].text
    return FAILURE_WORDS.get(code, FAILURE_WORDS["DELIVERY_FAILED"]) if code else None


def next_attempt_at(alert: Alert, attempts: Sequence[Attempt]) -> datetime | None:
    """When the next unsent attempt of an open alert is due."""
    if alert.is_ended:
        return None
    unsent = [each for each in attempts if each.status == AttemptStatus.SCHEDULED]
    return min((each.due_at or each.scheduled_at for each in unsent), default=None)


def shown_deadline(alert: Alert) -> str | None:
    """`deadline_at`: a direct send that nobody has to acknowledge shows none."""
    return iso(alert.expires_at) if alert.shows_deadline else None


def find(
    account: Account, *, alert_ids: Sequence[str] | None = None, event_reference: str | None = None
) -> dict[str, Any]:
    """The whole `get_alert_status` answer: by ids in their order, by reference, or what is open. Two queries.

    Refuses CONTENT_REJECTED (`both_given`), and ALERT_NOT_FOUND when none of the ids is on the account.
    """
    if alert_ids is not None and event_reference is not None:
        raise rejection("alert_ids", "both_given", "Send alert_ids or event_reference, not both.")
    newest = account.alerts.prefetch_related(
        Prefetch("attempts", queryset=Attempt.objects.order_by("seq"), to_attr="all_attempts")
    ).order_by("-created_at", "-pk")
    not_found: list[str] = []
    if alert_ids is not None:
        asked = {as_code(alert_id): alert_id for alert_id in alert_ids}
        found = {alert.code: alert for alert in newest.filter(code__in=asked)}
        not_found = [alert_id for code, alert_id in asked.items() if code not in found]
        if not found:
            raise not_on_account(not_found)
        alerts = [found[code] for code in asked if code in found]
    elif event_reference is not None:
        alerts = list(newest.filter(event_reference=event_reference.strip())[:BY_REFERENCE_MAX])
    else:
        alerts = list(newest.filter(ended_at=None)[:OPEN_MAX])
    return {"alerts": [as_contract(alert, attempts_of(alert)) for alert in alerts], "not_found": not_found}


def attempts_of(alert: Alert) -> list[Attempt]:
    """All attempts of an alert in their order; no query for an alert that came with them."""
    loaded: list[Attempt] | None = getattr(alert, "all_attempts", None)
    return list(alert.attempts.order_by("seq")) if loaded is None else loaded


def direct_answer(accepted: Accepted) -> dict[str, Any]:
    """What send_whatsapp, send_sms and make_call answer."""
    alert = accepted.alert
    answer = {
        "alert_id": alert.code,
        "status": "queued",
        "channel": alert.plan.steps[0].channel,
        "recipient": alert.recipient,
        "estimated_cost_cents": alert.plan.max_cost_cents,
        "require_ack": alert.requires_ack,
        "deadline_at": shown_deadline(alert),
        "idempotent_replay": accepted.is_replay,
    }
    return answer if accepted.notice is None else {**answer, "notice": accepted.notice}


def workflow_answer(accepted: Accepted) -> dict[str, Any]:
    """What start_workflow answers."""
    alert = accepted.alert
    answer = {
        "alert_id": alert.code,
        "status": "queued",
        "workflow": {"id": alert.workflow_key, "name": alert.plan.name, "version": alert.plan.version},
        "steps": [step_as_contract(step) for step in alert.plan.steps],
        "recipient": alert.recipient,
        "require_ack": alert.requires_ack,
        "requires_acknowledgement": alert.requires_ack,
        "max_cost_cents": alert.plan.max_cost_cents,
        "deadline_at": shown_deadline(alert),
        "idempotent_replay": accepted.is_replay,
        "next_step": NEXT_STEP,
    }
    return answer if accepted.notice is None else {**answer, "notice": accepted.notice}
