"""What `check` says of a production machine that is not ready, and its silence about one that is."""

import pytest
from pytest_django import Settings

from breakpass.checks import check_production, check_senders

SAFE = {
    "SECRET_KEY": "s" * 60,
    "BASE_URL": "https://alerts.example.com",
    "LINK_BASE_URL": "https://brk.example",
    "TWILIO_API_URL": "https://api.twilio.com",
    "TWILIO_CONTENT_API_URL": "https://content.twilio.com",
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "ALLOW_TEST_COMMANDS": False,
    "PRODUCTION": True,
    "DEBUG": False,
}
ENVIRONMENT = {
    "NUMBER_KEYS": "a-key",
    "NUMBER_HASH_KEY": "another-key",
    "DATABASE_URL": "postgres://db.internal/breakpass",
    "REDIS_URL": "redis://redis.internal/0",
}


@pytest.fixture(autouse=True)
def production(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with everything that production needs."""
    for name, value in SAFE.items():
        setattr(settings, name, value)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def said() -> list[tuple[str, str]]:
    """Id and sentence of everything the checks find."""
    return [(message.id or "", message.msg) for message in [*check_production(None), *check_senders(None)]]


def test_a_complete_production_machine_is_fine() -> None:
    assert said() == []


def test_a_development_machine_is_not_asked() -> None:
    from django.conf import settings

    settings.PRODUCTION, settings.SECRET_KEY, settings.BASE_URL = False, "short", "http://127.0.0.1:8000"
    assert check_production(None) == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SECRET_KEY", "short", ("breakpass.E001", "SECRET_KEY is missing or too short.")),
        ("TWILIO_AUTH_TOKEN", "", ("breakpass.E003", "TWILIO_ACCOUNT_SID or TWILIO_AUTH_TOKEN is not set.")),
        (
            "BASE_URL",
            "http://alerts.example.com",
            ("breakpass.E004", "BASE_URL must start with https:// in production."),
        ),
        ("TWILIO_API_URL", "http://x", ("breakpass.E004", "TWILIO_API_URL must start with https:// in production.")),
        ("DEBUG", True, ("breakpass.E005", "DEBUG shows code and settings to visitors.")),
        (
            "EMAIL_BACKEND",
            "django.core.mail.backends.console.EmailBackend",
            ("breakpass.E008", "EMAIL_URL is not set."),
        ),
        ("TWILIO_SMS_FROM", "", ("breakpass.W001", "SMS can't be sent: TWILIO_SMS_FROM not set.")),
        ("TWILIO_CONTENT_SID_CODE", "", ("breakpass.W001", "WhatsApp can't be sent: TWILIO_CONTENT_SID_CODE not set.")),
    ],
)
def test_what_is_unsafe_or_missing_is_named(
    settings: Settings, name: str, value: str | bool, expected: tuple[str, str]
) -> None:
    setattr(settings, name, value)
    assert said() == [expected]


def test_the_development_machines_secret_is_no_secret(settings: Settings) -> None:
    settings.SECRET_KEY = settings.DEVELOPMENT_SECRET
    assert said() == [("breakpass.E001", "SECRET_KEY is missing or too short.")]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("NUMBER_KEYS", "breakpass.E002"),
        ("NUMBER_HASH_KEY", "breakpass.E002"),
        ("DATABASE_URL", "breakpass.E007"),
        ("REDIS_URL", "breakpass.E007"),
    ],
)
def test_what_only_the_environment_can_give_must_be_there(
    monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    monkeypatch.delenv(name)
    assert said() == [(code, f"{name} is not set.")]


def test_a_test_installation_may_speak_to_the_sandbox(settings: Settings) -> None:
    settings.ALLOW_TEST_COMMANDS, settings.TWILIO_API_URL = True, "http://127.0.0.1:8001"
    assert said() == []
