"""An owner in a real browser grants an app access: the page's own policy must let the answer reach the app."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import mail
from playwright.sync_api import expect

from mcp_gateway.models import Application
from tests.browser.conftest import Product
from tests.factories import AccountFactory
from tests.gateway import flow
from tests.live import point_settings_at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Callback(BaseHTTPRequestHandler):
    """The app's side: keeps what browsers bring."""

    brought: ClassVar[list[dict[str, list[str]]]] = []

    def do_GET(self) -> None:
        """Thank the owner."""
        parts = urlsplit(self.path)
        if parts.path == "/callback":
            self.brought.append(parse_qs(parts.query))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>Connected</h1>")

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


@pytest.fixture
def callback() -> Iterator[str]:
    """An app that listens on a free port of this computer."""
    Callback.brought.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Callback)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/callback"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(("button", "parameter"), [("Allow", "code"), ("Deny", "error")])
def test_the_owner_signs_in_decides_and_the_app_hears_of_it(
    product: Product, settings: Any, load_rates: None, callback: str, button: str, parameter: str
) -> None:
    point_settings_at(settings, product.url)
    owner = AccountFactory(number="+12025550143").members.get().user
    app = Application.objects.create(
        client_id="desk",
        name="Desk agent",
        client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris="http://127.0.0.1/callback",
    )
    asked = flow.request_of(app, flow.pkce()[1], redirect_uri=callback, resource=settings.MCP_RESOURCE)
    page = product.open(flow.address(asked))
    page.get_by_label("E-mail").fill(owner.email)
    page.get_by_role("button", name="Send me a code").click()
    expect(page.get_by_role("heading", name="Check your e-mail")).to_be_visible()
    found = re.search(r"\b\d{6}\b", str(mail.outbox[-1].body))
    assert found
    page.get_by_label("Code").fill(found.group())
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("(name not verified)")).to_be_visible()
    expect(page.get_by_text("We can't confirm this app's name.")).to_be_visible()
    page.get_by_role("button", name=button).click()
    expect(page.get_by_role("heading", name="Connected")).to_be_visible()
    assert len(Callback.brought) == 1
    assert set(Callback.brought[0]) - {"error_description"} == {parameter, "iss", "state"}
    assert Callback.brought[0]["iss"] == [product.url]
