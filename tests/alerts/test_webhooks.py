"""The carrier's edge: signed or nothing, every report answered, buttons, stop words, and the keys of a call."""

from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import time_machine
from django.test import Client
from pytest_django import Settings

from accounts.models import Account, Holder, Number
from alerts import delivery
from alerts.models import Alert, Attempt, CarrierEvent
from tests.alerts.rows import (
    ACKNOWLEDGE,
    NOON,
    OWNER,
    Step,
    attempts_of,
    first_of,
    make_alert,
    money_of,
)
from tests.carrier import FakeCarrier
from tests.signing import post, post_signed, sign

pytestmark = pytest.mark.django_db
SID, CALL_SID = f"SM{1:032x}", f"CA{1:032x}"
INBOUND = "/webhooks/twilio/inbound"
LATER = datetime(2026, 10, 3, 12, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def clock() -> Any:
    """The edge reads the clock: it stands at one minute past noon."""
    with time_machine.travel(LATER, tick=False) as traveller:
        yield traveller


@pytest.fixture
def alert(number: Number) -> Alert:
    return start(make_alert(number))


def start(alert: Alert) -> Alert:
    """Hand the alert's first attempt over."""
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier())
    return alert


def status_path(alert: Alert) -> str:
    return f"/webhooks/twilio/status/{first_of(alert).ref}"


def voice_path(alert: Alert, query: str = "") -> str:
    return f"/webhooks/twilio/voice/{first_of(alert).ref}{query}"


def fields(status: str, **more: str) -> dict[str, str]:
    sms = {"From": "+12025550190", "To": OWNER, "MessageSid": SID, "SmsSid": SID}
    return {**sms, "MessageStatus": status, "SmsStatus": status, **more}


def words(response: Any) -> list[str]:
    assert response.headers["Content-Type"] == "text/xml; charset=utf-8"
    return [say.text or "" for say in ET.fromstring(response.content.decode()).iter("Say")]


# --- the door


def test_case_01_every_report_is_answered_204_and_the_first_end_stays(account: Account, alert: Alert) -> None:
    for status in ("delivered", "sent", "queued", "delivered"):
        assert post_signed(status_path(alert), fields(status)).status_code == 204
    assert (first_of(alert).status, money_of(account)) == ("delivered", (993, 0))


@pytest.mark.parametrize("status", ["scheduled", "partially_delivered", "foo"])
def test_case_05_unknown_words_and_parameters_are_answered_and_only_recorded(alert: Alert, status: str) -> None:
    response = post_signed(status_path(alert), fields(status, Brandnew="+12025550123 says hi", ErrorCode="x"))
    assert (response.status_code, response.content) == (204, b"")
    event = CarrierEvent.objects.get(kind="callback")
    assert (event.status, event.moved, event.error_code) == (status, False, None)
    assert first_of(alert).status == "sending"


def test_no_number_text_or_unknown_parameter_is_kept(alert: Alert) -> None:
    post_signed(status_path(alert), fields("delivered", Body="words", ProfileName="Ada", RawDlrDoneDate="2610031201"))
    assert CarrierEvent.objects.get(kind="callback").params == {
        "ApiVersion": "2010-04-01",
        "MessageStatus": "delivered",
        "RawDlrDoneDate": "2610031201",
        "SmsStatus": "delivered",
    }


def test_parameters_that_a_database_cannot_hold_do_no_harm(alert: Alert) -> None:
    odd = fields("fo\x00o" * 200, ErrorCode="9" * 30, SequenceNumber="-1", CallDuration="٣")
    assert post_signed(status_path(alert), odd).status_code == 204
    event = CarrierEvent.objects.get(kind="callback")
    assert (event.status, event.error_code) == (("foo" * 200)[:30], None)


def test_case_06_what_is_not_signed_for_us_is_refused_and_nothing_is_written(alert: Alert, settings: Settings) -> None:
    path = status_path(alert)
    ours = {"AccountSid": settings.TWILIO_ACCOUNT_SID, **fields("delivered")}
    other_account = {**ours, "AccountSid": "AC" + "9" * 32}
    before = CarrierEvent.objects.count()
    refused = [
        post(path, ours, signature=None),
        post(path, ours, signature=""),
        post(path, ours, signature=sign(path, ours, token="another-token")),
        post(path, ours, signature=sign(f"{path}/", ours)),
        post(path, ours, signature=sign(path, ours, base_url="https://elsewhere.example")),
        post(path, ours, signature=sign(path, {**ours, "MessageStatus": "sent"})),
        post(path, other_account, signature=sign(path, other_account)),
        post(path, fields("delivered"), signature=sign(path, fields("delivered"))),
        post(path, ours, signature="é" * 28),
        post(INBOUND, ours, signature=sign(path, ours)),
    ]
    assert [response.status_code for response in refused] == [403] * 10
    assert CarrierEvent.objects.count() == before
    assert first_of(alert).status == "sending"


def test_nobody_is_let_in_before_the_account_is_set_up(alert: Alert, settings: Settings) -> None:
    settings.TWILIO_ACCOUNT_SID = settings.TWILIO_AUTH_TOKEN = ""
    sent = {"AccountSid": "", **fields("delivered")}
    assert post(status_path(alert), sent, signature=sign(status_path(alert), sent, token="x")).status_code == 403


def test_the_secondary_token_is_taken_during_a_rotation(alert: Alert, settings: Settings) -> None:
    settings.TWILIO_AUTH_TOKEN_SECONDARY = "the-other-one"
    sent = {"AccountSid": settings.TWILIO_ACCOUNT_SID, **fields("delivered")}
    signature = sign(status_path(alert), sent, token="the-other-one")
    assert post(status_path(alert), sent, signature=signature).status_code == 204
    assert first_of(alert).status == "delivered"


def test_the_signature_is_checked_against_our_address_whatever_a_proxy_says(alert: Alert, settings: Settings) -> None:
    settings.BASE_URL = "https://breakpass.example"
    settings.ALLOWED_HOSTS = ["*"]
    headers: dict[str, Any] = {"host": "internal:8000", "x-forwarded-host": "evil.example", "x-forwarded-proto": "http"}
    assert post_signed(status_path(alert), fields("delivered"), **headers).status_code == 204
    assert first_of(alert).status == "delivered"


@pytest.mark.parametrize("slash", ["", "/"])
def test_case_07_with_and_without_a_slash_it_is_answered_directly(alert: Alert, slash: str) -> None:
    assert post_signed(status_path(alert) + slash, fields("delivered")).status_code == 204
    inbound = {"From": OWNER, "Body": "hi", "MessageSid": SID}
    assert post_signed(INBOUND + slash, inbound).status_code == 200
    assert first_of(alert).status == "delivered"


def test_only_posts_are_taken(alert: Alert) -> None:
    for path in (status_path(alert), INBOUND, voice_path(alert)):
        response = Client().get(path)
        assert (response.status_code, response.headers["Allow"]) == (405, "POST")


def test_a_body_beyond_all_measure_is_refused(alert: Alert) -> None:
    assert post_signed(status_path(alert), fields("delivered", Body="x" * 70_000)).status_code == 413
    assert first_of(alert).status == "sending"


def test_a_signed_report_about_nothing_of_ours_is_answered_and_flagged() -> None:
    path = "/webhooks/twilio/status/00000000-0000-4000-8000-000000000000"
    assert post_signed(path, fields("delivered")).status_code == 204
    assert CarrierEvent.objects.get().is_flagged is True


# --- inbound messages


def press(alert: Alert, sender: str = OWNER, sid: str = SID) -> int:
    sent = {
        "From": f"whatsapp:{sender}",
        "To": "whatsapp:+12025550191",
        "MessageSid": sid,
        "Body": "Acknowledge",
        "ButtonText": "Acknowledge",
        "ButtonPayload": alert.ack_token,
        "MessageType": "button",
    }
    return post_signed(INBOUND, sent).status_code


def test_case_15_the_button_acknowledges_the_alert_it_stands_under(number: Number) -> None:
    older = start(make_alert(number, ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40))
    newer = make_alert(number, ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40)
    assert press(older) == 200
    older.refresh_from_db()
    newer.refresh_from_db()
    assert (older.status, older.ack_via, older.acknowledged_at) == ("acknowledged", "whatsapp_button", LATER)
    assert newer.status == "queued"


def test_case_15_the_same_payload_from_another_number_is_ignored_and_flagged(number: Number) -> None:
    alert = start(make_alert(number, ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40))
    assert press(alert, sender="+12025550199") == 200
    alert.refresh_from_db()
    assert (alert.status, alert.acknowledged_at) == ("sent", None)
    event = CarrierEvent.objects.get(kind="inbound_button")
    assert (event.is_flagged, event.moved) == (True, False)


def test_case_15_a_typed_word_is_no_acknowledgement(number: Number) -> None:
    alert = start(make_alert(number, ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40))
    for body in ("Acknowledge", alert.ack_token, "1"):
        sent = {"From": f"whatsapp:{OWNER}", "Body": body, "MessageSid": f"SM{body}"}
        assert post_signed(INBOUND, sent).status_code == 200
    alert.refresh_from_db()
    assert (alert.status, alert.acknowledged_at, alert.late_ack_at) == ("sent", None, None)


@pytest.mark.parametrize("sender", [OWNER, f"whatsapp:{OWNER}"])
def test_case_17_a_stop_on_either_channel_stops_the_number(number: Number, account: Account, sender: str) -> None:
    alert = make_alert(number, [Step(0, "sms"), Step(5, "sms")], workflow_key="inform")
    response = post_signed(INBOUND, {"From": sender, "Body": "STOP", "MessageSid": SID})
    assert words(response) == []
    alert.refresh_from_db()
    assert (alert.status, alert.failure_code) == ("failed", "RECIPIENT_OPTED_OUT")
    assert [one.status for one in attempts_of(alert)] == ["skipped", "skipped"]
    assert Holder.objects.get().opted_out_at == LATER
    assert money_of(account) == (1000, 0)


def test_a_stop_that_comes_again_after_the_person_came_back_does_nothing(number: Number, clock: Any) -> None:
    sent = {"From": OWNER, "Body": "stop", "MessageSid": SID}
    post_signed(INBOUND, sent)
    Number.objects.update(verified_at=LATER + timedelta(minutes=5))
    clock.shift(600)
    post_signed(INBOUND, sent)
    number.refresh_from_db()
    assert (number.is_opted_out(), Holder.objects.get().opted_out_at) == (False, LATER)


def test_start_and_other_words_change_nothing_and_are_not_kept(number: Number) -> None:
    Holder.objects.update(opted_out_at=NOON, opted_out_via="sms")
    for body in ("START", "UNSTOP", "don't stop", "stopping by"):
        post_signed(INBOUND, {"From": OWNER, "Body": body, "MessageSid": f"SM{body}"})
    assert Holder.objects.get().opted_out_at == NOON
    assert all("stop" not in str(event.params).lower() for event in CarrierEvent.objects.all())


def test_a_stop_from_a_number_we_never_met_is_kept_for_later() -> None:
    post_signed(INBOUND, {"From": "+12025550155", "Body": "STOP", "MessageSid": SID})
    assert Holder.objects.get().opted_out_at == LATER


@pytest.mark.parametrize("sender", ["", "83273", "BreakPass", "+999999999999999", "whatsapp:"])
def test_a_stop_from_what_is_no_phone_is_answered(sender: str) -> None:
    assert post_signed(INBOUND, {"From": sender, "Body": "STOP", "MessageSid": SID}).status_code == 200
    assert Holder.objects.count() == 0


def test_a_stop_that_only_the_carrier_understood_counts(number: Number) -> None:
    post_signed(INBOUND, {"From": OWNER, "Body": "αντίο", "OptOutType": "STOP", "MessageSid": SID})
    assert Holder.objects.get().opted_out_at == LATER


# --- calls


@pytest.fixture
def call(number: Number) -> Alert:
    return start(make_alert(number, [Step(0, "call"), Step(1, "call")], workflow_key="escalate", requires_ack=True))


def test_asking_for_the_words_shows_that_the_call_was_answered(account: Account, call: Alert) -> None:
    response = post_signed(voice_path(call), {"CallSid": CALL_SID, "CallStatus": "in-progress"})
    said = words(response)
    assert said == [
        "This is BreakPass by X Labs, with an alert from Checkout monitor.",
        "Checkout is failing.",
        "Press 1 to acknowledge.",
        "To stop all BreakPass alerts to this number, press 9.",
        "To reach us, call 3 3 2, 2 8 7, 9 2 0 0.",
        "Goodbye.",
    ]
    attempt = first_of(call)
    assert (attempt.status, attempt.answered_at, attempt.charged_cents) == ("answered", LATER, 12)


def gather(response: Any, index: int) -> str:
    """The path and query that a key in the nth Gather is posted to."""
    actions = [one.attrib["action"] for one in ET.fromstring(response.content.decode()).iter("Gather")]
    return actions[index].removeprefix("http://127.0.0.1:8000").split("#")[0]


@pytest.mark.parametrize("index", [0, 1, 2])
def test_key_1_acknowledges_from_the_first_word_to_the_last(call: Alert, index: int) -> None:
    opening = post_signed(voice_path(call), {"CallSid": CALL_SID})
    response = post_signed(gather(opening, index), {"CallSid": CALL_SID, "Digits": "1"})
    assert words(response) == ["Acknowledged. Goodbye."]
    call.refresh_from_db()
    assert (call.status, call.ack_via, call.acknowledged_at) == ("acknowledged", "dtmf", LATER)
    assert attempts_of(call)[1].failure_code == "ACKNOWLEDGED"


def test_key_9_stops_everything_from_the_stop_sentence_on(call: Alert) -> None:
    opening = post_signed(voice_path(call), {"CallSid": CALL_SID})
    early = post_signed(gather(opening, 0), {"CallSid": CALL_SID, "Digits": "9"})
    assert Holder.objects.get().opted_out_at is None
    assert words(early)[0] == "Checkout is failing."
    late = post_signed(gather(opening, 1), {"CallSid": CALL_SID, "Digits": "9"})
    assert words(late) == ["You will receive no more BreakPass alerts. Goodbye."]
    call.refresh_from_db()
    assert (Holder.objects.get().opted_out_at, call.failure_code) == (LATER, "RECIPIENT_OPTED_OUT")


def test_nothing_is_said_before_it_is_written(call: Alert, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = post_signed(voice_path(call), {"CallSid": CALL_SID})

    def fail(*args: object, **kwargs: object) -> str:
        raise RuntimeError("the database is away")

    monkeypatch.setattr("alerts.acks.close", fail)
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    response = post_signed(gather(opening, 0), {"CallSid": CALL_SID, "Digits": "1"}, client=client)
    call.refresh_from_db()
    assert (response.status_code, call.acknowledged_at) == (500, None)
    assert b"Acknowledged" not in response.content


def test_a_call_to_a_number_that_stopped_meanwhile_says_goodbye_only(call: Alert) -> None:
    Holder.objects.update(opted_out_at=NOON, opted_out_via="sms")
    assert words(post_signed(voice_path(call), {"CallSid": CALL_SID})) == ["Goodbye."]


def test_a_call_that_is_not_ours_is_ended_without_a_word(alert: Alert) -> None:
    for ref in ("00000000-0000-4000-8000-000000000000", str(Attempt.objects.get().ref)):
        response = post_signed(f"/webhooks/twilio/voice/{ref}", {"CallSid": CALL_SID})
        assert words(response) == []
        assert b"<Hangup" in response.content
