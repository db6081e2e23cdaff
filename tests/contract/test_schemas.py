"""The contract's data says what the seed says, field by field, both ways; its schemas are sound."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from jsonschema import Draft202012Validator

from mcp_gateway.contract import ERRORS, SERVER, TOOLS, tools_of
from mcp_gateway.contract.catalogue import FOLDER, read_data
from mcp_gateway.contract.publication import publication
from mcp_gateway.contract.rows import Row, rows_of

NAMES = [
    "get_setup_status",
    "list_workflows",
    "send_whatsapp",
    "send_sms",
    "make_call",
    "start_workflow",
    "get_alert_status",
    "cancel_alert",
]
RESOURCE = "https://mcp.breakpass.ai/mcp"
ISSUER = "https://mcp.breakpass.ai"


@pytest.fixture(scope="module")
def seed() -> str:
    found = sorted((Path(settings.BASE_DIR).parent / "shared" / "seeds").glob("001_*.txt"))
    if not found:
        pytest.skip("the shared folder is not here")
    return found[0].read_text(encoding="utf-8")


def between(text: str, start: str, end: str) -> str:
    return text.split(start, 1)[1].split(end, 1)[0]


def table(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip()[1:-1].split(" | ")] for line in lines]
    return cells[:1] + cells[2:]


def tool_section(seed: str, name: str) -> str:
    return between(between(seed, "\n## Tools\n", "\n## Workflows\n") + "\n### ", f"\n### `{name}`\n", "\n### ")


def part(section: str, heading: str) -> str:
    return between(section + "\n#### ", f"#### {heading}\n", "\n#### ").strip()


def fields(text: str) -> list[Row]:
    rows = []
    for field, type_words, description in table(text.split("\nStatus values:")[0])[1:]:
        found = re.fullmatch(r"`([^`]+)`( \(required\))?", field)
        assert found, field
        rows.append(Row(found[1], type_words, found[2] is not None, description))
    return rows


def node_at(schema: dict[str, Any], path: str) -> dict[str, Any]:
    for step in path.split("."):
        schema = schema["properties"][step.removesuffix("[]")]
        schema = schema["items"] if step.endswith("[]") else schema
    return schema


def objects_in(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in objects_in(item)]
    if not isinstance(schema, dict):
        return []
    here = [schema] if isinstance(schema.get("properties"), dict) and "type" in schema else []
    return here + [found for item in schema.values() for found in objects_in(item)]


def without_required(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: without_required(value) for key, value in schema.items() if key != "required"}
    return [without_required(item) for item in schema] if isinstance(schema, list) else schema


def test_the_seed_lists_exactly_these_tools_in_this_order(seed: str) -> None:
    assert re.findall(r"^### `(\w+)`$", between(seed, "\n## Tools\n", "\n## Workflows\n"), re.M) == NAMES


def test_the_eight_tools_are_one_family_and_every_file_is_listed() -> None:
    assert [tool.name for tool in tools_of("alerts")] == NAMES
    assert {path.stem for path in (FOLDER / "tools").glob("*.json")} == set(TOOLS)
    assert tools_of("no such family") == ()


@pytest.mark.parametrize("name", NAMES)
def test_description_scope_annotations_and_cost_are_the_seeds(seed: str, name: str) -> None:
    section, tool = tool_section(seed, name), TOOLS[name]
    assert section.strip().split("\n\n")[0] == tool.description
    assert re.findall(r"^- Scope: `(.+)`$", section, re.M) == [tool.scope]
    hints = re.findall(r"`(\w+Hint): (true|false)`", section)
    assert {key: value == "true" for key, value in hints} == dict(tool.annotations)
    assert len(tool.annotations) == 4
    assert re.findall(r"^- Cost: (.+)$", section, re.M) == [tool.cost]


@pytest.mark.parametrize("name", NAMES)
def test_every_input_row_of_the_seed_is_in_the_schema_and_no_other(seed: str, name: str) -> None:
    text = part(tool_section(seed, name), "Input")
    expected = [] if text == "No input." else fields(text)
    assert list(rows_of(TOOLS[name].input_schema)) == expected
    assert list(TOOLS[name].input_schema["properties"]) == [row.path for row in expected]


@pytest.mark.parametrize("name", NAMES)
def test_every_output_row_of_the_seed_is_in_the_schema_and_no_other(seed: str, name: str) -> None:
    text = part(tool_section(seed, name), "Output")
    if name == "cancel_alert":
        assert text == TOOLS[name].output_note
        assert TOOLS[name].success_schema == node_at(TOOLS["get_alert_status"].success_schema, "alerts[]")
        return
    assert list(rows_of(TOOLS[name].success_schema)) == fields(text)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_description_calls_one_of_is_the_enum(seed: str, name: str) -> None:
    tool = TOOLS[name]
    for schema in (tool.input_schema, tool.success_schema):
        for row in rows_of(schema):
            node = node_at(schema, row.path)
            listed = re.search(r"One of ((?:`\w+`(?:, )?)+)\.", row.description)
            expected: list[str | None] | None = list(re.findall(r"`(\w+)`", listed[1])) if listed else None
            if expected and row.type.endswith(" or null"):
                expected.append(None)
            assert node.get("enum") == expected, row.path


@pytest.mark.parametrize("name", NAMES)
def test_the_errors_of_a_tool_are_the_seeds(seed: str, name: str) -> None:
    text, tool = part(tool_section(seed, name), "Errors"), TOOLS[name]
    assert tuple(re.findall(r"`([A-Z_]{5,})`", text)) == tool.errors
    assert text == (tool.errors_note or ", ".join(f"`{code}`" for code in tool.errors))
    served = tool.output_schema["anyOf"][1]["properties"]["error"]["properties"]["code"]["enum"]
    assert set(served) == {*tool.errors, "CONTENT_REJECTED"}
    assert set(served) <= set(ERRORS)


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_are_the_seeds(seed: str, name: str) -> None:
    blocks = re.findall(r"```json\n(.*?)```", part(tool_section(seed, name), "Example"), re.S)
    request, response = (json.loads(block) for block in blocks)
    assert request == {"name": name, "arguments": dict(TOOLS[name].example_arguments)}
    assert response == dict(TOOLS[name].example_result)


def test_the_status_values_are_the_seeds(seed: str) -> None:
    text = part(tool_section(seed, "get_alert_status"), "Output").split("\nStatus values:")[1]
    expected = {status.strip("`"): meaning for status, meaning in table(text)[1:]}
    assert dict(TOOLS["get_alert_status"].status_values) == expected
    status = node_at(TOOLS["get_alert_status"].success_schema, "alerts[].status")
    assert list(expected) == status["enum"]


def test_the_server_says_of_itself_what_the_seed_says(seed: str) -> None:
    connect = between(seed, "\n## Connect\n", "\n## Authentication\n")
    assert re.findall(r"^> (.+)$", connect, re.M) == [SERVER.instructions]
    rows = dict(table(connect)[1:])
    assert f'Name `{SERVER.name}`, title "{SERVER.title}".' in rows["Server info"]
    assert f"`ttlMs` {SERVER.ttl_ms:,}" in rows["Server info"]
    assert rows["MCP version"].startswith(SERVER.protocol_version)
    assert f"{' and '.join(SERVER.legacy_protocol_versions)}, with `initialize`" in rows["MCP version"]


def test_the_scopes_are_the_seeds_and_agree_with_the_tools(seed: str) -> None:
    expected = [
        {"scope": scope.strip("`"), "tools": tools.split(", "), "notes": notes}
        for scope, tools, notes in table(between(seed, "### Scopes", "\n## Tools\n"))[1:]
    ]
    assert [dict(scope) for scope in SERVER.scopes] == expected
    assert {name: scope["scope"] for scope in SERVER.scopes for name in scope["tools"]} == {
        tool.name: tool.scope for tool in tools_of("alerts")
    }


def test_the_prose_tables_are_the_seeds(seed: str) -> None:
    reference = publication(resource=RESOURCE, issuer=ISSUER)["reference"]
    connect = table(between(seed, "\n## Connect\n", "\n## Authentication\n"))[1:]
    authentication = table(between(seed, "\n## Authentication\n", "\n### Scopes\n"))[1:]
    workflows = table(between(seed, "\n## Workflows\n", "\n## Delivery"))
    assert [[row["item"], row["value"]] for row in reference["connect"]] == connect
    assert [[row["item"], row["value"]] for row in reference["authentication"]] == authentication
    assert [reference["workflows"]["columns"], *reference["workflows"]["rows"]] == workflows
    delivery = between(seed, "\n## Delivery and acknowledgement\n", "\n## Idempotency")
    assert reference["delivery"] == [line for line in delivery.splitlines() if line]
    idempotency = between(seed, "\n## Idempotency and duplicates\n", "\n## Limits\n").strip().splitlines()
    assert reference["idempotency"] == [line.removeprefix("- ") for line in idempotency]


def test_the_error_table_is_the_seeds(seed: str) -> None:
    text = between(seed, "\n## Errors\n", "\n### `RATE_LIMITED` reasons")
    assert [[f"`{error.code}`", error.when, error.retry] for error in ERRORS.values()] == table(text)[1:]
    example = json.loads(between(text, "```json\n", "```"))
    assert read_data("errors.json")["example"] == example


def test_the_reasons_of_rate_limited_are_the_seeds(seed: str) -> None:
    data = read_data("rate_limited.json")
    text = seed.split("\n### `RATE_LIMITED` reasons\n")[1]
    shown = [
        [
            ", ".join(f"`{reason}`" for reason in row["reasons"]),
            f"{row['message']} {row['note']}".strip(),
            str(row["retry_after"]),
            row["other_details"],
        ]
        for row in data["reasons"]
    ]
    assert shown == table(text)[1:]
    assert f'A refusal without a message reads "{data["default_message"]}"' in text
    reasons = [reason for row in data["reasons"] for reason in row["reasons"]]
    assert ERRORS["RATE_LIMITED"].details_schema["properties"]["reason"]["enum"] == reasons


def test_the_reasons_of_channel_unavailable_are_the_seeds(seed: str) -> None:
    rows = read_data("channel_unavailable.json")["reasons"]
    listed = between(ERRORS["CHANNEL_UNAVAILABLE"].when, "`reason`: ", ". Examples")
    assert sorted(row["reason"] for row in rows) == sorted(re.findall(r"`(\w+)`", listed))
    assert len(rows) == 12
    schema = ERRORS["CHANNEL_UNAVAILABLE"].details_schema
    assert schema["properties"]["reason"]["enum"] == [row["reason"] for row in rows]
    messages = [row["message"] for row in rows if "message" in row]
    assert len(messages) == 4
    assert all(f'"{message}"' in seed for message in messages)


def test_the_limits_are_the_seeds_and_the_schemas_hold_them(seed: str) -> None:
    data = read_data("limits.json")
    text = between(seed, "\n## Limits\n", "\n## Errors\n")
    assert [[row["scope"], row["limit"]] for row in data["rows"]] == table(text)[1:]
    assert text.strip().startswith(data["note"])
    lengths = {
        name: field["maxLength"]
        for tool in TOOLS.values()
        for name, field in tool.input_schema["properties"].items()
        if "maxLength" in field
    }
    assert lengths == {
        "message": 600,
        "recipient": 30,
        "agent_name": 30,
        "use_case": 40,
        "event_reference": 100,
        "idempotency_key": 64,
        "workflow_id": 40,
        "alert_id": 32,
    }
    assert lengths.items() <= data["fields"].items()
    ids = TOOLS["get_alert_status"].input_schema["properties"]["alert_ids"]
    assert (ids["minItems"], ids["maxItems"], ids["items"]["maxLength"]) == (1, data["fields"]["alert_ids"], 32)
    assert data["fields"]["message_with_call"] == 150


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_valid_closed_and_stands_alone(name: str) -> None:
    tool = TOOLS[name]
    for schema in (tool.input_schema, tool.output_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)
    closed = objects_in(tool.input_schema) + objects_in(tool.output_schema)
    assert len(closed) >= 3
    assert [node for node in closed if node.get("additionalProperties") is not False] == []
    assert all(set(node["required"]) <= node["properties"].keys() for node in closed if "required" in node)


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_fit_the_schemas(name: str) -> None:
    tool = TOOLS[name]
    assert list(Draft202012Validator(tool.input_schema).iter_errors(dict(tool.example_arguments))) == []
    # The examples show a part of the fields; what they show is valid and known.
    shown = Draft202012Validator(without_required(tool.success_schema))
    assert list(shown.iter_errors(dict(tool.example_result))) == []


@pytest.mark.parametrize("name", NAMES)
def test_an_example_with_a_foreign_field_does_not_fit(name: str) -> None:
    shown = Draft202012Validator(without_required(TOOLS[name].success_schema))
    errors = list(shown.iter_errors({**TOOLS[name].example_result, "phone": "x"}))
    assert [error.validator for error in errors] == ["additionalProperties"]
