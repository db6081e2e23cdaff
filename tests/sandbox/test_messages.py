"""Messages through Twilio's SDK: statuses, callbacks, refusals, opt-out, WhatsApp's rules."""

import json
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from twilio.base.exceptions import TwilioRestException
from twilio.request_validator import RequestValidator
from twilio.rest import Client

from sandbox import Sandbox
from tests.sandbox.conftest import MAYA, NOAH, START, Receiver

Send = Callable[..., str]


def test_a_text_is_queued_then_reported_sent_then_delivered(
    sandbox: Sandbox, client: Client, receiver: Receiver, text: Send
) -> None:
    sid = text()
    assert sid.startswith("SM")
    assert len(sid) == 34
    assert client.messages(sid).fetch().status == "queued"
    sandbox.settle()
    assert receiver.received == []

    sandbox.advance(0.4)
    assert receiver.statuses() == ["sent"]
    sandbox.advance(5)
    assert receiver.statuses() == ["sent", "delivered"]
    assert receiver.params()[1] == {
        "AccountSid": sandbox.config.account_sid,
        "ApiVersion": "2010-04-01",
        "From": sandbox.config.sms_from,
        "To": MAYA,
        "MessageSid": sid,
        "MessageStatus": "delivered",
        "SmsSid": sid,
        "SmsStatus": "delivered",
        "RawDlrDoneDate": "2603041200",
    }
    fetched = client.messages(sid).fetch()
    assert (fetched.status, fetched.date_sent, fetched.price) == ("delivered", START, None)
    sandbox.advance(60)
    assert client.messages(sid).fetch().price == "-0.00830"


def test_callbacks_are_signed_so_that_the_sdk_accepts_them(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    text()
    sandbox.advance(5)
    got = receiver.received[0]
    validator = RequestValidator(sandbox.config.auth_token)
    url = f"{receiver.url}/status/1"
    assert got.path == "/status/1"
    assert validator.validate(url, got.params, got.headers["x-twilio-signature"])
    assert not validator.validate(url, got.params | {"MessageStatus": "read"}, got.headers["x-twilio-signature"])
    assert not RequestValidator("other").validate(url, got.params, got.headers["x-twilio-signature"])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"to": "+1202555"}, 21211),
        ({"to": "12025550101"}, 21211),
        ({"to": "+15005550003"}, 21408),
        ({"to": "+15005550009"}, 21614),
        ({"from_": "+12025550999"}, 21606),
        ({"from_": "+1202"}, 21212),
        ({"from_": "BreakPass"}, 21612),
        ({"from_": "whatsapp:+12025550143"}, 21910),
        ({"body": ""}, 21602),
        ({"body": "x" * 1601}, 21617),
        ({"validity_period": 36001}, 21624),
        ({"validity_period": 0}, 21624),
        ({"status_callback": "not an address"}, 21609),
        ({"status_callback": "http://bad_host/x"}, 21609),
        ({"risk_check": "maybe"}, 20001),
        ({"messaging_service_sid": "MG" + "0" * 32}, 21701),
        ({"content_sid": "HX" + "f" * 32}, 21655),
        ({"content_variables": "{}"}, 21654),
    ],
)
def test_a_bad_message_is_refused_with_twilios_code_and_nothing_is_sent(
    sandbox: Sandbox, client: Client, receiver: Receiver, change: dict[str, Any], code: int
) -> None:
    good: dict[str, Any] = {"to": MAYA, "from_": sandbox.config.sms_from, "body": "Hello"}
    with pytest.raises(TwilioRestException) as refused:
        client.messages.create(**good | change)
    assert (refused.value.code, refused.value.status) == (code, 400)
    assert sandbox.messages() == []
    sandbox.advance(10)
    assert receiver.received == []


def test_a_missing_sender_or_number_has_its_own_code(sandbox: Sandbox, client: Client) -> None:
    with pytest.raises(TwilioRestException) as no_from:
        client.messages.create(to=MAYA, body="Hello")
    with pytest.raises(TwilioRestException) as no_to:
        client.messages.create(to="", from_=sandbox.config.sms_from, body="Hello")
    assert (no_from.value.code, no_to.value.code) == (21603, 21604)


def test_wrong_credentials_are_401_with_20003(sandbox: Sandbox, client: Client) -> None:
    wrong = Client(sandbox.config.account_sid, "wrong", http_client=client.http_client)
    with pytest.raises(TwilioRestException) as refused:
        wrong.messages.create(to=MAYA, from_=sandbox.config.sms_from, body="Hello")
    assert (refused.value.code, refused.value.status) == (20003, 401)
    other = Client("AC" + "1" * 32, sandbox.config.auth_token, http_client=client.http_client)
    with pytest.raises(TwilioRestException):
        other.messages("SM" + "0" * 32).fetch()
    assert sandbox.messages() == []


def test_an_unknown_message_is_404_with_20404(client: Client) -> None:
    with pytest.raises(TwilioRestException) as missing:
        client.messages("SM" + "0" * 32).fetch()
    assert (missing.value.code, missing.value.status) == (20404, 404)


def test_messages_are_listed_newest_first_by_number_and_day_over_pages(
    sandbox: Sandbox, client: Client, text: Send
) -> None:
    sids = [text(body=f"Number {n}") for n in range(5)]
    text(to=NOAH)
    sandbox.advance(10)
    assert [m.sid for m in client.messages.list(to=MAYA, page_size=2)] == sids[::-1]
    assert [m.sid for m in client.messages.list(to=MAYA, page_size=2, limit=3)] == sids[:1:-1]
    assert len(client.messages.list(from_=sandbox.config.sms_from)) == 6
    assert client.messages.list(from_="+12025550999") == []
    assert len(client.messages.list(date_sent=START.date())) == 6
    assert client.messages.list(date_sent=date(2026, 3, 3)) == []
    assert len(client.messages.list(date_sent_after=START)) == 6
    assert client.messages.list(date_sent_after=START + timedelta(hours=1)) == []
    assert client.messages.list(date_sent_before=START - timedelta(hours=1)) == []


def test_a_name_may_send_where_names_are_allowed(sandbox: Sandbox, client: Client) -> None:
    client.messages.create(to="+4915112345678", from_="BreakPass", body="Hello")
    sandbox.advance(5)
    assert sandbox.expect_message("+4915112345678").sender == "BreakPass"


def test_stop_blocks_answers_and_is_still_posted_and_start_lifts_it(
    sandbox: Sandbox, client: Client, receiver: Receiver, text: Send
) -> None:
    text()
    sandbox.advance(5)
    phone = sandbox.phone(MAYA)
    phone.reply(" stop ")
    sandbox.advance(5)
    inbound = receiver.params("/inbound")[0]
    assert (inbound["Body"], inbound["From"], inbound["To"]) == (" stop ", MAYA, sandbox.config.sms_from)
    assert inbound["SmsStatus"] == "received"
    assert "OptOutType" not in inbound
    assert phone.messages("sms")[-1].direction == "outbound-reply"
    assert phone.messages("sms")[-1].status == "delivered"

    with pytest.raises(TwilioRestException) as refused:
        text()
    assert (refused.value.code, refused.value.status) == (21610, 400)
    text(to=NOAH)
    phone.reply("START")
    text()


def test_stop_inside_a_sentence_does_not_opt_out(sandbox: Sandbox, text: Send) -> None:
    text()
    sandbox.advance(5)
    sandbox.phone(MAYA).reply("don't stop")
    sandbox.phone(MAYA).reply("YES")
    assert not sandbox.phone(MAYA).has_opted_out
    text()


def test_the_block_can_come_as_a_failed_callback_instead(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    sandbox.phone(MAYA).reply("STOP")
    sandbox.exchange.opt_out_at = "callback"
    text()
    sandbox.advance(5)
    assert receiver.statuses() == ["failed"]
    assert receiver.params("/status")[0]["ErrorCode"] == "21610"


def test_whatsapp_carries_the_template_its_button_and_read(
    sandbox: Sandbox, client: Client, receiver: Receiver, chat: Send
) -> None:
    sid = chat(token="tok-77")
    assert sid.startswith("MM")
    sandbox.advance(5)
    assert receiver.statuses() == ["sent", "delivered"]
    sandbox.phone(MAYA).read()
    sandbox.settle()
    assert receiver.statuses() == ["sent", "delivered", "read"]
    last = receiver.params("/status")[-1]
    assert (last["EventType"], last["ChannelPrefix"], last["To"]) == ("READ", "whatsapp", f"whatsapp:{MAYA}")
    assert "RawDlrDoneDate" not in last
    assert client.messages(sid).fetch().body == "BreakPass alert from Deploy bot: Disk full — sent by BreakPass."

    sandbox.phone(MAYA).press_button(sid)
    sandbox.settle()
    pressed = receiver.params("/inbound")[0]
    assert {k: pressed[k] for k in ("Body", "ButtonText", "ButtonPayload", "MessageType", "WaId", "From")} == {
        "Body": "Acknowledge",
        "ButtonText": "Acknowledge",
        "ButtonPayload": "tok-77",
        "MessageType": "button",
        "WaId": "12025550101",
        "From": f"whatsapp:{MAYA}",
    }
    assert pressed["OriginalRepliedMessageSid"] == sid
    assert pressed["ProfileName"] == "Phone"


@pytest.mark.parametrize(
    "variables",
    [
        "",
        "not json",
        "[]",
        {"1": "a", "2": "b"},
        {"1": "a", "2": "b", "3": ""},
        {"1": "a", "2": "b\nc", "3": "d"},
        {"1": "a", "2": "b\tc", "3": "d"},
        {"1": "a", "2": "b     c", "3": "d"},
        {"1": "a", "2": "b", "3": 4},
        {"1": "a", "2": "b", "3": "d", "4": "e"},
    ],
)
def test_bad_content_variables_are_refused(sandbox: Sandbox, client: Client, variables: Any) -> None:
    with pytest.raises(TwilioRestException) as refused:
        client.messages.create(
            to=f"whatsapp:{MAYA}",
            from_=f"whatsapp:{sandbox.config.whatsapp_from}",
            content_sid=sandbox.config.template_alert_ack,
            content_variables=variables if isinstance(variables, str) else json.dumps(variables),
        )
    assert refused.value.code == 21656
    assert sandbox.messages() == []


def _free_text(sandbox: Sandbox, client: Client, receiver: Receiver) -> None:
    client.messages.create(
        to=f"whatsapp:{MAYA}",
        from_=f"whatsapp:{sandbox.config.whatsapp_from}",
        body="Hello",
        status_callback=f"{receiver.url}/status/9",
    )
    sandbox.advance(5)


def test_free_text_on_whatsapp_needs_a_message_from_the_person_within_24_hours(
    sandbox: Sandbox, client: Client, receiver: Receiver
) -> None:
    _free_text(sandbox, client, receiver)
    assert receiver.statuses() == ["failed"]
    assert receiver.params("/status")[0]["ErrorCode"] == "63016"
    assert "ChannelStatusMessage" in receiver.params("/status")[0]

    sandbox.phone(MAYA).reply("Hi", "whatsapp")
    sandbox.advance(24 * 3600 - 20)
    _free_text(sandbox, client, receiver)
    assert receiver.statuses()[1:] == ["sent", "delivered"]
    sandbox.advance(30)
    _free_text(sandbox, client, receiver)
    assert receiver.statuses()[3:] == ["failed"]


@pytest.mark.parametrize(
    ("approval", "code"), [("rejected", "63040"), ("paused", "63041"), ("disabled", "63042"), ("pending", "63016")]
)
def test_a_template_that_is_not_approved_fails(
    sandbox: Sandbox, receiver: Receiver, chat: Send, approval: str, code: str
) -> None:
    sandbox.templates.change(sandbox.config.template_alert_ack, approval=approval)
    chat()
    sandbox.advance(5)
    assert receiver.statuses() == ["failed"]
    assert receiver.params("/status")[0]["ErrorCode"] == code


def test_templates_are_served_by_the_content_api(sandbox: Sandbox, client: Client) -> None:
    template = client.content.v1.contents(sandbox.config.template_alert_ack).fetch()
    assert template.types == {
        "twilio/quick-reply": {
            "body": "BreakPass alert from {{1}}: {{2}} — sent by BreakPass.",
            "actions": [{"type": "QUICK_REPLY", "title": "Acknowledge", "id": "{{3}}"}],
        }
    }
    approval = client.content.v1.contents(sandbox.config.template_alert_ack).approval_fetch().fetch()
    assert approval.whatsapp is not None
    assert approval.whatsapp["status"] == "approved"
    sandbox.templates.change(sandbox.config.template_alert, approval="paused", body="Other {{1}} text {{2}}.")
    assert client.content.v1.contents(sandbox.config.template_alert).fetch().types == {
        "twilio/text": {"body": "Other {{1}} text {{2}}."}
    }
    with pytest.raises(TwilioRestException) as missing:
        client.content.v1.contents("HX" + "0" * 32).fetch()
    assert missing.value.status == 404


def test_phones_off_absent_or_blocking_have_their_outcomes(
    sandbox: Sandbox, receiver: Receiver, text: Send, chat: Send
) -> None:
    phone = sandbox.phone(MAYA)
    phone.set_behaviour(whatsapp="no")
    chat()
    sandbox.advance(5)
    assert receiver.params("/status/2")[-1]["ErrorCode"] == "63024"
    phone.set_behaviour(whatsapp="blocked")
    chat()
    sandbox.advance(5)
    assert receiver.params("/status/2")[-1]["ErrorCode"] == "63033"

    phone.set_behaviour(whatsapp="yes", online=False)
    chat()
    text()
    sandbox.advance(30)
    assert receiver.statuses("/status/2")[2:] == ["sent"]
    assert receiver.statuses("/status/1") == ["sent"]
    sandbox.advance(60)
    assert receiver.statuses("/status/1") == ["sent", "undelivered"]
    assert receiver.params("/status/1")[-1]["ErrorCode"] == "30003"
    phone.set_behaviour(online=True)
    sandbox.advance(5)
    assert receiver.statuses("/status/2")[2:] == ["sent", "delivered"]
    assert receiver.statuses("/status/1") == ["sent", "undelivered"]


def test_a_landline_and_a_network_without_receipts(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    sandbox.phone(MAYA).set_behaviour(sms="landline")
    sandbox.phone(NOAH).set_behaviour(sms="no_receipt")
    text()
    text(to=NOAH)
    sandbox.advance(3600)
    assert [p["MessageStatus"] for p in receiver.params("/status") if p["To"] == MAYA] == ["sent", "undelivered"]
    assert [p["MessageStatus"] for p in receiver.params("/status") if p["To"] == NOAH] == ["sent"]


def test_the_answer_to_an_inbound_message_may_be_a_message(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    text()
    sandbox.advance(5)
    receiver.answer = lambda _: (200, "text/xml", "<Response><Message>Noted &amp; kept</Message></Response>")
    sandbox.phone(MAYA).reply("What is it?")
    sandbox.advance(5)
    assert sandbox.phone(MAYA).messages("sms")[-1].body == "Noted & kept"


def test_an_inbound_answer_that_is_no_twiml_is_in_the_debugger(sandbox: Sandbox, receiver: Receiver) -> None:
    receiver.answer = lambda _: (200, "application/json", "{}")
    sandbox.phone(MAYA).reply("Hello")
    sandbox.settle()
    receiver.answer = lambda _: (200, "text/xml", "<Response>")
    sandbox.phone(MAYA).reply("Hello")
    sandbox.settle()
    receiver.answer = lambda _: (500, "", "")
    sandbox.phone(MAYA).reply("Hello")
    sandbox.settle()
    assert [trouble.code for trouble in sandbox.troubles] == [12300, 12100, 11200]


def test_what_no_test_asked_for_fails_the_test(sandbox: Sandbox, text: Send) -> None:
    text()
    with pytest.raises(AssertionError, match="Disk full"):
        sandbox.assert_nothing_unexpected()
    assert sandbox.expect_message(MAYA, "sms", contains="Disk").body == "Disk full"
    sandbox.assert_nothing_unexpected()
    with pytest.raises(AssertionError):
        sandbox.expect_message(MAYA)
