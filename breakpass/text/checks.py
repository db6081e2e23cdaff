"""What a message and a name may hold, whatever the channel; each breach is a CONTENT_REJECTED refusal with its rule."""

from typing import Any

from breakpass.errors import Refusal
from breakpass.text.cleaning import MESSAGE_MAX_CHARS
from breakpass.text.emoji import is_emoji_only
from breakpass.text.links import find_links, host_of, is_https, is_shortener, is_whatsapp_link

NAME_MAX_CHARS = 30


def rejection(field: str, rule: str, message: str, **details: Any) -> Refusal:
    """A CONTENT_REJECTED refusal: the field, the rule it breaks, and what else helps to fix it."""
    return Refusal("CONTENT_REJECTED", message, details={"field": field, "rule": rule, **details})


def check_message(cleaned: str, raw: str | None = None, *, field: str = "message") -> None:
    """Refuses a cleaned message that no channel may carry (seed 001, `message` and Limits; behaviour, Text).

    Rules, in order: empty, max_length (characters of the cleaned text), emoji_only, link_count, link_whatsapp,
    link_shortener, link_https. `raw` only makes the sentence about emptiness say why.
    """
    if not cleaned:
        was_given = bool(raw and raw.strip())
        why = "has nothing to read left once markup and invisible characters are removed" if was_given else "is empty"
        raise rejection(field, "empty", f"`{field}` {why}.")
    if len(cleaned) > MESSAGE_MAX_CHARS:
        raise rejection(
            field,
            "max_length",
            f"`{field}` takes at most {MESSAGE_MAX_CHARS} characters; this one has {len(cleaned)}.",
            max_length=MESSAGE_MAX_CHARS,
        )
    if is_emoji_only(cleaned):
        raise rejection(field, "emoji_only", f"`{field}` needs words: emoji alone are not sent.")
    check_links(cleaned, field=field)


def check_links(cleaned: str, *, field: str = "message") -> None:
    """Refuses more than one link, WhatsApp links, shorteners, and anything that is not a full https address."""
    links = find_links(cleaned)
    if len(links) > 1:
        raise rejection(field, "link_count", f"`{field}` takes at most one link.")
    for link in links:
        host = host_of(link)
        if is_whatsapp_link(host) or link.lower().startswith("whatsapp:"):
            raise rejection(field, "link_whatsapp", "wa.me and other WhatsApp links are not sent. Remove the link.")
        if is_shortener(host):
            raise rejection(field, "link_shortener", "Link shorteners are not sent. Use the full https address.")
        if not is_https(link):
            raise rejection(field, "link_https", "A link must be a full https address.")


def check_name(cleaned: str, *, field: str) -> None:
    """Refuses a cleaned name that is empty, over 30 characters, without a letter or digit, or a link."""
    if not cleaned:
        raise rejection(field, "empty", f"`{field}` is empty.")
    if len(cleaned) > NAME_MAX_CHARS:
        raise rejection(
            field, "max_length", f"`{field}` takes at most {NAME_MAX_CHARS} characters.", max_length=NAME_MAX_CHARS
        )
    if not any(char.isalnum() for char in cleaned):
        raise rejection(field, "format", f"`{field}` needs a letter or a digit.")
    if find_links(cleaned):
        raise rejection(field, "format", f"`{field}` is a name and can't hold a link.")
