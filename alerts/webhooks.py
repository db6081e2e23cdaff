"""The carrier's edge: reports, inbound messages and a call's keys. Parses, makes one domain call, answers."""

import re

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from alerts import acks, calls, codes, delivery
from alerts.addresses import code_of
from alerts.carriers.base import Report
from alerts.models import CarrierEvent
from alerts.parameters import kept, number_of, report_of, text_of
from alerts.recording import keep
from alerts.signed import signed
from alerts.stopwords import is_stop
from breakpass.ids import sha256_hex

E164 = re.compile(r"\+[1-9][0-9]{5,14}")
NOTHING_TO_SAY = '<?xml version="1.0" encoding="UTF-8"?><Response/>'


def _twiml(document: str) -> HttpResponse:
    return HttpResponse(document, content_type="text/xml; charset=utf-8")


@signed
def status(request: HttpRequest, ref: str) -> HttpResponse:
    """A report about a message or a call. Always 204 once it is kept, whatever it says (cases, 1-5, 13, 14)."""
    delivery.record(ref, report_of(request.POST.dict()), now=timezone.now())
    return HttpResponse(status=204)


@signed
def code(request: HttpRequest, token: str) -> HttpResponse:
    """A report about a verification code."""
    code_id = code_of(token)
    if code_id is not None:
        codes.record(code_id, report_of(request.POST.dict()), now=timezone.now())
    return HttpResponse(status=204)


@signed
def code_voice(request: HttpRequest, token: str) -> HttpResponse:
    """The words of a call that reads a code out."""
    code_id = code_of(token)
    return _twiml(codes.read_out(code_id, now=timezone.now()) if code_id is not None else NOTHING_TO_SAY)


@signed
def voice(request: HttpRequest, ref: str) -> HttpResponse:
    """A call's words, and after each key what follows it. Whatever a key does is written before it is answered.

    An error is a 500 on purpose: Twilio asks again, and nobody hears "Acknowledged" that was not.
    """
    key = None
    if "part" in request.GET:
        heard = number_of(request.GET.dict(), "heard", 99) or 1
        key = calls.Key(part=request.GET["part"], heard=heard, digits=text_of(request.POST.dict(), "Digits"))
    sid = text_of(request.POST.dict(), "CallSid")
    return _twiml(calls.speak(ref, sid=sid, key=key, now=timezone.now()))


@signed
def inbound(request: HttpRequest) -> HttpResponse:
    """A message from a person: the Acknowledge button, a stop word, or something we do not read (cases, 15-17).

    What was written is not kept. A request that comes again is answered and does nothing: a stop from before a person
    came back must not stop them twice.
    """
    now, fields = timezone.now(), request.POST.dict()
    sid = text_of(fields, "MessageSid") or text_of(fields, "SmsSid")
    report = Report(source="callback", sid=sid, status="inbound", params=kept(fields))
    fingerprint = sha256_hex(f"inbound\x00{sid}")
    if not CarrierEvent.objects.filter(fingerprint=fingerprint).exists():
        kind, is_flagged = _take_inbound(fields)
        keep(report, fingerprint, now=now, kind=kind, moved=kind != "inbound" and not is_flagged, is_flagged=is_flagged)
    return _twiml(NOTHING_TO_SAY)


def _take_inbound(fields: dict[str, str]) -> tuple[str, bool]:
    """Do what an inbound message asks for; what it was, and whether staff should look."""
    now, sender = timezone.now(), fields.get("From", "")
    e164 = sender.removeprefix("whatsapp:")
    if not E164.fullmatch(e164):
        # A short code or a name: nobody we ever sent anything to.
        return "inbound", False
    if fields.get("ButtonPayload"):
        outcome = acks.press_button(text_of(fields, "ButtonPayload"), e164, now=now)
        return "inbound_button", outcome == "foreign"
    if is_stop(fields.get("Body", "")) or fields.get("OptOutType", "").upper() == "STOP":
        via = "whatsapp" if sender.startswith("whatsapp:") else "sms"
        acks.stop_number(e164, via=via, now=now)
        return "inbound_stop", False
    return "inbound", False
