"""System checks: what is missing or unsafe for production, said before anything is served (`manage.py check`)."""

import os
from collections.abc import Sequence
from typing import Any, Final

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured

LONG_ENOUGH: Final = 40
# What sending by each channel takes.
SENDERS: Final = {
    "SMS": ("TWILIO_SMS_FROM",),
    "WhatsApp": (
        "TWILIO_WHATSAPP_FROM",
        "TWILIO_CONTENT_SID_ALERT",
        "TWILIO_CONTENT_SID_ALERT_ACK",
        "TWILIO_CONTENT_SID_CODE",
    ),
    "Calls": ("TWILIO_VOICE_FROM",),
}


@register(Tags.security)
def check_production(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """What no production installation may run without. Nothing to say in development."""
    if not settings.PRODUCTION:
        return []
    return [*secrets_missing(), *addresses_unsafe(), *servers_missing()]


@register(Tags.security, deploy=True)
def check_senders(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Channels that are off because a sender or template is not set; `check --deploy` only."""
    found: list[CheckMessage] = []
    for channel, needed in SENDERS.items():
        missing = [name for name in needed if not getattr(settings, name)]
        if missing:
            found.append(Warning(f"{channel} can't be sent: {', '.join(missing)} not set.", id="breakpass.W001"))
    return found


def secrets_missing() -> list[CheckMessage]:
    """Keys that are absent, short, or the development machine's."""
    found: list[CheckMessage] = []
    try:
        secret = settings.SECRET_KEY
    except ImproperlyConfigured:  # Django's answer to an empty one
        secret = ""
    if len(secret) < LONG_ENOUGH or secret == settings.DEVELOPMENT_SECRET:
        found.append(Error("SECRET_KEY is missing or too short.", hint="60 random characters.", id="breakpass.E001"))
    # As in the settings: without their own values these two follow from SECRET_KEY and would change with it.
    for name, why in (
        ("NUMBER_KEYS", "phone numbers could not be read any more"),
        ("NUMBER_HASH_KEY", "phone numbers could not be found any more"),
    ):
        if not os.environ.get(name):
            hint = f"Without it, {why} once SECRET_KEY changes."
            found.append(Error(f"{name} is not set.", hint=hint, id="breakpass.E002"))
    if not settings.TWILIO_ACCOUNT_SID or not settings.TWILIO_AUTH_TOKEN:
        found.append(Error("TWILIO_ACCOUNT_SID or TWILIO_AUTH_TOKEN is not set.", id="breakpass.E003"))
    return found


def addresses_unsafe() -> list[CheckMessage]:
    """Addresses over which codes and tokens would travel in the clear, and a page that tells too much."""
    found: list[CheckMessage] = [
        Error(f"{name} must start with https:// in production.", id="breakpass.E004")
        for name in ("BASE_URL", "LINK_BASE_URL")
        if not getattr(settings, name).startswith("https://")
    ]
    found += [
        Error(f"{name} must start with https:// in production.", id="breakpass.E004")
        for name in ("TWILIO_API_URL", "TWILIO_CONTENT_API_URL")
        if not getattr(settings, name).startswith("https://") and not settings.ALLOW_TEST_COMMANDS
    ]
    if settings.DEBUG:
        found.append(Error("DEBUG shows code and settings to visitors.", id="breakpass.E005"))
    return found


def servers_missing() -> list[CheckMessage]:
    """Servers that production needs and that no default can stand in for."""
    found: list[CheckMessage] = []
    if settings.DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql":
        found.append(Error("DATABASE_URL must name a PostgreSQL database.", id="breakpass.E006"))
    found += [
        Error(f"{name} is not set.", id="breakpass.E007")
        for name in ("DATABASE_URL", "REDIS_URL")
        if not os.environ.get(name)
    ]
    if settings.EMAIL_BACKEND == "django.core.mail.backends.console.EmailBackend":
        hint = "Sign-in codes would only be printed."
        found.append(Error("EMAIL_URL is not set.", hint=hint, id="breakpass.E008"))
    return found
