"""Misbehaviour on order: of the answer to a request, and of the callbacks."""

import time
from collections.abc import Callable

import pytest
import requests
from twilio.base.exceptions import TwilioRestException
from twilio.rest import Client

from sandbox import Sandbox
from sandbox.webhooks import sign
from tests.sandbox.conftest import MAYA, NOAH, Receiver

Send = Callable[..., str]


def test_a_lost_callback_is_not_posted_and_the_message_goes_on(
    sandbox: Sandbox, client: Client, receiver: Receiver, text: Send
) -> None:
    sandbox.faults.add("lose", status="delivered")
    sid = text()
    text()
    sandbox.advance(5)
    assert receiver.statuses() == ["sent", "sent", "delivered"]
    assert client.messages(sid).fetch().status == "delivered"
    assert [delivery.params["MessageStatus"] for delivery in sandbox.deliveries if delivery.lost] == ["delivered"]


def test_callbacks_can_be_repeated_reordered_and_late(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    sandbox.faults.add("repeat", count=2, status="delivered", to=MAYA)
    text()
    sandbox.advance(5)
    assert receiver.statuses() == ["sent", "delivered", "delivered", "delivered"]
    receiver.received.clear()
    sandbox.faults.add("reorder")
    text()
    sandbox.advance(1)
    assert receiver.statuses() == []
    sandbox.advance(4)
    assert receiver.statuses() == ["delivered", "sent"]
    receiver.received.clear()
    sandbox.faults.add("delay", seconds=3600, status="delivered")
    text()
    sandbox.advance(3590)
    assert receiver.statuses() == ["sent"]
    sandbox.advance(60)
    assert receiver.statuses() == ["sent", "delivered"]


def test_a_calls_events_can_come_in_reverse(sandbox: Sandbox, receiver: Receiver, ring: Send) -> None:
    sandbox.faults.add("reorder", channel="call")
    ring(twiml="<Response><Say>Hello.</Say></Response>")
    sandbox.advance(3)
    sandbox.phone(MAYA).answer()
    sandbox.advance(5)
    assert receiver.statuses() == ["completed", "in-progress", "ringing", "initiated"]
    assert [each["SequenceNumber"] for each in receiver.params("/status")] == ["3", "2", "1", "0"]


def test_the_callbacks_can_come_before_the_answer(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    sandbox.faults.add("callback_first")
    answered: list[str] = []
    receiver.answer = lambda _: (204, "", "") if not answered else (500, "", "")
    answered.append(text())
    assert receiver.statuses() == ["sent", "delivered"]
    assert [delivery.tries for delivery in sandbox.deliveries] == [[204], [204]]


def test_an_answer_can_be_dropped_after_the_message_was_accepted(
    sandbox: Sandbox, client: Client, receiver: Receiver, text: Send
) -> None:
    sandbox.faults.add("drop_answer")
    with pytest.raises(requests.ConnectionError):
        text()
    sandbox.advance(5)
    assert receiver.statuses() == ["sent", "delivered"]
    assert len(client.messages.list(to=MAYA)) == 1


def test_a_connection_can_be_closed_without_accepting(
    sandbox: Sandbox, client: Client, receiver: Receiver, text: Send
) -> None:
    sandbox.faults.add("refuse_connection")
    with pytest.raises(requests.ConnectionError):
        text()
    assert sandbox.messages() == []
    text()
    assert len(sandbox.messages()) == 1


def test_429_comes_with_retry_after_as_often_as_ordered(sandbox: Sandbox, client: Client, text: Send) -> None:
    sandbox.faults.add("throttle", times=2, seconds=2)
    for _ in range(2):
        with pytest.raises(TwilioRestException) as refused:
            text()
        assert (refused.value.code, refused.value.status) == (20429, 429)
        response = client.http_client._test_only_last_response
        assert response.headers["Retry-After"] == "2"
    assert sandbox.messages() == []
    text()
    assert len(sandbox.messages()) == 1


def test_any_error_can_be_answered_for_one_number_only(sandbox: Sandbox, text: Send) -> None:
    sandbox.faults.add("reject", code=21610, to=NOAH, times=None)
    text()
    for _ in range(2):
        with pytest.raises(TwilioRestException) as refused:
            text(to=NOAH)
        assert (refused.value.code, refused.value.status) == (21610, 400)
    assert len(sandbox.messages()) == 1


def test_a_server_error_accepts_nothing_unless_ordered_after_accepting(sandbox: Sandbox, text: Send) -> None:
    sandbox.faults.add("server_error", http_status=500)
    with pytest.raises(TwilioRestException) as first:
        text()
    assert (first.value.status, len(sandbox.messages())) == (500, 0)
    sandbox.faults.add("error_after_accepting")
    with pytest.raises(TwilioRestException) as second:
        text()
    assert (second.value.status, len(sandbox.messages())) == (503, 1)


def test_an_answer_can_be_slower_than_the_client_waits(sandbox: Sandbox, client: Client, text: Send) -> None:
    sandbox.faults.add("slow", seconds=0.4)
    client.http_client.timeout = 0.1
    with pytest.raises(requests.Timeout):
        text()
    assert len(sandbox.messages()) == 1
    client.http_client.timeout = 5
    began_s = time.monotonic()
    sandbox.faults.add("slow", seconds=0.3)
    text()
    assert time.monotonic() - began_s >= 0.3


@pytest.mark.parametrize(("status", "reported"), [("failed", ["failed"]), ("undelivered", ["sent", "undelivered"])])
def test_any_error_can_come_as_a_callback(
    sandbox: Sandbox, receiver: Receiver, text: Send, status: str, reported: list[str]
) -> None:
    sandbox.faults.add("fail", code=30007, status=status)
    text()
    sandbox.advance(5)
    assert receiver.statuses() == reported
    assert receiver.params()[-1]["ErrorCode"] == "30007"
    assert "ErrorCode" not in receiver.params()[0] or len(reported) == 1


def test_odd_statuses_and_new_parameters_can_come(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    sandbox.faults.add("extra_status", status="partially_delivered")
    sandbox.faults.add("extra_params", params={"Brand": "new"})
    text()
    sandbox.advance(5)
    assert receiver.statuses() == ["sent", "partially_delivered", "delivered"]
    assert {each["Brand"] for each in receiver.params()} == {"new"}


def test_callbacks_can_be_forged_or_of_another_account(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    sandbox.faults.add("bad_signature")
    sandbox.faults.add("other_account")
    text()
    sandbox.advance(0.5)
    got = receiver.received[0]
    right = sign(sandbox.config.auth_token, f"{receiver.url}/status/1", got.params)
    assert got.headers["x-twilio-signature"] != right
    assert got.params["AccountSid"] == "AC" + "0" * 32


def test_a_message_held_past_its_validity_fails_with_30036(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    sandbox.faults.add("hold", seconds=100, times=2)
    text(validity_period=60)
    text(to=NOAH, validity_period=600)
    sandbox.advance(61)
    assert receiver.statuses() == ["failed"]
    assert receiver.params()[0]["ErrorCode"] == "30036"
    sandbox.advance(60)
    assert receiver.statuses() == ["failed", "sent", "delivered"]


def test_a_receipt_may_never_come(sandbox: Sandbox, receiver: Receiver, text: Send) -> None:
    sandbox.faults.add("no_receipt")
    text()
    sandbox.advance(7200)
    assert receiver.statuses() == ["sent"]


@pytest.mark.parametrize(("status", "sip"), [("failed", 480), ("failed", 404), ("canceled", 487), ("no-answer", 480)])
def test_a_call_can_end_as_ordered(sandbox: Sandbox, receiver: Receiver, ring: Send, status: str, sip: int) -> None:
    sandbox.faults.add("end_call", status=status, code=sip)
    ring()
    sandbox.advance(3)
    assert receiver.statuses() == ["initiated", status]
    assert receiver.params()[-1]["SipResponseCode"] == str(sip)


def test_a_fetch_can_fail_while_creates_go_on(sandbox: Sandbox, client: Client, text: Send) -> None:
    sandbox.faults.add("server_error", operation="fetch", times=None)
    sid = text()
    with pytest.raises(TwilioRestException) as refused:
        client.messages(sid).fetch()
    assert refused.value.status == 503
    sandbox.faults.clear()
    assert client.messages(sid).fetch().sid == sid


def test_an_unknown_fault_is_not_ordered_silently(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="no fault 'looze'"):
        sandbox.faults.add("looze")
    with pytest.raises(ValueError, match="operation"):
        sandbox.faults.add("slow", operation="sing")
    with pytest.raises(ValueError, match="colour"):
        sandbox.faults.add("slow", colour="red")
