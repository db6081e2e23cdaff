"""Verification codes on their way: claimed once, sent once, never in the clear for longer than it takes."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import time_machine

from accounts.locking import locked
from accounts.models import Account, Holder, Number, VerificationCode
from accounts.numbers import request_code
from accounts.sealing import unseal
from alerts import codes, outbox
from alerts.addresses import code_of, code_token
from alerts.carriers.base import Refused, Report, Throttled, Unknown, Unreachable
from tests.alerts.rows import NOON, make_number
from tests.carrier import FakeCarrier
from tests.signing import post_signed

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(seconds=1)


@pytest.fixture
def number(account: Account) -> Number:
    return make_number(account, is_verified=False)


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(LATER, tick=False) as traveller:
        yield traveller


def ask(account: Account, number: Number, **more: Any) -> VerificationCode:
    with locked(account.pk) as row:
        return request_code(row, number, now=NOON, **{"channel": "sms", **more})


def digits_of(code: VerificationCode) -> str:
    assert code.sealed is not None
    return unseal(bytes(code.sealed))


def test_a_code_goes_out_once_and_its_digits_are_forgotten(account: Account, number: Number) -> None:
    code = ask(account, number)
    digits = digits_of(code)
    carrier = FakeCarrier()
    assert [codes.send(code.pk, LATER, carrier=carrier) for _ in range(3)] == [True, False, False]
    assert len(carrier.requests) == 1
    sent = carrier.requests[0]
    assert digits in sent.text
    assert (sent.channel, sent.to, sent.validity_s) == ("sms", "+12025550123", 599)
    assert sent.status_url == f"http://127.0.0.1:8000/webhooks/twilio/code/{code_token(code.pk)}#rc=3&rp=all"
    code.refresh_from_db()
    assert (code.sealed, code.sent_at, code.carrier_sid) == (None, LATER, f"SM{1:032x}")


def test_an_invite_names_who_invites_and_how_to_stop(account: Account, number: Number) -> None:
    code = ask(account, number, is_invite=True)
    carrier = FakeCarrier()
    codes.send(code.pk, LATER, carrier=carrier)
    text = carrier.requests[0].text
    assert text.startswith("Ada invites you")
    assert text.endswith("Reply STOP to opt out.")


def test_by_whatsapp_it_is_the_code_template(account: Account, number: Number) -> None:
    code = ask(account, number, channel="whatsapp", is_invite=True)
    digits = digits_of(code)
    carrier = FakeCarrier()
    codes.send(code.pk, LATER, carrier=carrier)
    sent = carrier.requests[0]
    assert (sent.template, sent.variables["2"], sent.text) == ("code", digits, "")
    assert sent.variables["1"].startswith("Ada invites you")


def test_what_is_closed_or_over_is_not_sent(account: Account, number: Number) -> None:
    code = ask(account, number)
    carrier = FakeCarrier()
    assert codes.send(code.pk, code.expires_at, carrier=carrier) is False
    VerificationCode.objects.update(closed_at=NOON)
    assert codes.send(code.pk, LATER, carrier=carrier) is False
    assert codes.send(0, LATER, carrier=carrier) is False
    assert carrier.requests == []


def test_the_sweep_sends_what_no_nudge_reached(account: Account, number: Number) -> None:
    ask(account, number)
    carrier = FakeCarrier()
    assert outbox.sweep(LATER, carrier=carrier).codes == 1
    assert outbox.sweep(LATER, carrier=carrier).codes == 0
    assert len(carrier.requests) == 1


def test_without_a_connection_it_waits_for_the_next_sweep(account: Account, number: Number) -> None:
    code = ask(account, number)
    carrier = FakeCarrier(answers=[Unreachable()])
    codes.send(code.pk, LATER, carrier=carrier)
    code.refresh_from_db()
    assert (code.claimed_at, code.failure_reason) == (None, "")
    assert codes.send(code.pk, LATER, carrier=carrier) is True


@pytest.mark.parametrize("problem", [Throttled(2), Unknown()])
def test_an_uncertain_send_is_never_repeated(account: Account, number: Number, problem: Exception) -> None:
    code = ask(account, number)
    carrier = FakeCarrier(answers=[problem])
    codes.send(code.pk, LATER, carrier=carrier)
    outbox.sweep(LATER + timedelta(seconds=60), carrier=carrier)
    code.refresh_from_db()
    assert (len(carrier.requests), code.failure_reason) == (1, "R13")


def test_a_refusal_tells_the_page_why(account: Account, number: Number) -> None:
    code = ask(account, number)
    codes.send(code.pk, LATER, carrier=FakeCarrier(answers=[Refused(21211, 400)]))
    code.refresh_from_db()
    assert (code.failure_reason, code.sent_at) == ("R02", None)


def test_a_number_stopped_at_the_carrier_is_stopped_here_too(account: Account, number: Number) -> None:
    code = ask(account, number)
    codes.send(code.pk, LATER, carrier=FakeCarrier(answers=[Refused(21610, 400)]))
    code.refresh_from_db()
    assert (code.failure_reason, code.closed_at) == ("R05", LATER)
    assert Holder.objects.get().opted_out_at == LATER


@pytest.mark.usefixtures("clock")
def test_reports_say_why_it_did_not_arrive_and_who_is_on_whatsapp(account: Account, number: Number) -> None:
    code = ask(account, number, channel="whatsapp")
    path = f"/webhooks/twilio/code/{code_token(code.pk)}"
    assert post_signed(path, {"MessageSid": "SM1", "MessageStatus": "sent"}).status_code == 204
    assert Holder.objects.get().whatsapp == "unknown"
    failed = {"MessageSid": "SM1", "MessageStatus": "undelivered", "ErrorCode": "63024"}
    assert post_signed(path, failed).status_code == 204
    code.refresh_from_db()
    assert (code.failure_reason, Holder.objects.get().whatsapp) == ("R04", "no")
    post_signed(f"{path}/", {"MessageSid": "SM2", "MessageStatus": "delivered"})
    assert Holder.objects.get().whatsapp == "yes"


@pytest.mark.usefixtures("clock")
def test_a_call_reads_the_code_out_digit_by_digit_while_it_works(account: Account, number: Number) -> None:
    code = ask(account, number, channel="call", by_holder=True)
    spoken = ", ".join(digits_of(code))
    carrier = FakeCarrier()
    codes.send(code.pk, LATER, carrier=carrier)
    path = carrier.requests[0].voice_url.removeprefix("http://127.0.0.1:8000").split("#")[0]
    said = ET.fromstring(post_signed(path, {"CallSid": "CA1"}).content.decode())
    assert [say.text for say in said.iter("Say")] == [
        f"This is BreakPass by X Labs. Your verification code is {spoken}.",
        f"I repeat: {spoken}.",
        "Give it to nobody.",
        "Goodbye.",
    ]
    VerificationCode.objects.update(closed_at=LATER)
    said = ET.fromstring(post_signed(path, {"CallSid": "CA1"}).content.decode())
    assert [say.text for say in said.iter("Say")] == ["Goodbye."]


def test_a_token_names_its_code_and_cannot_be_made_up() -> None:
    assert code_of(code_token(12)) == 12
    forged = "13." + code_token(12).split(".")[1]
    assert [code_of(token) for token in (forged, "12", "", "x.y")] == [None] * 4


@pytest.mark.usefixtures("clock")
def test_a_report_under_a_made_up_token_does_nothing(account: Account, number: Number) -> None:
    code = ask(account, number)
    sent = {"MessageSid": "SM1", "MessageStatus": "failed", "ErrorCode": "21610"}
    assert post_signed(f"/webhooks/twilio/code/{code.pk}.forged", sent).status_code == 204
    assert Holder.objects.get().opted_out_at is None


def test_digits_are_wiped_when_the_code_is_over(account: Account, number: Number) -> None:
    code = ask(account, number)
    assert codes.forget(code.expires_at) == 0
    assert codes.forget(code.expires_at + timedelta(seconds=1)) == 1
    code.refresh_from_db()
    assert code.sealed is None


def test_a_report_moves_nothing_of_a_code_that_is_gone() -> None:
    codes.record(404, Report(source="callback", sid="SM1", status="failed", error_code=21610), now=NOON)
    assert Holder.objects.count() == 0
