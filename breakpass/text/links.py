"""Links in a message: finding them, and knowing shorteners and WhatsApp's own (seed 001, `message`)."""

import re
import unicodedata
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from linkify_it import LinkifyIt

SHORTENERS_FILE = Path(__file__).parents[1] / "data" / "shorteners.txt"
WHATSAPP_HOSTS = frozenset(
    {"wa.me", "wa.link", "api.whatsapp.com", "call.whatsapp.com", "chat.whatsapp.com", "web.whatsapp.com"}
)

# Addresses with a scheme only. Bare names, mail addresses and `//` comments are text.
_LINKIFY = LinkifyIt({"//": None, "mailto:": None, "whatsapp:": "http:"}, {"fuzzy_link": False, "fuzzy_email": False})
# Tried at every scheme by hand, because linkify looks for a space or punctuation before it and so overlooks a link
# that follows an emoji or a CJK character.
_SCHEME = re.compile(r"(?:https?|ftp|whatsapp)://", re.IGNORECASE)
_NO_NAME_BEFORE = r"(?<![A-Za-z0-9@._/-])"


@cache
def shorteners() -> frozenset[str]:
    """The host names in `breakpass/data/shorteners.txt`."""
    lines = SHORTENERS_FILE.read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))


@cache
def _bare_name() -> re.Pattern[str]:
    """A name without a scheme that is a link all the same: `www.…`, and a path on a shortener or on wa.me."""
    hosts = "|".join(re.escape(host) for host in sorted(shorteners() | WHATSAPP_HOSTS))
    return re.compile(
        rf"{_NO_NAME_BEFORE}(?:www\.(?=[^\W_][\w-]*\.\w)|(?:[a-z0-9-]+\.){{0,3}}(?:{hosts})\.?/(?=\w))", re.IGNORECASE
    )


def _length_at(text: str, position: int, scheme: str = "") -> int:
    """Characters of the link that starts at `position`; 0 when none does."""
    match = _LINKIFY.match_at_start(scheme + text[position:])
    return match.last_index - len(scheme) if match else 0


def find_links(text: str) -> list[str]:
    """Every link in `text`, in order, as it is written there. `README.md` and `a@b.example` are text."""
    starts = [(match.start(), "") for match in _SCHEME.finditer(text)]
    starts += [(match.start(), "https://") for match in _bare_name().finditer(text)]
    links: list[str] = []
    end = 0
    for start, scheme in sorted(starts):
        # A link inside the address of another one is part of it.
        if start >= end and (length := _length_at(text, start, scheme)):
            end = start + length
            links.append(text[start:end])
    return links


def host_of(link: str) -> str:
    """The host of a link from `find_links`, in small letters and without a final dot; "" when it has none."""
    try:
        host = urlsplit(link if _SCHEME.match(link) else f"https://{link}").hostname
    except ValueError:
        return ""
    return unicodedata.normalize("NFKC", host or "").casefold().rstrip(".")


def _is_under(host: str, names: frozenset[str]) -> bool:
    labels = host.casefold().rstrip(".").split(".")
    return any(".".join(labels[n:]) in names for n in range(len(labels)))


def is_shortener(host: str) -> bool:
    """True for a link shortener of the list, or a name under one."""
    return _is_under(host, shorteners())


def is_whatsapp_link(host: str) -> bool:
    """True for wa.me and the other hosts that open a WhatsApp chat."""
    return _is_under(host, WHATSAPP_HOSTS)


def is_https(link: str) -> bool:
    """True for a full https address with a host."""
    return link[:8].lower() == "https://" and bool(host_of(link))
