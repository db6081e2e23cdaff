"""What breaks a tool's input schema is refused by field and rule; results that drift from the contract are caught."""

from typing import Any

import pytest

from breakpass.errors import Refusal
from mcp_gateway.contract import TOOLS, accept, breaches, validate_result

SMS = {"message": "Checkout is failing."}
RUN = {"workflow_id": "escalate", "message": "Checkout is failing.", "idempotency_key": "k-1"}
SENT = {
    "alert_id": "A-7K3Q9X",
    "status": "queued",
    "channel": "sms",
    "recipient": "owner",
    "estimated_cost_cents": 4,
    "require_ack": False,
    "deadline_at": None,
    "idempotent_replay": False,
}


def refused(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    refusal = breaches(TOOLS[tool], arguments)
    assert refusal is not None
    assert refusal.code == "CONTENT_REJECTED"
    assert refusal.retry_after_s is None
    return {"message": refusal.message, **refusal.details}


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "rule", "message"),
    [
        ("send_sms", {}, "message", "required", "message is required."),
        ("start_workflow", {}, "workflow_id", "required", "workflow_id is required."),
        ("start_workflow", {**RUN, "message": ""}, "message", "empty", "message must not be empty."),
        ("send_sms", {"message": " \n\t"}, "message", "empty", "message must not be empty."),
        ("send_sms", {**SMS, "recipient": ""}, "recipient", "empty", "recipient must not be empty."),
        ("send_sms", {**SMS, "agent_name": "   "}, "agent_name", "empty", "agent_name must not be empty."),
        ("send_sms", {**SMS, "recipient": None}, "recipient", "type", "recipient must be a string."),
        ("send_sms", {"message": 5}, "message", "type", "message must be a string."),
        ("send_sms", {**SMS, "require_ack": "true"}, "require_ack", "type", "require_ack must be true or false."),
        ("send_sms", {**SMS, "require_ack": 1}, "require_ack", "type", "require_ack must be true or false."),
        ("get_alert_status", {"alert_ids": "A-1"}, "alert_ids", "type", "alert_ids must be a list."),
        ("get_alert_status", {"alert_ids": [True]}, "alert_ids", "type", "Each entry of alert_ids must be a string."),
        ("get_alert_status", {"alert_ids": []}, "alert_ids", "empty", "alert_ids must not be empty."),
        (
            "get_alert_status",
            {"alert_ids": ["A", ""]},
            "alert_ids",
            "empty",
            "Each entry of alert_ids must not be empty.",
        ),
        (
            "send_sms",
            {**SMS, "use_case": "Refunds"},
            "use_case",
            "format",
            "use_case takes only lowercase a-z, 0-9, space and -.",
        ),
        (
            "send_sms",
            {**SMS, "event_reference": "a\x00b"},
            "event_reference",
            "format",
            "event_reference contains characters that are not text.",
        ),
        ("send_sms", {"message": "a\ud800b"}, "message", "format", "message contains characters that are not text."),
        ("send_sms", {**SMS, "phone": "x"}, "phone", "unknown_field", "send_sms takes no field named phone."),
        ("get_setup_status", {"a": 1}, "a", "unknown_field", "get_setup_status takes no field named a."),
    ],
)
def test_a_breach_names_the_field_and_the_rule(
    tool: str, arguments: dict[str, Any], field: str, rule: str, message: str
) -> None:
    assert refused(tool, arguments) == {"message": message, "field": field, "rule": rule}


@pytest.mark.parametrize(
    ("tool", "field", "limit"),
    [
        ("send_whatsapp", "recipient", 30),
        ("list_workflows", "recipient", 30),
        ("send_whatsapp", "agent_name", 30),
        ("send_whatsapp", "use_case", 40),
        ("send_whatsapp", "event_reference", 100),
        ("get_alert_status", "event_reference", 100),
        ("send_whatsapp", "idempotency_key", 64),
        ("start_workflow", "idempotency_key", 64),
        ("start_workflow", "workflow_id", 40),
        ("cancel_alert", "alert_id", 32),
    ],
)
def test_a_text_at_its_limit_is_taken_and_one_more_is_refused(tool: str, field: str, limit: int) -> None:
    rest = {key: value for key, value in RUN.items() if key in TOOLS[tool].input_schema.get("required", ())}
    assert breaches(TOOLS[tool], {**rest, field: "a" * limit}) is None
    assert refused(tool, {**rest, field: "a" * (limit + 1)}) == {
        "message": f"{field} takes at most {limit} characters.",
        "field": field,
        "rule": "max_length",
        "max_length": limit,
    }


def test_twenty_alert_ids_are_taken_and_one_more_is_refused() -> None:
    assert breaches(TOOLS["get_alert_status"], {"alert_ids": ["A-7K3Q9X"] * 20}) is None
    assert refused("get_alert_status", {"alert_ids": ["A-7K3Q9X"] * 21}) == {
        "message": "alert_ids takes at most 20 entries.",
        "field": "alert_ids",
        "rule": "max_length",
        "max_length": 20,
    }
    assert refused("get_alert_status", {"alert_ids": ["A" * 33]})["max_length"] == 32


def test_a_long_message_is_left_to_be_counted_after_cleaning_unless_it_is_absurd() -> None:
    assert TOOLS["send_sms"].input_schema["properties"]["message"]["maxLength"] == 600
    assert breaches(TOOLS["send_sms"], {"message": "*" * 605}) is None
    assert breaches(TOOLS["send_sms"], {"message": "a" * 20_000}) is None
    assert refused("send_sms", {"message": "a" * 20_001}) == {
        "message": "message takes at most 600 characters.",
        "field": "message",
        "rule": "max_length",
        "max_length": 600,
    }


def test_unknown_fields_come_first_then_missing_ones_then_the_order_of_the_schema() -> None:
    wrong = {"use_case": "NO", "recipient": "", "zone": 1, "area": 2}
    assert refused("start_workflow", wrong)["field"] == "area"
    del wrong["zone"], wrong["area"]
    assert refused("start_workflow", wrong)["field"] == "workflow_id"
    assert refused("start_workflow", {**wrong, "workflow_id": "x", "message": "y"})["field"] == "idempotency_key"
    assert refused("start_workflow", {**RUN, **wrong})["field"] == "recipient"
    assert refused("start_workflow", {**RUN, **wrong, "message": "\ud800"})["field"] == "message"
    assert refused("start_workflow", {**RUN, "use_case": "NO"})["field"] == "use_case"


@pytest.mark.parametrize("name", ["+15550100123", "tel_5550100123", "call Ann at noon", "x" * 41, "", "número"])
def test_an_unknown_field_is_not_repeated_when_its_name_could_say_something(name: str) -> None:
    assert refused("send_sms", {**SMS, name: 1}) == {
        "message": "send_sms takes no such field.",
        "field": "arguments",
        "rule": "unknown_field",
    }


def test_a_refusal_never_repeats_the_value() -> None:
    secret = "+15550100123"
    wrong: list[dict[str, Any]] = [
        {**SMS, "use_case": secret},
        {**SMS, "recipient": secret * 9},
        {**SMS, "agent_name": [secret]},
        {**SMS, "event_reference": {secret: secret}},
        {**SMS, secret: secret},
    ]
    for arguments in wrong:
        assert secret not in str(refused("send_sms", arguments))


@pytest.mark.parametrize("tool", list(TOOLS))
def test_the_examples_are_accepted_as_they_are(tool: str) -> None:
    arguments = dict(TOOLS[tool].example_arguments)
    assert accept(TOOLS[tool], arguments) == arguments


def test_control_characters_are_stripped_but_the_message_keeps_its_line_breaks() -> None:
    given = {"message": "One\nTwo\x00", "recipient": "Sa\x00m\n", "idempotency_key": "a\x7f\x9fb"}
    assert accept(TOOLS["send_sms"], given) == {
        "message": "One\nTwo\x00",
        "recipient": "Sam",
        "idempotency_key": "ab",
    }
    assert given["recipient"] == "Sa\x00m\n"
    assert accept(TOOLS["get_alert_status"], {"alert_ids": ["A-\x007K3Q9X"]}) == {"alert_ids": ["A-7K3Q9X"]}


def test_what_is_nothing_but_control_characters_is_empty() -> None:
    with pytest.raises(Refusal) as caught:
        accept(TOOLS["send_sms"], {**SMS, "recipient": "\x00\x01"})
    assert caught.value.details == {"field": "recipient", "rule": "empty"}


def test_a_result_as_the_contract_has_it_passes() -> None:
    validate_result(TOOLS["send_sms"], SENT)
    validate_result(TOOLS["send_sms"], {**SENT, "deadline_at": "2026-10-03T20:05:00.000Z", "notice": "n"})


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"deadline_at": "2026-10-03T20:05:00Z"}, r"\$\.deadline_at breaks format"),
        ({"deadline_at": "2026-10-03T20:05:00.000+00:00"}, r"\$\.deadline_at breaks format"),
        ({"estimated_cost_cents": True}, r"\$\.estimated_cost_cents breaks type"),
        ({"estimated_cost_cents": None}, r"\$\.estimated_cost_cents breaks type"),
        ({"status": "sent"}, r"\$\.status breaks enum"),
        ({"country": "US"}, r"\$ breaks additionalProperties"),
    ],
)
def test_a_result_that_drifts_is_caught_without_telling_its_values(change: dict[str, Any], place: str) -> None:
    with pytest.raises(ValueError, match=f"^send_sms: {place}$"):
        validate_result(TOOLS["send_sms"], {**SENT, **change})


def test_a_result_without_a_required_field_is_caught() -> None:
    for field in SENT:
        with pytest.raises(ValueError, match=r"^send_sms: \$ breaks required$"):
            validate_result(TOOLS["send_sms"], {key: value for key, value in SENT.items() if key != field})


def test_the_seeds_failed_result_passes_and_a_success_is_no_error() -> None:
    error = {
        "code": "RATE_LIMITED",
        "message": "Too many alerts to this recipient in the last hour (the limit is 20 an hour).",
        "retry_after_s": 1200,
        "details": {"reason": "holder_per_hour"},
    }
    validate_result(TOOLS["send_sms"], {"error": error})
    with pytest.raises(ValueError, match=r"additionalProperties$"):
        validate_result(TOOLS["send_sms"], {**SENT, "error": error})


@pytest.mark.parametrize(
    ("tool", "error"),
    [
        ("get_setup_status", {"code": "RATE_LIMITED", "message": "m", "details": {"reason": "rate_cap"}}),
        ("send_sms", {"code": "TEMPLATE_MISMATCH", "message": "m"}),
        ("send_sms", {"code": "PLAN_LIMIT", "message": "m"}),
        ("send_sms", {"code": "RATE_LIMITED", "message": "m"}),
        ("send_sms", {"code": "RATE_LIMITED", "message": "m", "details": {"reason": "other"}}),
        ("send_sms", {"code": "RATE_LIMITED", "message": "m", "retry_after_s": 0, "details": {"reason": "rate_cap"}}),
        ("send_sms", {"code": "PROVIDER_ERROR", "message": "m", "details": {"carrier": "30008"}}),
        ("send_sms", {"code": "CONTENT_REJECTED", "message": "m", "details": {"field": "message"}}),
        ("send_sms", {"code": "SERVICE_PAUSED", "message": "m", "details": {"flag": "country"}}),
        ("send_sms", {"code": "PROVIDER_ERROR"}),
    ],
)
def test_an_error_outside_the_tools_own_list_or_table_is_caught(tool: str, error: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{tool}: "):
        validate_result(TOOLS[tool], {"error": error})
