"""Links: which text is one, and which are refused wherever they go."""

import pytest

from breakpass.text import find_links, is_shortener, is_whatsapp_link
from breakpass.text.links import host_of, shorteners


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("See https://a.example/x.", ["https://a.example/x"]),
        ("http://a.example", ["http://a.example"]),
        ("(https://a.example/x_(y))", ["https://a.example/x_(y)"]),
        ("HTTPS://A.example", ["HTTPS://A.example"]),
        ("🚨https://a.example/x", ["https://a.example/x"]),
        ("見てhttps://a.example/x", ["https://a.example/x"]),
        ("https://a.example/?u=https://b.example", ["https://a.example/?u=https://b.example"]),
        ("https://a.example https://b.example", ["https://a.example", "https://b.example"]),
        ("ftp://a.example/f", ["ftp://a.example/f"]),
        ("whatsapp://send?phone=1", ["whatsapp://send?phone=1"]),
        ("bit.ly/x", ["bit.ly/x"]),
        ("go to wa.me/15550001111 now", ["wa.me/15550001111"]),
        ("www.a.example", ["www.a.example"]),
    ],
)
def test_links_are_found_as_they_are_written(text: str, links: list[str]) -> None:
    assert find_links(text) == links


@pytest.mark.parametrize(
    "text",
    [
        "README.md",
        "main.py failed in src//main.py",
        "me@a.example",
        "mailto:me@a.example",
        "a.example is down",
        "bit.ly is down",
        "robit.ly/x",
        "https://",
        "s3://bucket/key",
        "www. is short",
        "and/or",
    ],
)
def test_bare_names_and_addresses_of_other_kinds_are_text(text: str) -> None:
    assert find_links(text) == []


@pytest.mark.parametrize(
    "host", ["bit.ly", "BIT.LY", "www.bit.ly", "bit.ly.", "tinyurl.com", "t.co", "cutt.ly", "goo.gl", "maps.app.goo.gl"]
)
def test_shorteners_are_known_with_the_names_under_them(host: str) -> None:
    assert is_shortener(host)


@pytest.mark.parametrize("host", ["abit.ly", "bit.ly.example", "github.com", "ly", ""])
def test_other_hosts_are_not_shorteners(host: str) -> None:
    assert not is_shortener(host)


def test_the_list_of_shorteners_is_long_and_holds_bare_host_names() -> None:
    assert len(shorteners()) >= 100
    assert all(host == host.lower() and "/" not in host and "." in host for host in shorteners())


def test_whatsapp_links_are_those_that_open_a_chat() -> None:
    assert is_whatsapp_link("wa.me")
    assert is_whatsapp_link("WA.me")
    assert is_whatsapp_link("api.whatsapp.com")
    assert is_whatsapp_link("chat.whatsapp.com")
    assert not is_whatsapp_link("faq.whatsapp.com")
    assert not is_whatsapp_link("wa.me.example")


def test_the_host_of_a_link_is_the_one_a_browser_would_open() -> None:
    assert host_of("https://good.example@bit.ly/x") == "bit.ly"
    assert host_of("BIT.ly/x") == "bit.ly"
    assert host_of("https://a.example:8443/x") == "a.example"
