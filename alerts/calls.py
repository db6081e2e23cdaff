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
    if attempt is None or attempt.alert.number is None:
        return twiml.hang_up()
    script = _script_of(attempt)
    if key is None:
        is_stopped = attempt.alert.number.is_opted_out()
        return twiml.hang_up(twiml.GOODBYE) if is_stopped else twiml.open_call(script)
    turn = twiml.next_part(twiml.parse_part(key.part), key.heard, key.digits, requires_ack=script.requires_ack)
    if turn.acknowledges:
        acks.press_key(attempt.alert, now=now)
    if turn.opts_out:
        acks.opt_out(attempt.holder_id, via="key_9", now=now)
    return twiml.answer(script, turn, heard=key.heard)


def _script_of(attempt: Attempt) -> twiml.Script:
    alert: Alert = attempt.alert
    assert alert.number is not None
    return twiml.Script(
        message=alert.message,
        agent_name=alert.agent_name,
        requires_ack=alert.requires_ack,
        is_plus_one=reveal(alert.number).startswith("+1"),
        action_url=voice_url(str(attempt.ref)),
        wording=in_use(),
    )
