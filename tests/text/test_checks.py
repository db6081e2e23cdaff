"""What a message and a name may hold: one rule, one refusal."""

import pytest

from breakpass.errors import Refusal
from breakpass.text import check_message, check_name, clean, is_emoji_only


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("\u200b", "empty"),
        ("<!-- x -->", "empty"),
        ("a" * 601, "max_length"),
        ("🚨", "emoji_only"),
        ("🚨 🔥", "emoji_only"),
        ("👨\u200d👩\u200d👧", "emoji_only"),
        ("1\ufe0f\u20e3", "emoji_only"),
        ("https://a.example https://b.example", "link_count"),
        ("[https://a.example](https://b.example)", "link_count"),
        ("see http://a.example", "link_https"),
        ("see ftp://a.example", "link_https"),
        ("see www.a.example", "link_https"),
        ("see https://bit.ly/x", "link_shortener"),
        ("see http://bit.ly/x", "link_shortener"),
        ("see bit.ly/x", "link_shortener"),
        ("[here](https://tinyurl.com/x)", "link_shortener"),
        ("see https://good.example@bit.ly/x", "link_shortener"),
        ("see https://wa.me/15550001111", "link_whatsapp"),
        ("see wa.me/15550001111", "link_whatsapp"),
        ("see whatsapp://send?phone=1", "link_whatsapp"),
    ],
)
def test_a_message_that_breaks_a_rule_is_refused_with_that_rule(raw: str, rule: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_message(clean(raw), raw)
    assert refused.value.code == "CONTENT_REJECTED"
    assert refused.value.details["field"] == "message"
    assert refused.value.details["rule"] == rule
    assert refused.value.retry_after_s is None


@pytest.mark.parametrize(
    "raw", ["a" * 600, "é" * 600, "🚨 down", "✔ 3", "see https://a.example/x", "me@a.example", "README.md", "5", "..."]
)
def test_a_message_within_the_rules_passes(raw: str) -> None:
    check_message(clean(raw), raw)


def test_the_limit_is_counted_on_the_cleaned_text() -> None:
    raw = "<b>" + "a" * 600 + "</b>\n\n"
    check_message(clean(raw), raw)
    with pytest.raises(Refusal) as refused:
        check_message("a" * 601)
    assert refused.value.details == {"field": "message", "rule": "max_length", "max_length": 600}


def test_no_refusal_repeats_the_message() -> None:
    with pytest.raises(Refusal) as refused:
        check_message("secret https://bit.ly/x")
    assert "secret" not in refused.value.message
    assert "secret" not in repr(refused.value.details)


def test_digits_letters_and_punctuation_are_not_emoji() -> None:
    assert is_emoji_only("❤\ufe0f")
    assert not is_emoji_only("")
    assert not is_emoji_only("3 #")
    assert not is_emoji_only("→")
    assert not is_emoji_only("!!")


@pytest.mark.parametrize(
    ("name", "rule"),
    [("", "empty"), ("a" * 31, "max_length"), ("🤖", "format"), ("go https://a.example", "format")],
)
def test_a_name_that_breaks_a_rule_is_refused(name: str, rule: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_name(name, field="agent_name")
    assert refused.value.code == "CONTENT_REJECTED"
    assert refused.value.details["field"] == "agent_name"
    assert refused.value.details["rule"] == rule


def test_a_name_of_thirty_characters_passes() -> None:
    check_name("a" * 30, field="agent_name")
    check_name("Make.com", field="agent_name")
