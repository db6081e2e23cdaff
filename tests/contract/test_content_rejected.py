"""CONTENT_REJECTED: what no channel carries and what breaks a field's rule, the same for every sender."""

from typing import Any

import pytest

from tests.contract.sends import TOOLS, Sender

pytestmark = pytest.mark.django_db
each_tool = pytest.mark.parametrize("tool", TOOLS)


@each_tool
@pytest.mark.parametrize(
    ("message", "rule", "sentence"),
    [
        ("", "empty", "message must not be empty."),
        (" \n ", "empty", "message must not be empty."),
        (
            "**\u200b**",
            "empty",
            "`message` has nothing to read left once markup and invisible characters are removed.",
        ),
        ("\U0001f525\U0001f525", "emoji_only", "`message` needs words: emoji alone are not sent."),
        (
            "See https://a.example/1 and https://a.example/2",
            "link_count",
            "`message` takes at most one link.",
        ),
        ("See http://a.example/1", "link_https", "A link must be a full https address."),
        (
            "See https://bit.ly/abc",
            "link_shortener",
            "Link shorteners are not sent. Use the full https address.",
        ),
        (
            "See https://wa.me/12025550143",
            "link_whatsapp",
            "wa.me and other WhatsApp links are not sent. Remove the link.",
        ),
    ],
)
def test_content_that_no_channel_carries_is_rejected_by_its_rule(
    sender: Sender, tool: str, message: str, rule: str, sentence: str
) -> None:
    assert sender.rejected(tool, message=message) == {"field": "message", "rule": rule, "message": sentence}


@each_tool
def test_a_message_is_counted_after_cleaning(sender: Sender, tool: str) -> None:
    rejected = sender.rejected(tool, message="x" * 601)
    assert rejected == {
        "field": "message",
        "rule": "max_length",
        "max_length": 600,
        "message": "`message` takes at most 600 characters; this one has 601.",
    }
    raw = "<b>" + "Checkout is failing.</b><br>" + "<i></i>" * 100
    assert len(raw) > 600
    answer = sender.send(tool, message=raw)
    assert sender.alert(answer).message == "Checkout is failing."


@each_tool
@pytest.mark.parametrize(
    ("field", "value", "rule", "sentence", "more"),
    [
        ("message", None, "required", "message is required.", {}),
        ("message", 7, "type", "message must be a string.", {}),
        ("recipient", "", "empty", "recipient must not be empty.", {}),
        ("recipient", "x" * 31, "max_length", "recipient takes at most 30 characters.", {"max_length": 30}),
        ("agent_name", "x" * 31, "max_length", "agent_name takes at most 30 characters.", {"max_length": 30}),
        ("agent_name", "...", "format", "`agent_name` needs a letter or a digit.", {}),
        ("use_case", "x" * 41, "max_length", "use_case takes at most 40 characters.", {"max_length": 40}),
        ("use_case", "Refunds", "format", "use_case takes only lowercase a-z, 0-9, space and -.", {}),
        (
            "event_reference",
            "x" * 101,
            "max_length",
            "event_reference takes at most 100 characters.",
            {"max_length": 100},
        ),
        (
            "idempotency_key",
            "x" * 65,
            "max_length",
            "idempotency_key takes at most 64 characters.",
            {"max_length": 64},
        ),
        ("idempotency_key", "", "empty", "idempotency_key must not be empty.", {}),
        ("idempotency_key", 7, "type", "idempotency_key must be a string.", {}),
    ],
)
def test_a_field_that_breaks_a_rule_is_rejected_by_name(
    sender: Sender, tool: str, field: str, value: Any, rule: str, sentence: str, more: dict[str, Any]
) -> None:
    assert sender.rejected(tool, **{field: value}) == {"field": field, "rule": rule, "message": sentence, **more}


@each_tool
def test_no_tool_takes_a_number_or_any_other_destination(sender: Sender, tool: str) -> None:
    for name in ("phone", "to", "number"):
        assert sender.rejected(tool, **{name: "x"}) == {
            "field": name,
            "rule": "unknown_field",
            "message": f"{tool} takes no field named {name}.",
        }


@each_tool
def test_fields_at_their_limits_are_accepted_and_control_characters_stripped(sender: Sender, tool: str) -> None:
    name = "A" * 30
    sender.add(name)
    answer = sender.send(
        tool,
        recipient=name.lower(),
        agent_name="a" * 29 + "\x07b",
        use_case="u" * 40,
        event_reference="e" * 50 + "\x00" + "e" * 50,
        idempotency_key="k" * 64,
    )
    alert = sender.alert(answer)
    assert (answer["recipient"], alert.agent_name) == (name, "a" * 29 + "b")
    assert (alert.use_case, alert.event_reference) == ("u" * 40, "e" * 100)
    assert sender.account.idempotency_keys.get().key == "k" * 64


@each_tool
def test_the_sender_is_the_app_unless_the_call_names_one(sender: Sender, tool: str) -> None:
    first = sender.send(tool)
    sender.mcp.call("cancel_alert", {"alert_id": first["alert_id"]})
    second = sender.send(tool, message="Again.", agent_name="Night watch")
    assert (sender.alert(first).agent_name, sender.alert(second).agent_name) == ("Test agent", "Night watch")
