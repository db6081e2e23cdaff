"""What a carrier's report means for an attempt. Pure: the words of Twilio in, our statuses out."""

from dataclasses import dataclass

from alerts.carriers.base import Report
from alerts.carriers.reasons import Reason, reason_for, was_not_picked_up
from alerts.states import AttemptStatus

FAILED_WORDS = frozenset({"failed", "undelivered", "canceled"})
MESSAGE_WORDS = {"sent": AttemptStatus.SENT, "delivered": AttemptStatus.DELIVERED, "read": AttemptStatus.READ}
CALL_ENDED_WORDS = frozenset({"completed", "busy", "no-answer", "failed", "canceled"})


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a report would move its attempt. `status` None: nowhere, it is only kept."""

    status: AttemptStatus | None = None
    reason: Reason | None = None
    # The call is over: the line is free.
    is_over: bool = False
    shows_answer: bool = False


NOTHING = Reading()


def read(report: Report, *, channel: str, was_answered: bool) -> Reading:
    """`was_answered`: an answer to this call was seen before. Unknown words and numbers move nothing (cases, 5)."""
    if channel == "call":
        return _read_call(report, was_answered=was_answered)
    if report.status in FAILED_WORDS:
        return Reading(AttemptStatus.FAILED, reason_for(report.error_code))
    return Reading(MESSAGE_WORDS.get(report.status))


def _read_call(report: Report, *, was_answered: bool) -> Reading:
    match report.status:
        case "ringing":
            return Reading(AttemptStatus.RINGING)
        case "in-progress":
            return Reading(AttemptStatus.ANSWERED, shows_answer=True)
        case "completed":
            # Nobody spoke and nobody was seen to pick up: completed says only that the carrier is done (cases, 13).
            if report.duration_s == 0 and not was_answered:
                return Reading(AttemptStatus.NO_ANSWER, is_over=True)
            return Reading(AttemptStatus.ANSWERED, is_over=True, shows_answer=True)
        case word if word in CALL_ENDED_WORDS:
            return _read_unanswered(report)
    return NOTHING


def _read_unanswered(report: Report) -> Reading:
    if was_not_picked_up(report.status, sip=report.sip_code):
        return Reading(AttemptStatus.NO_ANSWER, is_over=True)
    reason = reason_for(report.error_code, sip=report.sip_code, status=report.status, is_call=True)
    status = AttemptStatus.BUSY if reason.money == "reduced" else AttemptStatus.FAILED
    return Reading(status, reason, is_over=True)
