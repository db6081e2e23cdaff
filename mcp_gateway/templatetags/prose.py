"""Shows the contract's prose as HTML: `code` and **strong**, everything else escaped."""

import re

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
MARKED = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")


@register.filter
def prose(text: str) -> SafeString:
    """The text with its backticked and starred parts marked up."""
    pieces: list[SafeString] = []
    end = 0
    for match in MARKED.finditer(text):
        pieces.append(format_html("{}", text[end : match.start()]))
        code, strong = match.groups()
        pieces.append(format_html("<code>{}</code>", code) if code else format_html("<strong>{}</strong>", strong))
        end = match.end()
    pieces.append(format_html("{}", text[end:]))
    return format_html_join("", "{}", ((piece,) for piece in pieces))


@register.filter
def breakable(path: str) -> SafeString:
    """A field's path that may wrap after its dots."""
    return format_html_join(mark_safe(".<wbr>"), "{}", ((step,) for step in path.split(".")))
