"""The mailbox: e-mails that the product sent, parsed for people and for tests."""

import re
import secrets
import threading
from collections.abc import Callable
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from html.parser import HTMLParser

from sandbox.records import Mail

KEPT = 500
_BLOCKS = frozenset({"p", "br", "div", "tr", "li", "h1", "h2", "h3", "h4", "table", "ul", "ol", "blockquote"})


class Mailbox:
    """All mail, whoever it is for; the oldest goes when there are more than 500."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._mails: list[Mail] = []

    def receive(self, sender: str, recipients: tuple[str, ...], raw: bytes) -> Mail:
        """Take in a message as it came over SMTP."""
        parsed = BytesParser(policy=policy.default).parsebytes(raw)
        mail = Mail(
            id=secrets.token_hex(8),
            sender=str(parsed.get("From", sender)),
            recipients=recipients,
            subject=str(parsed.get("Subject", "")),
            text=_text_of(parsed),
            at=self._now(),
            raw=raw,
        )
        with self._lock:
            self._mails = [*self._mails, mail][-KEPT:]
        return mail

    def listed(self, to: str = "") -> list[Mail]:
        """Mails in the order they came; with `to`, those for this address."""
        with self._lock:
            return [mail for mail in self._mails if not to or to.lower() in map(str.lower, mail.recipients)]

    def find(self, mail_id: str) -> Mail | None:
        """The mail with this id."""
        return next((mail for mail in self.listed() if mail.id == mail_id), None)

    def clear(self) -> None:
        """Throw everything away."""
        with self._lock:
            self._mails = []


def _text_of(parsed: EmailMessage) -> str:
    """The words of a message: its plain part, else its HTML without the markup."""
    part = parsed.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    try:
        content = str(part.get_content())
    except (LookupError, ValueError, KeyError):
        payload = part.get_payload(decode=True)
        content = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
    if part.get_content_type() == "text/html":
        reader = _Words()
        reader.feed(content)
        content = re.sub(r"\n{3,}", "\n\n", "".join(reader.words))
    return content.replace("\r\n", "\n").strip()


class _Words(HTMLParser):
    """Collects what a reader of HTML sees, links written out."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0
        self._link = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A block begins a line; styles and scripts are not read."""
        if tag in ("style", "script", "head"):
            self._hidden += 1
        elif tag in _BLOCKS:
            self.words.append("\n")
        elif tag == "a":
            self._link = dict(attrs).get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        """Write out where a link goes."""
        if tag in ("style", "script", "head"):
            self._hidden = max(0, self._hidden - 1)
        elif tag == "a" and self._link:
            self.words.append(f" {self._link} ")
            self._link = ""

    def handle_data(self, data: str) -> None:
        """Words."""
        if not self._hidden:
            self.words.append(re.sub(r"\s+", " ", data))
