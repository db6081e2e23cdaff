"""The whole product in one process, with the sandbox's phones, a working sweep and a real Chromium."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from alerts import outbox
from sandbox import Config, Sandbox

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"


class Worker(threading.Thread):
    """Does what beat and a worker do: one sweep after the other, until it is stopped."""

    def __init__(self) -> None:
        super().__init__(name="sweeper", daemon=True)
        self.stopping = threading.Event()
        self.failures: list[Exception] = []

    def run(self) -> None:
        """Sweep ten times a second."""
        while not self.stopping.wait(0.1):
            try:
                outbox.sweep(timezone.now(), clock=timezone.now)
            except Exception as failure:
                self.failures.append(failure)
                break
        connections.close_all()


@dataclass
class Product:
    """Where the product and the phones are, and what browsers complained about."""

    url: str
    sandbox: Sandbox
    browser: Browser
    complaints: list[str] = field(default_factory=list)

    def open(self, address: str = "/", **options: Any) -> Page:
        """A page of its own, with a fresh cookie jar."""
        page = self.browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(address if "://" in address else self.url + address)
        return page

    def _note(self, message: ConsoleMessage) -> None:
        # A refused form answers 422 or 410 on purpose.
        if message.type == "error" and "status of 4" not in message.text:
            self.complaints.append(message.text)


@pytest.fixture
def product(
    transactional_db: None, live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Product]:
    """Everything runs while a test does; a page that broke the content policy fails it."""
    if not os.path.exists(CHROMIUM):
        pytest.skip("there is no Chromium on this machine")
    # Playwright keeps a loop in this thread, which Django would take for asynchronous code.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    settings.BASE_URL = settings.LINK_BASE_URL = live_server.url
    config = Config(inbound_url=f"{live_server.url}/webhooks/twilio/inbound")
    with Sandbox(config, speed=4.0) as sandbox, sync_playwright() as playwright:
        for name, value in sandbox.environment.items():
            setattr(settings, name, value)
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        worker = Worker()
        worker.start()
        running = Product(live_server.url, sandbox, chromium)
        try:
            yield running
        finally:
            chromium.close()
            worker.stopping.set()
            worker.join(10)
    assert worker.failures == []
    assert running.complaints == []


def wait_for(what: Any, *, timeout_s: float = 10.0) -> Any:
    """Wait until `what()` is true; its value."""
    ends_at = time.monotonic() + timeout_s
    while not (found := what()):
        assert time.monotonic() < ends_at, "It did not happen in time."
        time.sleep(0.05)
    return found
