"""The sandbox against Twilio's own specification, where that is at hand: parameter names and answers' shapes."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from django.conf import settings

from sandbox import Sandbox, rest_calls, rest_messages
from tests.sandbox.conftest import MAYA

SPECIFICATION = Path(settings.BASE_DIR).parent / "shared" / "twilio-oai" / "messages_and_calls.json"
ROOT = "/2010-04-01/Accounts/{AccountSid}"

pytestmark = pytest.mark.skipif(not SPECIFICATION.is_file(), reason="Twilio's specification is not at hand")


@cache
def _specification() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SPECIFICATION.read_text(encoding="utf-8"))
    return found


def _form_names(path: str) -> set[str]:
    body = _specification()["paths"][ROOT + path]["post"]["requestBody"]["content"]
    return set(body["application/x-www-form-urlencoded"]["schema"]["properties"])


def _query_names(path: str) -> set[str]:
    return {p["name"] for p in _specification()["paths"][ROOT + path]["get"]["parameters"] if p["in"] == "query"}


@pytest.mark.parametrize(
    ("path", "accepted"),
    [
        ("/Messages.json", rest_messages.CREATE_NAMES),
        ("/Messages/{Sid}.json", rest_messages.UPDATE_NAMES),
        ("/Calls.json", rest_calls.CREATE_NAMES),
        ("/Calls/{Sid}.json", rest_calls.UPDATE_NAMES),
    ],
)
def test_the_form_parameters_are_exactly_those_of_the_specification(path: str, accepted: frozenset[str]) -> None:
    assert accepted == _form_names(path)


@pytest.mark.parametrize(
    ("path", "accepted"), [("/Messages.json", rest_messages.LIST_NAMES), ("/Calls.json", rest_calls.LIST_NAMES)]
)
def test_the_filters_are_exactly_those_of_the_specification(path: str, accepted: frozenset[str]) -> None:
    assert accepted == _query_names(path)


def _strict(schema: Any) -> Any:
    """A schema of the specification as JSON Schema: nullable spelled out, and no property besides those named."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _strict(_specification()["components"]["schemas"][name])
    found = {key: _strict(value) for key, value in schema.items() if key not in ("x-twilio", "format", "nullable")}
    if "properties" in found:
        found["additionalProperties"] = False
        found["required"] = sorted(found["properties"])
    return {"anyOf": [found, {"type": "null"}]} if schema.get("nullable") else found


def _check(answer: httpx.Response, path: str, method: str) -> None:
    responses = _specification()["paths"][ROOT + path][method]["responses"]
    assert str(answer.status_code) in responses
    schema = responses[str(answer.status_code)]["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), _strict(schema))


def test_every_answer_has_the_shape_of_the_specification(
    sandbox: Sandbox, text: Callable[..., str], chat: Callable[..., str], ring: Callable[..., str]
) -> None:
    account = sandbox.config.account_sid
    base = f"{sandbox.url}/2010-04-01/Accounts/{account}"
    with httpx.Client(auth=(account, sandbox.config.auth_token), trust_env=False) as http:
        route = {"To": MAYA, "From": sandbox.config.sms_from}
        created = http.post(f"{base}/Messages.json", data={**route, "Body": "Hello"})
        _check(created, "/Messages.json", "post")
        sandbox.faults.add("fail", code=30003)
        failing = text()
        chatting = chat()
        calling = {"To": MAYA, "From": sandbox.config.voice_from, "Twiml": "<Response/>"}
        _check(http.post(f"{base}/Calls.json", data=calling), "/Calls.json", "post")
        sandbox.advance(3)
        sandbox.phone(MAYA).answer()
        sandbox.phone(MAYA).reply("Hello", "whatsapp")
        sandbox.advance(70)
        ring()
        for sid in (failing, chatting):
            _check(http.get(f"{base}/Messages/{sid}.json"), "/Messages/{Sid}.json", "get")
        for call in sandbox.calls():
            _check(http.get(f"{base}/Calls/{call.sid}.json"), "/Calls/{Sid}.json", "get")
        _check(http.get(f"{base}/Messages.json?PageSize=2"), "/Messages.json", "get")
        _check(http.get(f"{base}/Messages.json?PageSize=2&Page=1"), "/Messages.json", "get")
        _check(http.get(f"{base}/Calls.json"), "/Calls.json", "get")
        redacted = http.post(f"{base}/Messages/{chatting}.json", data={"Body": ""})
        _check(redacted, "/Messages/{Sid}.json", "post")
        assert redacted.json()["body"] == ""


def test_sids_have_the_form_of_the_specification(text: Callable[..., str], ring: Callable[..., str]) -> None:
    schemas = _specification()["components"]["schemas"]
    message, call = (
        schemas[f"api.v2010.account.{name}"]["properties"]["sid"]["pattern"] for name in ("message", "call")
    )
    assert re.match(message, text())
    assert re.match(call, ring())


def test_an_unknown_parameter_is_refused(sandbox: Sandbox) -> None:
    auth = (sandbox.config.account_sid, sandbox.config.auth_token)
    form = {"To": MAYA, "From": sandbox.config.sms_from, "Body": "x", "IdempotencyKey": "1"}
    url = f"{sandbox.url}/2010-04-01/Accounts/{auth[0]}/Messages.json"
    refused = httpx.post(url, data=form, auth=auth, trust_env=False)
    assert (refused.status_code, refused.json()["code"]) == (400, 20001)
    assert sandbox.messages() == []
