"""What goes over the wire to Twilio, and what each of its answers, or their absence, is taken to mean."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pytest_django import Settings

from alerts.carriers.base import Outgoing, Refused, Sent, TemplateState, Throttled, Unknown, Unreachable
from alerts.carriers.twilio import Twilio, from_settings, is_signed

NOON = datetime(2026, 10, 3, 12, 0, tzinfo=UTC)
SID, CALL_SID = f"SM{1:032x}", f"CA{1:032x}"
STATUS_URL = "https://breakpass.example/webhooks/twilio/status/r#rc=3&rp=all"
SMS = Outgoing(
    "r", "sms", "+12025550123", NOON, STATUS_URL, text="Checkout is failing.", sender="us_ca", validity_s=900
)
WHATSAPP = Outgoing(
    "r",
    "whatsapp",
    "+12025550123",
    NOON,
    STATUS_URL,
    template="alert_ack",
    variables={"1": "Bot", "2": "é", "3": "tok"},
)
CALL = Outgoing("r", "call", "+12025550123", NOON, STATUS_URL, voice_url="https://breakpass.example/voice", ring_s=25)


@dataclass
class Wire:
    """An HTTP server that answers as told, and what it was asked."""

    url: str = ""
    # Status, headers and body of the next answers; None closes the connection without one.
    answers: list[tuple[int, dict[str, str], Any] | None] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, list[str]]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@pytest.fixture
def wire(settings: Settings) -> Iterator[Wire]:
    state = Wire()

    class Handler(BaseHTTPRequestHandler):
        # A connection per request: none is reused while it is being closed.
        protocol_version = "HTTP/1.0"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode()
            fields = parse_qs(body or urlsplit(self.path).query, keep_blank_values=True)
            state.asked.append((self.command, urlsplit(self.path).path, fields))
            state.headers.append(dict(self.headers))
            answer = state.answers.pop(0)
            if answer is None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            status, headers, content = answer
            payload = content.encode() if isinstance(content, str) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(payload))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = answer

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    settings.TWILIO_API_URL = settings.TWILIO_CONTENT_API_URL = state.url
    settings.CARRIER_TIMEOUT_S = 10.0
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def twilio(wire: Wire) -> Twilio:
    return from_settings()


def message(**more: Any) -> dict[str, Any]:
    return {"sid": SID, "status": "queued", "date_created": "Sat, 03 Oct 2026 12:00:01 +0000", **more}


def test_case_22_an_sms_goes_out_unfiltered_uncut_and_with_an_end(wire: Wire, twilio: Twilio) -> None:
    wire.answers = [(201, {}, message())]
    assert twilio.send_message(SMS) == Sent(SID, "queued")
    method, path, fields = wire.asked[0]
    assert (method, path) == ("POST", f"/2010-04-01/Accounts/AC{'0' * 32}/Messages.json")
    assert fields == {
        "To": ["+12025550123"],
        "From": ["+12025550190"],
        "Body": ["Checkout is failing."],
        "StatusCallback": [STATUS_URL],
        "RiskCheck": ["disable"],
        "SmartEncoded": ["false"],
        "ValidityPeriod": ["900"],
    }
    assert wire.headers[0]["Authorization"].startswith("Basic ")
    assert wire.headers[0]["Connection"] == "close"


@pytest.mark.parametrize(("asked", "sent"), [(-30, "5"), (5, "5"), (90_000, "36000")])
def test_the_validity_stays_within_what_twilio_takes(wire: Wire, twilio: Twilio, asked: int, sent: str) -> None:
    wire.answers = [(201, {}, message())]
    twilio.send_message(replace(SMS, validity_s=asked))
    assert wire.asked[0][2]["ValidityPeriod"] == [sent]


@pytest.mark.parametrize(
    ("sender", "named", "shown"),
    [
        ("alphanumeric", "BreakPass", "BreakPass"),
        ("alphanumeric", "", "+12025550190"),
        ("numeric", "BreakPass", "+12025550190"),
    ],
)
def test_the_sender_is_a_name_only_where_names_are_shown(
    wire: Wire, twilio: Twilio, settings: Settings, sender: str, named: str, shown: str
) -> None:
    settings.TWILIO_SMS_FROM_ALPHANUMERIC = named
    wire.answers = [(201, {}, message())]
    twilio.send_message(replace(SMS, sender=sender))
    assert wire.asked[0][2]["From"] == [shown]


def test_case_20_whatsapp_is_always_an_approved_template_never_free_text(wire: Wire, twilio: Twilio) -> None:
    wire.answers = [(201, {}, message(sid=f"MM{1:032x}"))]
    assert twilio.send_message(WHATSAPP) == Sent(f"MM{1:032x}", "queued")
    fields = wire.asked[0][2]
    assert fields == {
        "To": ["whatsapp:+12025550123"],
        "From": ["whatsapp:+12025550191"],
        "StatusCallback": [STATUS_URL],
        "RiskCheck": ["disable"],
        "ContentSid": ["HX" + "2" * 32],
        "ContentVariables": ['{"1": "Bot", "2": "é", "3": "tok"}'],
    }
    with pytest.raises(ValueError, match="without a template"):
        twilio.send_message(replace(WHATSAPP, template=None, text="free text"))
    assert len(wire.asked) == 1


def test_a_call_asks_for_every_event_and_for_no_machine_detection(wire: Wire, twilio: Twilio) -> None:
    wire.answers = [(201, {}, {"sid": CALL_SID, "status": "queued"})]
    assert twilio.place_call(CALL) == Sent(CALL_SID, "queued")
    assert wire.asked[0][2] == {
        "To": ["+12025550123"],
        "From": ["+12025550192"],
        "Url": ["https://breakpass.example/voice"],
        "Method": ["POST"],
        "StatusCallback": [STATUS_URL],
        "StatusCallbackMethod": ["POST"],
        "StatusCallbackEvent": ["initiated", "ringing", "answered", "completed"],
        "Timeout": ["25"],
        "TimeLimit": ["55"],
    }


@pytest.mark.parametrize("http_status", [400, 401, 403, 404])
def test_a_worded_no_is_a_refusal(wire: Wire, twilio: Twilio, http_status: int) -> None:
    wire.answers = [
        (http_status, {}, {"code": 21211, "message": "To +12025550123 is not valid", "status": http_status})
    ]
    with pytest.raises(Refused) as caught:
        twilio.send_message(SMS)
    assert (caught.value.error_code, caught.value.http_status) == (21211, http_status)
    assert "2025550123" not in repr(caught.value)
    assert len(wire.asked) == 1


@pytest.mark.parametrize(("header", "seconds"), [({"Retry-After": "2"}, 2), ({}, 1), ({"Retry-After": "soon"}, 1)])
def test_429_says_how_long_to_wait(wire: Wire, twilio: Twilio, header: dict[str, str], seconds: int) -> None:
    wire.answers = [(429, header, {"code": 20429, "message": "slow down"})]
    with pytest.raises(Throttled) as caught:
        twilio.send_message(SMS)
    assert (caught.value.retry_after_s, len(wire.asked)) == (seconds, 1)


@pytest.mark.parametrize(
    "answer",
    [None, (500, {}, {"code": 20500}), (503, {}, "busy"), (201, {}, "not json"), (201, {}, {"status": "queued"})],
)
def test_what_says_nothing_certain_leaves_the_outcome_unknown_and_is_not_repeated(
    wire: Wire, twilio: Twilio, answer: Any
) -> None:
    wire.answers = [answer]
    with pytest.raises(Unknown):
        twilio.send_message(SMS)
    assert len(wire.asked) == 1


def test_an_answer_that_takes_too_long_leaves_the_outcome_unknown(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.TWILIO_API_URL = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings.CARRIER_TIMEOUT_S = 0.1
        with pytest.raises(Unknown):
            from_settings().send_message(SMS)


def test_a_refused_connection_and_an_unknown_host_let_nothing_leave(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings.TWILIO_API_URL = f"http://127.0.0.1:{port}"
    with pytest.raises(Unreachable):
        from_settings().place_call(CALL)


def test_fetching_gives_a_report(wire: Wire, twilio: Twilio) -> None:
    wire.answers = [
        (200, {}, message(status="undelivered", error_code=30003)),
        (200, {}, {"sid": CALL_SID, "status": "completed", "duration": "17"}),
    ]
    found = twilio.fetch("sms", SID)
    assert (found.sid, found.status, found.error_code, found.source) == (SID, "undelivered", 30003, "asked")
    called = twilio.fetch("call", CALL_SID)
    assert (called.sid, called.status, called.duration_s) == (CALL_SID, "completed", 17)
    assert [path.split("/")[-1] for _, path, _ in wire.asked] == [f"{SID}.json", f"{CALL_SID}.json"]


def test_finding_takes_what_says_the_same_since_the_claim(wire: Wire, twilio: Twilio) -> None:
    listed = [
        message(sid=f"SM{4:032x}", body="Checkout is failing.", date_created="Sat, 03 Oct 2026 12:00:09 +0000"),
        message(sid=f"SM{3:032x}", body="Something else."),
        message(sid=f"SM{2:032x}", body="Checkout is failing.", status="sent"),
        message(sid=f"SM{1:032x}", body="Checkout is failing.", date_created="Sat, 03 Oct 2026 11:59:00 +0000"),
    ]
    wire.answers = [(200, {}, {"messages": listed, "page": 0})]
    assert [one.sid[-1] for one in twilio.find(SMS)] == ["2", "4"]
    assert wire.asked[0][2]["To"] == ["+12025550123"]


def test_finding_a_template_message_looks_for_our_words_in_its_body(wire: Wire, twilio: Twilio) -> None:
    ours = replace(WHATSAPP, variables={"1": "Bot", "2": "Checkout is failing.", "3": "tok"})
    listed = [message(body="BreakPass alert from Bot: Checkout is failing. — sent by BreakPass.")]
    wire.answers = [(200, {}, {"messages": listed, "page": 0}), (200, {}, {"messages": [], "page": 0})]
    assert [one.sid for one in twilio.find(ours)] == [SID]
    assert twilio.find(ours) == []


def test_finding_a_call_goes_by_its_numbers_and_time(wire: Wire, twilio: Twilio) -> None:
    listed = [{"sid": CALL_SID, "status": "ringing", "date_created": "Sat, 03 Oct 2026 12:00:01 +0000"}]
    wire.answers = [(200, {}, {"calls": listed, "page": 0})]
    assert [(one.sid, one.status) for one in twilio.find(CALL)] == [(CALL_SID, "ringing")]
    assert (wire.asked[0][2]["To"], wire.asked[0][2]["From"]) == (["+12025550123"], ["+12025550192"])


def test_a_template_is_read_with_its_approval_and_its_button(wire: Wire, twilio: Twilio) -> None:
    action = {"type": "QUICK_REPLY", "title": "Acknowledge", "id": "{{3}}"}
    content = {"sid": "HX", "types": {"twilio/quick-reply": {"body": "From {{1}}: {{2}}.", "actions": [action]}}}
    wire.answers = [(200, {}, content), (200, {}, {"sid": "HX", "whatsapp": {"status": "approved"}})]
    found = twilio.fetch_template("alert_ack")
    assert found == TemplateState("approved", "From {{1}}: {{2}}.", (("Acknowledge", "{{3}}"),))
    assert [path for _, path, _ in wire.asked] == [
        f"/v1/Content/HX{'2' * 32}",
        f"/v1/Content/HX{'2' * 32}/ApprovalRequests",
    ]


def test_twilios_own_signature_vectors(settings: Settings) -> None:
    settings.TWILIO_AUTH_TOKEN = "12345"
    url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    sent = {"CallSid": ["CA1234567890ABCDE"], "Digits": ["1234"], "To": ["+18005551212"]}
    first = {**sent, "Caller": ["+12349013030"], "From": ["+12349013030"]}
    second = {**sent, "Caller": ["+14158675309"], "From": ["+14158675309"]}
    assert is_signed(url, first, "0/KCTR6DLpKmkAf8muzZqo1nDgQ=")
    assert is_signed(url, second, "RSOYDt4T1cUTdK1PDd93/VVr8B8=")
    assert not is_signed(url, first, "RSOYDt4T1cUTdK1PDd93/VVr8B8=")
    assert not is_signed(url, first, "")
