"""What every test may rely on: senders and templates that are set up, rates on demand, and a movable now."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from django.core.cache import cache
from django.db import connection
from pytest_django import DjangoDbBlocker, Settings

from accounts import rates
from accounts.models import Rate
from tests.factories import NOW

SENDERS = {
    "TWILIO_ACCOUNT_SID": "AC" + "0" * 32,
    "TWILIO_AUTH_TOKEN": "a-token-of-the-tests",
    "TWILIO_SMS_FROM": "+12025550190",
    "TWILIO_SMS_FROM_ALPHANUMERIC": "BreakPass",
    "TWILIO_WHATSAPP_FROM": "+12025550191",
    "TWILIO_VOICE_FROM": "+12025550192",
    "TWILIO_CONTENT_SID_ALERT": "HX" + "1" * 32,
    "TWILIO_CONTENT_SID_ALERT_ACK": "HX" + "2" * 32,
    "TWILIO_CONTENT_SID_CODE": "HX" + "3" * 32,
    # Nothing listens there: a test that reaches for the carrier without saying so fails.
    "TWILIO_API_URL": "http://127.0.0.1:9",
    "TWILIO_CONTENT_API_URL": "http://127.0.0.1:9",
}


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Close what live servers' threads keep open (they reuse connections), or the database could not be dropped."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture(autouse=True)
def carrier_settings(settings: Settings) -> None:
    """Every channel has a sender and its templates, whatever the machine's environment says."""
    for name, value in SENDERS.items():
        setattr(settings, name, value)
    # A client's secret is hashed whenever a test makes a token: a third of a second with the real hasher.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture(autouse=True)
def fresh_cache() -> None:
    """No test finds what an earlier one left in the cache: a throttle's count, a template's verdict."""
    cache.clear()


@pytest.fixture
def now() -> datetime:
    """The moment at which tests happen."""
    return NOW


@pytest.fixture
def load_rates(db: None) -> None:
    """The rates of every country, as a new installation has them."""
    if not Rate.objects.exists():
        rates.load_csv()
