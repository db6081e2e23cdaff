"""An alert as the owner's pages show it: its words, tones and times. Reads rows, changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from alerts import states
from alerts import status as in_words
from alerts.models import Alert, Attempt
from breakpass.ids import sha256_hex

A = states.AttemptStatus
KINDS = {"message": "Message", "fallback": "SMS fallback", "call": "Call"}
STATUS_WORDS = {
    A.SCHEDULED: "Planned",
    A.SENDING: "Sending",
    A.SENT: "Sent",
    A.DELIVERED: "Delivered",
    A.DELIVERED_UNCONFIRMED: "Sent, no receipt",
    A.READ: "Read",
    A.RINGING: "Ringing",
    A.ANSWERED: "Answered",
    A.NO_ANSWER: "Not picked up",
    A.BUSY: "Busy",
    A.FAILED: "Failed",
    A.SKIPPED: "Skipped",
}
ALERT_TONES = {
    "queued": "wait",
    "sent": "wait",
    "delivered": "good",
    "acknowledged": "good",
    "failed": "bad",
    "expired": "bad",
    "cancelled": "quiet",
}
ACK_WORDS = {
    "whatsapp_button": "with the button in WhatsApp",
    "dtmf": "by pressing 1 in the call",
    "sms_link": "on the page behind the link",
    "portal": "on this page",
}


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """One line of the timeline."""

    what: str
    channel: str
    status: str
    tone: str
    at: datetime
    why: str
    charged_cents: int
    is_planned: bool
    names_channel: bool


@dataclass(frozen=True, slots=True)
class ShownAlert:
    """One alert in words."""

    alert: Alert
    outcome: str
    tone: str
    title: str
    agent: str
    charged_cents: int
    attempts: tuple[ShownAttempt, ...]
    next_at: datetime | None
    why: str
    acknowledged_how: str
    can_be_acknowledged: bool

    @property
    def fingerprint(self) -> str:
        """Changes when the page would read differently."""
        alert = self.alert
        seen = (self.outcome, self.attempts, self.next_at, self.why, alert.ended_at, alert.late_ack_at)
        return sha256_hex(repr(seen))[:16]


def shown_alert(alert: Alert, attempts: Sequence[Attempt]) -> ShownAlert:
    """The alert with all its attempts."""
    is_open = not alert.is_ended
    return ShownAlert(
        alert=alert,
        outcome=in_words.outcome_words(alert, in_words.outcome_of(alert, attempts)),
        tone="wait" if is_open else ALERT_TONES[alert.status],
        title=title_of(alert),
        agent=alert.agent_name,
        charged_cents=sum(each.charged_cents for each in attempts),
        attempts=tuple(shown_attempt(a) for a in sorted(attempts, key=lambda a: (a.scheduled_at, a.seq))),
        next_at=in_words.next_attempt_at(alert, attempts),
        why=in_words.failure_words(alert.failure_code, alert.failure_reason) or "",
        acknowledged_how=ACK_WORDS.get(alert.ack_via, ""),
        can_be_acknowledged=is_open and alert.requires_ack,
    )


def title_of(alert: Alert) -> str:
    """What kind of alert it is: a test, the workflow's name, or the single send that was asked for."""
    return "Test alert" if alert.is_setup_test else alert.plan.name


def shown_attempt(attempt: Attempt) -> ShownAttempt:
    """One attempt: what was tried, how it stands, when, and why it did not work."""
    return ShownAttempt(
        what=KINDS[attempt.kind],
        channel=attempt.channel,
        status=STATUS_WORDS[A(attempt.status)],
        tone=attempt_tone(attempt),
        at=moment_of(attempt),
        why=in_words.failure_words(attempt.failure_code, attempt.failure_reason) or "",
        charged_cents=attempt.charged_cents,
        is_planned=attempt.status == A.SCHEDULED,
        names_channel=attempt.kind == Attempt.Kind.MESSAGE,
    )


def moment_of(attempt: Attempt) -> datetime:
    """The time that says most about an attempt: the furthest it came, else when it is due."""
    return attempt.answered_at or attempt.delivered_at or attempt.sent_at or attempt.scheduled_at


def attempt_tone(attempt: Attempt) -> str:
    """Good: it reached the phone. Wait: it is on its way. Bad: it failed."""
    if attempt.status in states.REACHED:
        return "good"
    if attempt.status in states.IN_FLIGHT:
        return "wait"
    return "bad" if attempt.status in (A.FAILED, A.NO_ANSWER, A.BUSY) else "quiet"
