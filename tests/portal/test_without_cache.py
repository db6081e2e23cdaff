"""While the cache is down: whoever wants to be left alone still is, and strangers register nothing."""

import json

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Account, Holder, VerificationCode
from breakpass.resting_cache import RestingRedis
from mcp_gateway.models import Application
from tests import world
from tests.portal.test_holder_pages import stop_page
from tests.portal.test_people import digits, wrong


@pytest.fixture(autouse=True)
def _cache_is_down(settings: Settings, monkeypatch: pytest.MonkeyPatch, _still_clock: None) -> None:
    """Nothing listens there."""
    backend = "breakpass.resting_cache.RestingRedisCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "redis://127.0.0.1:9/0"}}
    monkeypatch.setattr(RestingRedis, "quiet_until", 0.0)


def test_a_number_is_stopped_by_its_code(owner: Account) -> None:
    client = Client()
    stop_page(client, world.OWNER_NUMBER)
    response = client.post(reverse("stop-code"), {"code": digits()})
    assert "No more alerts to this number" in response.content.decode()
    assert Holder.objects.get().opted_out_at == world.NOW


def test_guessing_is_still_capped(owner: Account) -> None:
    client = Client()
    stop_page(client, world.OWNER_NUMBER)
    right = digits()
    for _ in range(5):
        client.post(reverse("stop-code"), {"code": wrong(right)})
    client.post(reverse("stop-code"), {"code": right})
    assert VerificationCode.objects.get().checks == 5
    assert Holder.objects.get().opted_out_at is None


def test_nobody_registers_what_cannot_be_counted(owner: Account) -> None:
    body = json.dumps({"client_name": "Agent", "redirect_uris": ["http://localhost:3118/callback"]})
    response = Client().post("/register", body, content_type="application/json")
    assert response.status_code == 429
    assert Application.objects.count() == 0
