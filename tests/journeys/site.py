"""The site as its visitors reach it, over HTTP: pages with their forms, and a client for the agent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Self
from urllib.parse import urljoin

import httpx
from django.http import HttpResponse
from django.test import Client

SKIPPED = frozenset({"script", "style", "title"})


class OverTheWire(Client):
    """Django's test client with a real connection in place of the handler, for what speaks through a test client."""

    def __init__(self, site: str) -> None:
        super().__init__()
        self._connection = httpx.Client(base_url=site, timeout=30, trust_env=False)

    def generic(
        self,
        method: str,
        path: Any,
        data: Any = "",
        content_type: str | None = "application/octet-stream",
        secure: bool = False,
        *,
        headers: Mapping[str, str] | None = None,
        query_params: Mapping[Any, Any] | None = None,
        **extra: Any,
    ) -> Any:
        """One request; the answer as Django's own class."""
        sent = {"Content-Type": content_type or "", **(headers or {})}
        answer = self._connection.request(method, str(path), content=data, headers=sent)
        return HttpResponse(answer.content, status=answer.status_code, headers=dict(answer.headers))

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


@dataclass
class Form:
    """What one form would send, and its buttons by their words."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: dict[str, dict[str, str]] = field(default_factory=dict)


class Page(HTMLParser):
    """What a reader sees of a page: its words and its forms."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._words: list[str] = []
        self._skipping = ""
        self._select = ""
        self._button: tuple[dict[str, str], list[str]] | None = None
        self.feed(html)

    @property
    def text(self) -> str:
        """Its words, with single spaces."""
        return " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes forms, their fields and their buttons."""
        said = {name: value or "" for name, value in attrs}
        if tag in SKIPPED:
            self._skipping = tag
        elif tag == "form":
            self.forms.append(Form(said.get("action", "")))
        elif not self.forms:
            return
        elif tag == "input" and said.get("name"):
            if said.get("type") not in ("checkbox", "radio") or "checked" in said:
                self.forms[-1].fields[said["name"]] = said.get("value", "")
        elif tag == "select":
            self._select = said.get("name", "")
        elif tag == "option" and ("selected" in said or self._select not in self.forms[-1].fields):
            self.forms[-1].fields[self._select] = said.get("value", "")
        elif tag == "button":
            self._button = ({said["name"]: said.get("value", "")} if "name" in said else {}, [])

    def handle_endtag(self, tag: str) -> None:
        """A button is complete."""
        if tag == self._skipping:
            self._skipping = ""
        elif tag == "button" and self._button is not None:
            sent, words = self._button
            self.forms[-1].buttons[" ".join("".join(words).split())] = sent
            self._button = None

    def handle_data(self, data: str) -> None:
        """Words."""
        if self._skipping:
            return
        self._words.append(data)
        if self._button is not None:
            self._button[1].append(data)


class Visitor:
    """Somebody with a browser: opens pages, fills forms in, presses buttons by their words."""

    def __init__(self, site: str, cookies: dict[str, str] | None = None) -> None:
        self._browser = httpx.Client(follow_redirects=True, timeout=30, trust_env=False, cookies=cookies)
        self.site, self.address = site, site
        self.status, self.page = 0, Page("")
        self._html = ""

    @property
    def text(self) -> str:
        """What the page says."""
        return self.page.text

    def open(self, address: str) -> Self:
        """Go to a page, by its whole address or its path."""
        self._take(self._browser.get(urljoin(self.site, address)))
        assert self.status == 200, (self.status, self.text)
        return self

    def press(self, words: str, **fields: str) -> Self:
        """Fill in the fields of the form that has this button, and press it."""
        form = next((form for form in self.page.forms if words in form.buttons), None)
        assert form is not None, f"No button {words!r} among {[list(f.buttons) for f in self.page.forms]}"
        unknown = set(fields) - set(form.fields)
        assert not unknown, f"The form has no {unknown}; it has {set(form.fields)}"
        sent = form.fields | fields | form.buttons[words]
        action = urljoin(self.address, form.action) if form.action else self.address
        self._take(self._browser.post(action, data=sent, headers={"Referer": self.address}))
        return self

    def link(self, pattern: str) -> str:
        """The first address on the page that matches."""
        found = re.search(rf"https?://[^\s\"'<>]*{pattern}[^\s\"'<>]*", self._html)
        assert found is not None, f"No such link in {self.text!r}"
        return found[0]

    def close(self) -> None:
        """Close the browser."""
        self._browser.close()

    def _take(self, response: httpx.Response) -> None:
        self.address, self.status = str(response.url), response.status_code
        self._html = response.text
        self.page = Page(self._html)
