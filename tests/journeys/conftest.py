"""Each story gets the product on a live server, the sandbox beside it, and one clock for both."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import time_machine
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from breakpass.celery import app
from sandbox import Config, Sandbox
from tests import world
from tests.journeys.story import Story
from tests.live import point_settings_at

BEGINNING = datetime(2026, 10, 3, 19, 0, tzinfo=UTC)


@pytest.fixture
def story(
    transactional_db: None, live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Story]:
    """The stage, at 19:00 on a Saturday, in a world of two countries; when a story has ended, nothing may be left."""
    # In this process, so that what is remembered for some seconds is forgotten by the story's clock.
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "story"}}
    point_settings_at(settings, live_server.url)
    app.loader.import_default_modules()
    nudges: list[tuple[str, tuple[int | str, ...]]] = []
    monkeypatch.setattr("breakpass.nudge._post", lambda task, args: nudges.append((task, args)))
    config = Config(inbound_url=f"{live_server.url}/webhooks/twilio/inbound")
    with (
        time_machine.travel(BEGINNING, tick=False) as clock,
        Sandbox(config, clock="manual", start_at=BEGINNING) as sandbox,
    ):
        for name, value in sandbox.environment.items():
            if hasattr(settings, name):
                setattr(settings, name, value)
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", sandbox.smtp_port
        world.offer("US", sender="us_ca")
        world.offer("GB", sender="alphanumeric")
        told = Story(live_server.url, sandbox, clock, nudges, BEGINNING)
        yield told
        told.end()
