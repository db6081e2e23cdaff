"""What a call says next: the row's facts around the pure state machine of a call (alerts.carriers.twiml)."""

from dataclasses import dataclass
from datetime import datetime

from accounts.numbers import reveal
from alerts import acks, delivery
from alerts.addresses import voice_url
from alerts.carriers import twiml
from alerts.carriers.base import Report
from alerts.models import Alert, Attempt
from alerts.wording import in_use


@dataclass(frozen=True, slots=True)
class Key:
    """A key that was pressed, and where in the call."""

    part: str
    heard: int
    digits: str


def speak(ref: str, *, sid: str, key: Key | None, now: datetime) -> str:
    """The TwiML for the moment a call is at. Asking for it at all shows that the call was answered.

    Key 1 is written down before "Acknowledged" is said, key 9 before "You will receive no more". For a call that is not
    ours, or to a number that stopped everything meanwhile, the call just ends.
    """
    delivery.record(ref, Report(source="voice", sid=sid, status="in-progress"), now=now)
    attempt = Attempt.objects.select_related("alert__number__holder").filter(ref=ref, channel="call").first()
    if attempt is None:
        return twiml.hang_up()
    alert = attempt.alert
    if key is None:
        if alert.number is None:
            return twiml.hang_up()
        return twiml.hang_up(twiml.GOODBYE) if alert.number.is_opted_out() else twiml.open_call(_script_of(attempt))
    turn = twiml.next_part(twiml.parse_part(key.part), key.heard, key.digits, requires_ack=alert.requires_ack)
    # A key counts even when the owner has taken the person off the account since the phone rang.
    if turn.acknowledges and acks.press_key(alert, now=now) == "ignored":
        # Cancelled while the phone was at the ear: nothing was acknowledged, so nothing else is said.
        turn = twiml.Turn("goodbye")
    if turn.opts_out:
        acks.opt_out(attempt.holder_id, via="key_9", now=now)
    return twiml.answer(_script_of(attempt), turn, heard=key.heard)


def _script_of(attempt: Attempt) -> twiml.Script:
    alert: Alert = attempt.alert
    return twiml.Script(
        message=alert.message,
        agent_name=alert.agent_name,
        requires_ack=alert.requires_ack,
        is_plus_one=alert.number is not None and reveal(alert.number).startswith("+1"),
        action_url=voice_url(str(attempt.ref)),
        wording=in_use(),
    )
