"""Sending a verification code: claimed once, handed over once, and what became of it (behaviour, Numbers)."""

from collections.abc import Callable
from datetime import datetime

from django.conf import settings

from accounts.codes import is_before_stop
from accounts.locking import lock_holder, locked
from accounts.models import Holder, VerificationCode
from accounts.numbers import reveal
from accounts.sealing import unseal
from alerts import breaker, timers
from alerts.acks import opt_out
from alerts.addresses import code_token, code_url, code_voice_url
from alerts.carriers import twiml
from alerts.carriers.base import Carrier, CarrierProblem, Outgoing, Refused, Report, Unreachable
from alerts.carriers.current import current
from alerts.carriers.reasons import NETWORK_ERROR, Reason, reason_for
from alerts.content import invite_text, verification_text
from alerts.delivery import works_for_us
from alerts.outgoing import sms_sender
from alerts.readings import read
from alerts.states import AttemptStatus
from alerts.wording import in_use

MINUTES = settings.CODE_TTL_S // 60
# A code is read out twice, digit by digit.
TIMES_READ = 2


def waiting_ids(now: datetime, limit: int) -> list[int]:
    """Codes that wait to be sent and still work, the oldest first."""
    waiting = VerificationCode.objects.filter(claimed_at=None, closed_at=None, expires_at__gt=now)
    return list(waiting.order_by("created_at", "pk").values_list("pk", flat=True)[:limit])


def send(
    code_id: int, now: datetime, *, carrier: Carrier | None = None, clock: Callable[[], datetime] | None = None
) -> bool:
    """Send one waiting code; whether it was this caller's to send. Repeatable, and safe at once with itself.

    A code whose answer was lost is not sent again: its holder asks for a new one.
    """
    carrier, clock = carrier or current(), clock or (lambda: now)
    outgoing = claim(code_id, now)
    if outgoing is None:
        return False
    try:
        sent = carrier.place_call(outgoing) if outgoing.channel == "call" else carrier.send_message(outgoing)
    except CarrierProblem as problem:
        breaker.note(outgoing.channel, succeeded=works_for_us(problem), now=clock())
        _take_problem(code_id, problem, clock())
        return True
    breaker.note(outgoing.channel, succeeded=True, now=clock())
    done = {"sent_at": clock(), "carrier_sid": sent.sid}
    # A call still has to read it out.
    VerificationCode.objects.filter(pk=code_id).update(
        **done, **({} if outgoing.channel == "call" else {"sealed": None})
    )
    return True


def claim(code_id: int, now: datetime) -> Outgoing | None:
    """Mark a waiting code as on its way and put its request together; None when there is nothing to send."""
    account_id = VerificationCode.objects.filter(pk=code_id).values_list("account_id", flat=True).first()
    if account_id is None:
        return None
    with locked(account_id) as account:
        code = (
            VerificationCode.objects.select_related("number__holder", "number__person")
            .filter(pk=code_id, claimed_at=None, closed_at=None, expires_at__gt=now)
            .first()
        )
        if code is None or code.sealed is None or code.number is None:
            return None
        if is_before_stop(code, lock_holder(code.number.holder_id)):
            # The stop has not come round to this account yet.
            return None
        VerificationCode.objects.filter(pk=code_id).update(claimed_at=now)
        token, to = code_token(code.pk), reveal(code.number)
        if code.channel == VerificationCode.Channel.CALL:
            return Outgoing(
                token,
                "call",
                to,
                now,
                code_url(token),
                voice_url=code_voice_url(token),
                ring_s=timers.DIRECT_RING_S,
                limit_s=timers.CALL_LIMIT_S,
            )
        digits = unseal(bytes(code.sealed))
        inviter = account.owner_name or settings.SERVICE_NAME
        sender = sms_sender(code.number.holder.country) or "us_ca"
        if code.channel == VerificationCode.Channel.WHATSAPP:
            sentence = _whatsapp_sentence(inviter) if code.is_invite else "Somebody is verifying this number."
            return Outgoing(
                token, "whatsapp", to, now, code_url(token), template="code", variables={"1": sentence, "2": digits}
            )
        if code.is_invite:
            text = invite_text(inviter, digits, sender_kind=sender, minutes=MINUTES, wording=in_use())
        else:
            text = verification_text(digits, minutes=MINUTES, wording=in_use())
        valid_for_s = int((code.expires_at - now).total_seconds())
        return Outgoing(token, "sms", to, now, code_url(token), text=text, sender=sender, validity_s=valid_for_s)


def _whatsapp_sentence(inviter: str) -> str:
    """Who invites, what is agreed to, and the way to stop, in one template variable."""
    return (
        f"{inviter} invites you to get automated alerts by text, WhatsApp and call. If you agree, confirm; if not, "
        "ignore this. Reply STOP to opt out."
    )


def _take_problem(code_id: int, problem: CarrierProblem, now: datetime) -> None:
    """Nothing left us: it waits for the sweep. Anything else: the page says why, and the holder asks for a new one."""
    row = VerificationCode.objects.filter(pk=code_id)
    if isinstance(problem, Unreachable):
        row.update(claimed_at=None)
        return
    if isinstance(problem, Refused):
        _fail(code_id, reason_for(problem.error_code, http=problem.http_status), now)
        return
    row.update(failure_reason=NETWORK_ERROR.code)


def record(code_id: int, report: Report, *, now: datetime) -> None:
    """A report about a code: why it did not arrive, and what it says about the number."""
    code = VerificationCode.objects.select_related("number").filter(pk=code_id).first()
    # Without a number: the person was removed meanwhile.
    if code is None or code.number is None:
        return
    reading = read(report, channel=code.channel, was_answered=False)
    if reading.status == AttemptStatus.FAILED and reading.reason is not None:
        _fail(code_id, reading.reason, now)
    elif reading.status in (AttemptStatus.DELIVERED, AttemptStatus.READ):
        VerificationCode.objects.filter(pk=code_id).update(failure_reason="")
        if code.channel == VerificationCode.Channel.WHATSAPP:
            _learn_whatsapp(code, Holder.Whatsapp.YES)


def _fail(code_id: int, reason: Reason, now: datetime) -> None:
    code = VerificationCode.objects.select_related("number").get(pk=code_id)
    VerificationCode.objects.filter(pk=code_id).update(failure_reason=reason.code)
    if reason.marks_whatsapp_no and code.channel == VerificationCode.Channel.WHATSAPP:
        _learn_whatsapp(code, Holder.Whatsapp.NO)
    if reason.opts_out and code.number is not None:
        opt_out(code.number.holder_id, via="carrier", now=now)


def _learn_whatsapp(code: VerificationCode, is_there: str) -> None:
    if code.number is None:
        return
    with locked(code.account_id):
        holder = lock_holder(code.number.holder_id)
        if holder.whatsapp != is_there:
            holder.whatsapp = is_there
            holder.save(update_fields=["whatsapp"])


def read_out(code_id: int, *, now: datetime) -> str:
    """The words of a call that reads a code out; nothing once it no longer works."""
    code = VerificationCode.objects.filter(pk=code_id, closed_at=None, expires_at__gt=now, channel="call").first()
    if code is None or code.sealed is None:
        return twiml.hang_up(twiml.GOODBYE)
    digits = ", ".join(unseal(bytes(code.sealed)))
    again = [f"I repeat: {digits}."] * (TIMES_READ - 1)
    return twiml.hang_up(
        f"This is {in_use().spoken_by}. Your verification code is {digits}.",
        *again,
        "Give it to nobody.",
        twiml.GOODBYE,
    )


def forget(now: datetime) -> int:
    """Wipe the digits of codes that can no longer be used; how many."""
    return VerificationCode.objects.filter(expires_at__lt=now).exclude(sealed=None).update(sealed=None)
