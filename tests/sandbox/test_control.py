"""The control API: everything a test in another process needs, over HTTP."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from sandbox import Sandbox
from tests.sandbox.conftest import MAYA, Receiver

Send = Callable[..., str]


class Api:
    """A JSON client for `/sandbox/api/`."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def read(self, path: str) -> Any:
        return self._http.get(f"/sandbox/api/{path}").raise_for_status().json()

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self._http.post(f"/sandbox/api/{path}", json=body)


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[Api]:
    with httpx.Client(base_url=sandbox.url, trust_env=False) as http:
        yield Api(http)


def test_a_whole_story_can_be_told_from_outside(api: Api, receiver: Receiver, chat: Send) -> None:
    sid = chat(token="tok-5")
    assert api.post("clock", advance_s=5).json()["now"] == "2026-03-04T12:00:05+00:00"
    message = api.read(f"messages?to=%2B{MAYA[1:]}&channel=whatsapp")[0]
    assert (message["sid"], message["status"], message["inbound"]) == (sid, "delivered", False)
    assert message["buttons"] == [{"title": "Acknowledge", "payload": "tok-5"}]
    assert api.post(f"phones/{MAYA}/press_button", sid=sid).status_code == 200
    api.post("clock", settle=True)
    assert receiver.params("/inbound")[0]["ButtonPayload"] == "tok-5"
    assert [each["tries"] for each in api.read(f"deliveries?sid={sid}")] == [[204], [204], [204]]
    assert api.read("debugger") == []
    assert api.read("messages?contains=nothing") == []


def test_a_call_can_be_answered_and_keys_pressed_from_outside(api: Api, receiver: Receiver, ring: Send) -> None:
    document = '<Response><Gather numDigits="1" action="/voice/one"><Say>Press a key now.</Say></Gather></Response>'
    receiver.answer = lambda each: (200, "text/xml", document) if each.path == "/voice" else (204, "", "")
    ring()
    assert api.post(f"phones/{MAYA}/answer").json() == {"error": "The call is queued, not ringing."}
    api.post("clock", advance_s=3)
    assert api.post(f"phones/{MAYA}/answer").json() == {"done": True}
    api.post("clock", settle=True)
    assert api.read("calls")[0]["said"] == ["Press a key now."]
    assert api.post(f"phones/{MAYA}/press", keys="1").json() == {"heard": True}
    api.post("clock", settle=True)
    assert receiver.params("/voice/one")[0]["Digits"] == "1"


def test_faults_templates_phones_and_opt_outs_can_be_set_from_outside(
    sandbox: Sandbox, api: Api, receiver: Receiver, text: Send
) -> None:
    assert api.post("faults", kind="fail", code=30003, to=MAYA).json()["code"] == 30003
    assert api.post("faults", kind="nonsense").status_code == 400
    assert len(api.read("faults")["orders"]) == 1
    text()
    api.post("clock", advance_s=5)
    assert receiver.params("/status")[0]["ErrorCode"] == "30003"

    sid = sandbox.config.template_alert
    assert api.post("templates", sid=sid, approval="paused").json()["approval"] == "paused"
    assert api.post("templates", sid=sid, approval="splendid").status_code == 400
    assert api.post("templates", sid="HX0", approval="paused").status_code == 400

    phones = api.post("phones", number="+12025550177", name="Ada", behaviour={"online": False}).json()
    assert [p["name"] for p in phones if not p["behaviour"]["online"]] == ["Ada"]
    assert api.post("phones", number="+12025550177", behaviour={"colour": 1}).status_code == 400

    api.post(f"phones/{MAYA}/reply", text="STOP")
    assert api.post("opt-outs", at="callback").json() == {
        "at": "callback",
        "opted_out": [{"sender": sandbox.config.sms_from, "number": MAYA}],
    }
    assert api.post("reset").json() == {"done": True}
    assert (api.read("messages"), api.read("faults")["orders"], api.read("phones")) == ([], [], [])
    assert api.read("opt-outs") == {"at": "create", "opted_out": []}


def test_another_sites_page_cannot_use_the_phones(sandbox: Sandbox, api: Api) -> None:
    with httpx.Client(base_url=sandbox.url, trust_env=False) as http:
        form = {"number": "+12025550177"}
        assert http.post("/phones", data=form, headers={"Origin": "https://evil.example"}).status_code == 403
        assert http.post("/sandbox/api/reset", headers={"Origin": "null"}).status_code == 403
        assert sandbox.exchange.phones == {}
        assert http.post("/phones", data=form, headers={"Origin": sandbox.url}).status_code == 303
    assert list(sandbox.exchange.phones) == ["+12025550177"]


def test_what_is_not_json_is_refused_and_unknown_paths_are_404(sandbox: Sandbox) -> None:
    with httpx.Client(base_url=sandbox.url, trust_env=False) as http:
        assert http.post("/sandbox/api/clock", content=b"{").status_code == 400
        assert http.post("/sandbox/api/clock", content=b"[]").status_code == 400
        assert http.get("/sandbox/api/nothing").status_code == 404
        assert http.delete("/sandbox/api/clock").status_code == 405
