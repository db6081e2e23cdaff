"""A browser without a screen: signs in by the e-mailed code, presses Allow, and stops at the client's address."""

import re
import time
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx
from django.core import mail

CODE = re.compile(r"\b\d{6}\b")
STEPS = 12


class FirstForm(HTMLParser):
    """The fields of a page's first form, as a browser would send them: hidden ones, and ticked boxes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.ticked: list[tuple[str, str]] = []
        self._forms = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes the inputs of the first form."""
        said = {name: value or "" for name, value in attrs}
        self._forms += tag == "form"
        if tag != "input" or self._forms != 1:
            return
        if said.get("type") == "checkbox":
            if "checked" in said:
                self.ticked.append((said["name"], said.get("value", "on")))
        else:
            self.fields[said["name"]] = said.get("value", "")


def newest_code(address: str) -> str:
    """The code in the newest mail to an address; the server sends it in another thread."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        for letter in reversed(mail.outbox):
            if address in letter.to:
                found = CODE.search(str(letter.body))
                assert found
                return found.group()
        time.sleep(0.01)
    raise AssertionError("no code came")


def authorize(url: str, *, email: str, allow: bool = True, unticked: tuple[str, ...] = ()) -> str:
    """Follow an authorization request to its end; the client's address that the browser is sent to."""
    site = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    with httpx.Client(follow_redirects=False, timeout=30) as browser:
        response = browser.get(url)
        for _ in range(STEPS):
            if response.is_redirect:
                url = urljoin(str(response.url), response.headers["location"])
                if not url.startswith(site + "/"):
                    return url
                response = browser.get(url)
                continue
            assert response.status_code == 200, (response.status_code, response.text[:500])
            form = FirstForm(response.text)
            here = str(response.url)
            if "email" in form.fields:
                form.fields["email"] = email
            elif "code" in form.fields:
                form.fields["code"] = newest_code(email)
            else:
                form.fields["allow"] = "true" if allow else "false"
                form.fields.update({name: value for name, value in form.ticked if value not in unticked})
            response = browser.post(here, data=form.fields, headers={"Referer": here, "Origin": site})
    raise AssertionError("the authorization did not end")
