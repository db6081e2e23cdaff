"""Webhooks: the signature's known vectors, retries by fragment, idempotency tokens, redirects."""

from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import httpx
import pytest
from twilio.request_validator import RequestValidator

from sandbox import Sandbox
from sandbox.webhooks import Overrides, Reply, sign
from tests.sandbox.conftest import MAYA, Receiver

Send = Callable[..., str]


@pytest.mark.parametrize(
    ("caller", "signature"),
    [("+12349013030", "0/KCTR6DLpKmkAf8muzZqo1nDgQ="), ("+14158675309", "RSOYDt4T1cUTdK1PDd93/VVr8B8=")],
)
def test_signatures_are_those_of_the_published_vectors(caller: str, signature: str) -> None:
    params = {"CallSid": "CA1234567890ABCDE", "Digits": "1234", "To": "+18005551212", "Caller": caller, "From": caller}
    assert sign("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", params) == signature


def test_empty_values_and_other_letters_are_signed_as_the_sdk_checks_them() -> None:
    url, params = "http://127.0.0.1:8000/x?y=1", {"Body": "", "From": "+1", "Name": "Zoë 🚨"}
    assert RequestValidator("token").validate(url, params, sign("token", url, params))


def test_the_fragment_says_how_often_and_upon_what_to_try_again() -> None:
    assert Overrides.parse("") == Overrides(5.0, 15.0, 15.0, 1, frozenset({"ct"}))
    assert Overrides.parse("rc=3&rp=4xx,5xx&ct=2000&rt=3000&tt=9000") == Overrides(
        2.0, 3.0, 9.0, 3, frozenset({"4xx", "5xx"})
    )
    assert Overrides.parse("rc=99&rp=never&tt=99999") == Overrides(5.0, 15.0, 15.0, 5, frozenset({"ct"}))


@pytest.mark.parametrize(
    ("fragment", "answers", "tries"),
    [
        ("", [500, 204], [500]),
        ("#rc=3&rp=all", [500, 503, 204], [500, 503, 204]),
        ("#rc=2&rp=5xx", [500, 500, 500, 500], [500, 500, 500]),
        ("#rc=3&rp=5xx", [403, 204], [403]),
        ("#rc=3&rp=4xx", [403, 204], [403, 204]),
    ],
)
def test_a_failed_callback_is_tried_again_as_its_address_asks(
    sandbox: Sandbox, receiver: Receiver, text: Send, fragment: str, answers: list[int], tries: list[int]
) -> None:
    left = list(answers)
    receiver.answer = lambda _: (left.pop(0) if left else 204, "", "")
    text(status_callback=f"{receiver.url}/status/1{fragment}")
    sandbox.advance(0.5)
    assert sandbox.deliveries[0].tries == tries
    assert len(receiver.received) == len(tries)
    assert {each.path for each in receiver.received} == {"/status/1"}
    assert len({each.headers["i-twilio-idempotency-token"] for each in receiver.received}) == 1
    assert len({str(each.params) for each in receiver.received}) == 1
    assert [trouble.code for trouble in sandbox.troubles] == ([] if tries[-1] < 400 else [11200])
    sandbox.advance(5)
    assert len({each.headers["i-twilio-idempotency-token"] for each in receiver.received}) == 2


def test_a_refused_connection_is_tried_once_more_by_default(sandbox: Sandbox, text: Send) -> None:
    text(status_callback="http://127.0.0.1:9/status")
    sandbox.advance(0.5)
    assert sandbox.deliveries[0].tries == ["ct", "ct"]


def test_webhooks_can_be_carried_by_the_tests_own_hand() -> None:
    calls: list[str] = []

    def poster(
        method: str, url: str, params: Mapping[str, str], headers: Mapping[str, str], overrides: Overrides
    ) -> Reply:
        calls.append(url)
        return Reply(204)

    with Sandbox(clock="manual", poster=poster) as sandbox:
        auth = (sandbox.config.account_sid, sandbox.config.auth_token)
        form = {"To": MAYA, "From": sandbox.config.sms_from, "Body": "x", "StatusCallback": "http://app/s#rc=1"}
        path = f"/2010-04-01/Accounts/{auth[0]}/Messages.json"
        assert httpx.post(sandbox.url + path, data=form, auth=auth, trust_env=False).status_code == 201
        sandbox.advance(5)
    # A poster of one's own gets the bare address.
    assert calls == ["http://app/s", "http://app/s"]


def test_over_http_a_redirect_is_followed_with_get(sandbox: Sandbox, text: Send) -> None:
    seen: list[tuple[str, str]] = []

    class Edge(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append((self.command, self.path))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(302 if self.command == "POST" else 204)
            self.send_header("Location", "/status/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Edge)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    text(status_callback=f"http://127.0.0.1:{server.server_address[1]}/status")
    sandbox.advance(0.5)
    server.shutdown()
    server.server_close()
    thread.join()
    assert seen == [("POST", "/status"), ("GET", "/status/")]
