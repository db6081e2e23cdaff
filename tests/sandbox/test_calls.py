"""Calls through Twilio's SDK: events, TwiML with keys, limits, endings, bad documents."""

from collections.abc import Callable

import pytest
from twilio.base.exceptions import TwilioRestException
from twilio.request_validator import RequestValidator
from twilio.rest import Client

from sandbox import Sandbox
from tests.sandbox.conftest import MAYA, NOAH, Answer, Received, Receiver

Ring = Callable[..., str]
XML = "text/xml; charset=utf-8"
HELLO = "Disk is full on db one."
STOP = "To stop, press 9."


def _document(*verbs: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{"".join(verbs)}</Response>'


def _gather(action: str, *sentences: str, timeout: int = 3, more: str = "") -> str:
    said = "".join(f"<Say>{sentence}</Say>" for sentence in sentences)
    return f'<Gather input="dtmf" numDigits="1" timeout="{timeout}" action="{action}"{more}>{said}</Gather>'


def _speak(pages: dict[str, str]) -> Callable[[Received], Answer]:
    """Answer document requests by their path, and everything else with 204."""

    def answer(request: Received) -> Answer:
        path = request.path.partition("?")[0]
        return (200, XML, pages[path]) if path in pages else (204, "", "")

    return answer


TWO_PARTS = _document(_gather("/voice/one", HELLO), _gather("/voice/two", STOP), "<Say>Goodbye.</Say>")


def test_an_answered_call_reports_each_event_in_order_with_its_number(
    sandbox: Sandbox, client: Client, receiver: Receiver, ring: Ring
) -> None:
    receiver.answer = _speak({"/voice": _document("<Say>Hello there, Maya.</Say>")})
    sid = ring()
    assert sid.startswith("CA")
    assert len(sid) == 34
    assert client.calls(sid).fetch().status == "queued"
    sandbox.settle()
    assert receiver.received == []
    sandbox.advance(3)
    assert receiver.statuses() == ["initiated", "ringing"]
    assert client.calls(sid).fetch().status == "ringing"
    sandbox.phone(MAYA).answer()
    sandbox.settle()
    assert receiver.statuses() == ["initiated", "ringing", "in-progress"]
    assert client.calls(sid).fetch().status == "in-progress"
    sandbox.advance(10)
    events = receiver.params("/status")
    assert [event["SequenceNumber"] for event in events] == ["0", "1", "2", "3"]
    assert {event["CallbackSource"] for event in events} == {"call-progress-events"}
    assert events[0]["Timestamp"] == "Wed, 04 Mar 2026 12:00:00 +0000"
    last = events[-1]
    assert (last["CallStatus"], last["CallDuration"], last["Duration"], last["SipResponseCode"]) == (
        "completed",
        "1",
        "1",
        "200",
    )
    assert "CallDuration" not in events[2]
    fetched = client.calls(sid).fetch()
    assert (fetched.status, fetched.duration, fetched.to) == ("completed", "1", MAYA)


def test_the_document_is_asked_for_with_a_signature_and_the_calls_parameters(
    sandbox: Sandbox, receiver: Receiver, ring: Ring
) -> None:
    receiver.answer = _speak({"/voice": _document()})
    sid = ring(url=f"{receiver.url}/voice?step=1")
    sandbox.advance(3)
    sandbox.phone(MAYA).answer()
    sandbox.settle()
    asked = next(each for each in receiver.received if each.path.startswith("/voice"))
    assert (asked.method, asked.path) == ("POST", "/voice?step=1")
    assert (asked.params["CallSid"], asked.params["CallStatus"]) == (sid, "in-progress")
    validator = RequestValidator(sandbox.config.auth_token)
    assert validator.validate(f"{receiver.url}/voice?step=1", asked.params, asked.headers["x-twilio-signature"])


@pytest.mark.parametrize(
    ("behaviour", "status", "sip"),
    [
        ({"call": "busy"}, "busy", "486"),
        ({"call": "decline"}, "failed", "603"),
        ({"call": "invalid"}, "failed", "404"),
        ({"online": False}, "failed", "480"),
        ({"call": "ring"}, "no-answer", "487"),
    ],
)
def test_every_ending_comes_as_the_completed_event_when_only_that_was_asked_for(
    sandbox: Sandbox, receiver: Receiver, ring: Ring, behaviour: dict[str, object], status: str, sip: str
) -> None:
    sandbox.phone(MAYA).set_behaviour(**behaviour)
    ring(status_callback_event=["completed"], timeout=25)
    sandbox.advance(40)
    assert receiver.statuses() == [status]
    event = receiver.params("/status")[0]
    assert (event["SequenceNumber"], event["SipResponseCode"], event["CallDuration"]) == ("0", sip, "0")
    assert receiver.params("/voice") == []


def test_ringing_stops_exactly_after_its_timeout(sandbox: Sandbox, client: Client, ring: Ring) -> None:
    sid = ring(timeout=25)
    sandbox.advance(25.9)
    assert client.calls(sid).fetch().status == "ringing"
    sandbox.advance(0.2)
    assert client.calls(sid).fetch().status == "no-answer"


def test_a_key_cuts_the_speech_and_goes_to_the_action(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    thanks = _document("<Say>Acknowledged. Goodbye.</Say>", "<Hangup/>")
    receiver.answer = _speak({"/voice": TWO_PARTS, "/voice/one": thanks})
    ring()
    sandbox.advance(3)
    phone = sandbox.phone(MAYA)
    call = phone.answer()
    sandbox.advance(0.5)
    assert phone.press("1")
    sandbox.settle()
    assert receiver.params("/voice/one")[0]["Digits"] == "1"
    assert call.said == [HELLO, "Acknowledged. Goodbye."]
    assert [line.cut for line in call.lines if line.kind == "said"] == [True, False]
    sandbox.advance(2)
    assert call.status == "completed"


def test_without_a_key_a_gather_falls_through_without_a_request(
    sandbox: Sandbox, receiver: Receiver, ring: Ring
) -> None:
    receiver.answer = _speak({"/voice": TWO_PARTS})
    ring()
    sandbox.advance(3)
    call = sandbox.phone(MAYA).answer()
    sandbox.advance(60)
    assert call.said == [HELLO, STOP, "Goodbye."]
    assert call.status == "completed"
    # 23 characters and 3 s, 17 characters and 3 s, 8 characters: at 14 characters a second.
    assert call.duration_s == round(23 / 14 + 3 + 17 / 14 + 3 + 8 / 14)
    assert [each.path for each in receiver.received if each.path.startswith("/voice")] == ["/voice"]


def test_a_key_in_the_pause_after_the_words_still_counts(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    receiver.answer = _speak({"/voice": TWO_PARTS, "/voice/two": _document("<Hangup/>")})
    ring()
    sandbox.advance(3)
    phone = sandbox.phone(MAYA)
    call = phone.answer()
    sandbox.advance(23 / 14 + 3 + 17 / 14 + 2)
    assert phone.press("9")
    sandbox.settle()
    assert receiver.params("/voice/two")[0]["Digits"] == "9"
    assert not any(line.cut for line in call.lines)


def test_keys_outside_a_gather_are_lost(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    receiver.answer = _speak({"/voice": _document("<Say>Nobody listens to you now.</Say>", _gather("/voice/one"))})
    ring()
    sandbox.advance(3)
    phone = sandbox.phone(MAYA)
    call = phone.answer()
    sandbox.advance(0.5)
    assert not phone.press("1")
    sandbox.advance(60)
    assert receiver.params("/voice/one") == []
    assert [line.kind for line in call.lines] == ["said", "lost_key"]


def test_an_empty_gather_posts_only_when_it_says_so(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    empty = _document(_gather("/voice/one", more=' actionOnEmptyResult="true"'), "<Say>Never said.</Say>")
    receiver.answer = _speak({"/voice": empty, "/voice/one": _document("<Say>Nothing heard.</Say>")})
    ring()
    sandbox.advance(3)
    call = sandbox.phone(MAYA).answer()
    sandbox.advance(10)
    assert receiver.params("/voice/one")[0]["Digits"] == ""
    assert call.said == ["Nothing heard."]


def test_several_digits_end_with_their_number_the_finish_key_or_a_wait(
    sandbox: Sandbox, receiver: Receiver, ring: Ring
) -> None:
    def listen(attributes: str) -> str:
        return _document(f'<Gather action="/voice/one" {attributes}/>')

    phone = sandbox.phone(MAYA)
    for attributes, keys, wait_s, expected in (
        ('numDigits="3"', "123", 0.0, ("123", "")),
        ('numDigits="3"', "12#", 0.0, ("12", "#")),
        ('finishOnKey="*"', "12*", 0.0, ("12", "*")),
        ('numDigits="2" finishOnKey=""', "1#", 0.0, ("1#", "")),
        ('timeout="2"', "12", 2.5, ("12", "")),
    ):
        receiver.received.clear()
        receiver.answer = _speak({"/voice": listen(attributes), "/voice/one": _document("<Hangup/>")})
        ring()
        sandbox.advance(3)
        phone.answer()
        sandbox.settle()
        assert phone.press(keys)
        sandbox.advance(wait_s)
        posted = receiver.params("/voice/one")[0]
        assert (posted["Digits"], posted["FinishedOnKey"]) == expected
        sandbox.settle()


def test_redirect_pause_and_reject_are_followed(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    receiver.answer = _speak(
        {
            "/voice": _document('<Pause length="4"/>', "<Redirect>/elsewhere?x=1</Redirect>", "<Say>Never.</Say>"),
            "/elsewhere": _document("<Say>Here we are.</Say>", "<Reject/>", "<Say>Never.</Say>"),
        }
    )
    ring()
    sandbox.advance(3)
    call = sandbox.phone(MAYA).answer()
    sandbox.advance(3.9)
    assert call.said == []
    sandbox.advance(0.2)
    assert call.said == ["Here we are."]
    sandbox.advance(5)
    assert (call.status, call.said) == ("completed", ["Here we are."])


def test_the_time_limit_cuts_the_call_counted_from_the_answer(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    receiver.answer = _speak({"/voice": _document(f"<Say>{'word ' * 400}</Say>")})
    ring(time_limit=55)
    sandbox.advance(20)
    call = sandbox.phone(MAYA).answer()
    sandbox.advance(54.9)
    assert call.status == "in-progress"
    sandbox.advance(0.2)
    assert (call.status, call.duration_s) == ("completed", 55)
    assert receiver.params("/status")[-1]["CallDuration"] == "55"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((500, "", ""), 11200),
        ((404, "text/html", "no"), 11200),
        ((200, "text/xml", "<Response><Say>"), 12100),
        ((200, "text/xml", "<Answer/>"), 12100),
        ((200, "text/xml", ""), 12100),
        ((200, "text/xml", '<!DOCTYPE r [<!ENTITY a "b">]><Response><Say>&a;</Say></Response>'), 12100),
        ((200, "application/json", "{}"), 12300),
        ((200, "", ""), 12300),
    ],
)
def test_a_bad_document_is_in_the_debugger_and_ends_the_call(
    sandbox: Sandbox, receiver: Receiver, ring: Ring, answer: Answer, code: int
) -> None:
    receiver.answer = lambda request: answer if request.path.startswith("/voice") else (204, "", "")
    ring()
    sandbox.advance(3)
    call = sandbox.phone(MAYA).answer()
    sandbox.settle()
    assert [trouble.code for trouble in sandbox.troubles] == [code]
    assert (call.status, call.said) == ("completed", [])


def test_an_unknown_verb_is_passed_over_with_12200(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    receiver.answer = _speak({"/voice": _document("<Dial>+19005550101</Dial>", "<Say>Hello.</Say>")})
    ring()
    sandbox.advance(3)
    call = sandbox.phone(MAYA).answer()
    sandbox.settle()
    assert [trouble.code for trouble in sandbox.troubles] == [12200]
    assert call.said == ["Hello."]


def test_a_fallback_address_is_asked_with_the_error(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    pages = {"/fallback": _document("<Say>Sorry.</Say>"), "/voice": "<broken"}
    receiver.answer = _speak(pages)
    ring(fallback_url=f"{receiver.url}/fallback")
    sandbox.advance(3)
    call = sandbox.phone(MAYA).answer()
    sandbox.settle()
    assert receiver.params("/fallback")[0]["ErrorCode"] == "12100"
    assert call.said == ["Sorry."]


def test_documents_that_go_round_in_circles_end(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    receiver.answer = _speak({"/voice": _document("<Redirect>/voice</Redirect>")})
    ring()
    sandbox.advance(3)
    call = sandbox.phone(MAYA).answer()
    sandbox.settle()
    assert call.status == "completed"
    assert len(receiver.params("/voice")) == 51


def test_twiml_can_come_with_the_request(sandbox: Sandbox, ring: Ring) -> None:
    ring(twiml=_document("<Say>Your code is 1 2 3.</Say>"))
    sandbox.advance(3)
    call = sandbox.phone(MAYA).answer()
    assert call.said == ["Your code is 1 2 3."]


def test_a_ringing_call_can_be_cancelled_and_an_ended_one_is_21220(
    sandbox: Sandbox, client: Client, receiver: Receiver, ring: Ring
) -> None:
    sid = ring()
    sandbox.advance(3)
    assert client.calls(sid).update(status="canceled").status == "canceled"
    sandbox.settle()
    assert receiver.statuses()[-1] == "canceled"
    for status in ("canceled", "completed"):
        with pytest.raises(TwilioRestException) as refused:
            client.calls(sid).update(status=status)
        assert (refused.value.code, refused.value.status) == (21220, 400)


def test_an_answered_call_can_be_hung_up_by_us_but_not_cancelled(
    sandbox: Sandbox, client: Client, receiver: Receiver, ring: Ring
) -> None:
    receiver.answer = _speak({"/voice": TWO_PARTS})
    sid = ring()
    sandbox.advance(3)
    sandbox.phone(MAYA).answer()
    sandbox.settle()
    with pytest.raises(TwilioRestException) as refused:
        client.calls(sid).update(status="canceled")
    assert refused.value.code == 21220
    assert client.calls(sid).update(status="completed").status == "completed"


def test_a_running_call_can_be_given_another_document(
    sandbox: Sandbox, client: Client, receiver: Receiver, ring: Ring
) -> None:
    receiver.answer = _speak({"/voice": TWO_PARTS})
    sid = ring()
    sandbox.advance(3)
    call = sandbox.phone(MAYA).answer()
    sandbox.settle()
    client.calls(sid).update(twiml=_document("<Say>Handled by Noah.</Say>"))
    sandbox.advance(60)
    assert call.said == [HELLO, "Handled by Noah."]


def test_a_person_can_hang_up(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    receiver.answer = _speak({"/voice": TWO_PARTS})
    ring()
    sandbox.advance(3)
    phone = sandbox.phone(MAYA)
    call = phone.answer()
    sandbox.advance(1)
    phone.hang_up()
    sandbox.advance(30)
    assert (call.status, call.said, receiver.statuses()[-1]) == ("completed", [HELLO], "completed")
    assert receiver.params("/voice/one") == []


def test_a_phone_answers_and_presses_by_itself(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    receiver.answer = _speak({"/voice": TWO_PARTS, "/voice/one": _document("<Hangup/>")})
    sandbox.phone(MAYA).set_behaviour(call="answer", press="1", answer_after_s=2, press_after_s=1)
    ring()
    sandbox.advance(10)
    assert receiver.params("/voice/one")[0]["Digits"] == "1"
    assert receiver.statuses()[-1] == "completed"


def test_a_phone_in_a_call_is_busy_for_the_next(sandbox: Sandbox, receiver: Receiver, ring: Ring) -> None:
    ring()
    sandbox.advance(3)
    ring(status_callback=f"{receiver.url}/second")
    ring(to=NOAH, status_callback=f"{receiver.url}/third")
    sandbox.advance(3)
    assert receiver.statuses("/second") == ["initiated", "busy"]
    assert receiver.statuses("/third") == ["initiated", "ringing"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"to": "+1202"}, 21211),
        ({"to": "+15005550002"}, 21214),
        ({"to": "+15005550003"}, 21215),
        ({"to": "+15005550004"}, 21216),
        ({"from_": "+12025550999"}, 21210),
        ({"from_": "BreakPass"}, 21212),
        ({"url": "ftp://x"}, 21205),
        ({"status_callback": "x"}, 21609),
        ({"status_callback_event": ["answered", "hung-up"]}, 20001),
        ({"timeout": 601}, 20001),
        ({"time_limit": 0}, 20001),
    ],
)
def test_a_bad_call_is_refused_with_twilios_code_and_nobody_is_called(
    sandbox: Sandbox, client: Client, receiver: Receiver, change: dict[str, object], code: int
) -> None:
    good: dict[str, object] = {"to": MAYA, "from_": sandbox.config.voice_from, "url": f"{receiver.url}/voice"}
    with pytest.raises(TwilioRestException) as refused:
        client.calls.create(**good | change)
    assert (refused.value.code, refused.value.status) == (code, 400)
    assert sandbox.calls() == []


def test_calls_are_listed_by_number_and_status(sandbox: Sandbox, client: Client, ring: Ring) -> None:
    first = ring(timeout=5)
    sandbox.advance(20)
    second = ring()
    ring(to=NOAH)
    sandbox.advance(3)
    assert [call.sid for call in client.calls.list(to=MAYA)] == [second, first]
    assert [call.sid for call in client.calls.list(status="no-answer")] == [first]
