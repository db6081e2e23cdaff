"""Cleaning: what comes out as it went in, what is removed, and that doing it twice changes nothing."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakpass.errors import Refusal
from breakpass.text import RAW_MAX_CHARS, clean, clean_name

PIECES = [*"ab1. \n\t*_`~#>-+=[]()<>!&;|\\/:'\"", "https://", "<b>", "</script>", "<script>", "&lt;", "](u)", "\u200b"]
MARKUP = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@pytest.mark.parametrize(
    "text",
    [
        "disk < 5%",
        "disk > 90% & rising",
        "> 90% of the disk is used",
        ">= 90% of the disk is used",
        "snake_case and other_snake_case",
        "2 * 3",
        "2*3*4 and 2**3**4",
        "a & b",
        "AT&T; &copy=2",
        "x <y> z",
        "List<String>",
        "if a <b and c> d",
        "#1 priority",
        "1. restart",
        "[deploy]: finished",
        "README.md",
        "cost ~5 to ~6",
        "C:\\new\\dir",
        "https://a.example/x_*y*_z?a=1&b=2",
        "a\u00a0b",
        "it’s “down” … – naïve código ł",
        "👨\u200d👩\u200d👧 ❤\ufe0f down",
    ],
)
def test_plain_text_comes_out_as_it_went_in(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("<b>bold</b>", "bold"),
        ("**bold**, *slanted*, ~~gone~~ and `code`", "bold, slanted, gone and code"),
        ("# Title\n\nBody.\nMore", "Title. Body. More"),
        ("Title\n=====\ntext", "Title. text"),
        ("- a\n- b", "a. b"),
        ("1. a\n2. b", "1. a. 2. b"),
        ("> quoted", "quoted"),
        ("---\nx", "x"),
        ("```py\nx=1\n```", "x=1"),
        ("``` foo", "foo"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b. 1, 2"),
        ("<script>alert('x')</script>hi", "hi"),
        ("<style>p { color: red }</style>hi", "hi"),
        ("a <script> tag is missing", "a tag is missing"),
        ("<!-- note -->hi", "hi"),
        ("<p>Hello</p><p>World</p>", "Hello. World"),
        ("a<br>b", "a. b"),
        ("&lt;b&gt;x&lt;/b&gt; &amp;amp; y", "x & y"),
        ("a &amp; b", "a & b"),
    ],
)
def test_markdown_and_html_become_what_a_person_would_have_read(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("[text](https://a.example/x_y)", "text https://a.example/x_y"),
        ("[https://a.example](https://a.example)", "https://a.example"),
        ("[a.example](https://a.example/)", "https://a.example/"),
        ("[](https://a.example/)", "https://a.example/"),
        ("<https://a.example>", "https://a.example"),
        ("**https://a.example/x**", "https://a.example/x"),
        ('<a href="https://a.example/?a=1&b=2">go</a> now', "go https://a.example/?a=1&b=2 now"),
        ("![graph](https://a.example/g.png)", "graph https://a.example/g.png"),
        ("see [this][1]\n\n[1]: https://a.example", "see this https://a.example"),
        ("[good.example](https://evil.example)", "good.example https://evil.example"),
        ("<me@a.example> or [me](mailto:me@a.example?subject=x)", "me@a.example or me me@a.example"),
    ],
)
def test_a_link_keeps_its_address_and_says_it_once(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("a\nb", "a. b"),
        ("a.\nb", "a. b"),
        ("a?\r\nb!\rc", "a? b! c"),
        ("a,\nb:\nc", "a, b: c"),
        ('He said "no."\nb', 'He said "no." b'),
        ("a\n\n\n  b  ", "a. b"),
        ("a\u2028b\u2029c\u0085d", "a. b. c. d"),
        ("a\tb \t  c", "a b c"),
        ("🚨\nDown", "🚨 Down"),
    ],
)
def test_line_breaks_become_spaces_or_full_stops(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@pytest.mark.parametrize("hidden", list("\x00\x07\x0b\x0c\x1b\x7f\x9f\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d"))
def test_control_and_invisible_characters_are_removed(hidden: str) -> None:
    assert clean(f"a{hidden}b") == "ab"


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200e",
        "\u202e",
        "\u2066",
        "\ufeff",
        "\ufe0f",
        "\ufe00",
        "\U000e0041",
        "\U000e0100",
        "\u3164",
        "\ufffe",
        "\ud800",
    ],
)
def test_direction_marks_tags_fillers_and_non_characters_are_removed(hidden: str) -> None:
    assert clean(f"a{hidden}b") == "ab"
    assert clean(hidden) == ""


def test_letters_are_composed() -> None:
    assert clean("cafe\u0301") == "caf\u00e9"


def test_an_angle_bracket_word_that_is_not_html_stays_text_and_the_control_character_goes() -> None:
    assert clean("<Dial>+1900…</Dial> & \"q\" 'x' ’\x0b") == "<Dial>+1900…</Dial> & \"q\" 'x' ’"


def test_markup_hidden_in_markup_does_not_come_through() -> None:
    assert clean("&amp;lt;b&amp;gt;x") == "x"
    assert clean("<<b>b>x") == "x"
    assert clean("\\*\\*x\\*\\*") == "x"
    assert "<" not in clean("<" * 300 + "b>" * 300)


@given(st.one_of(st.text(), MARKUP))
@settings(max_examples=400, deadline=None)
def test_cleaning_twice_changes_nothing_and_leaves_one_clean_line(raw: str) -> None:
    text = clean(raw)
    assert clean(text) == text
    assert text == text.strip()
    assert "  " not in text
    assert not any(char in text for char in "\n\r\t\x00\u200b\u202e")
    text.encode()


@given(st.text(alphabet=st.characters(categories=["L", "Nd"]), min_size=1))
def test_letters_and_digits_are_never_lost(raw: str) -> None:
    once = clean(raw)
    assert clean_name(raw) == once


@pytest.mark.parametrize(
    "part",
    [
        "[",
        "![",
        "*a **a ",
        "[a](u",
        "&amp;",
        "# ",
        "<b",
        "<a ",
        "`",
        "> - ",
        "# [<&amp;",
        "\\",
        "e\u0301",
        "|a\n",
        "https://a.b/",
    ],
)
def test_hostile_text_is_cleaned_in_bounded_time(part: str) -> None:
    hostile = (part * RAW_MAX_CHARS)[:RAW_MAX_CHARS]
    started = time.process_time()
    text = clean(hostile)
    assert time.process_time() - started < 6
    # Full stops for line breaks can take it over the length that is read at all.
    assert len(text) > RAW_MAX_CHARS or clean(text) == text


def test_text_far_over_every_limit_is_refused_unread() -> None:
    with pytest.raises(Refusal) as refused:
        clean("a" * 100_000)
    assert refused.value.code == "CONTENT_REJECTED"
    assert refused.value.details == {"field": "message", "rule": "max_length", "max_length": 600}
    assert clean("a" * RAW_MAX_CHARS) == "a" * RAW_MAX_CHARS


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("  Claude \n Code ", "Claude Code"),
        ("R*D*", "R*D*"),
        ("<b>x</b>", "<b>x</b>"),
        ("a\u202eb\x00", "ab"),
        ("\u200b", ""),
    ],
)
def test_a_name_is_one_visible_line_and_no_markup_is_read(raw: str, name: str) -> None:
    assert clean_name(raw) == name
