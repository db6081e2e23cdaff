"""Where the benchmark happens: a database of its own, and settings as in production but for the caps."""

import os
import secrets
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

DATABASE: Final = "breakpass_bench"
# Nobody's worker listens there.
REDIS_PATH: Final = "/15"
# These are there to stop exactly this.
CAPS: Final = (
    "HOLDER_ALERTS_PER_HOUR",
    "HOLDER_CALLS_PER_HOUR",
    "ACCOUNT_PER_MINUTE",
    "ACCOUNT_PER_HOUR",
    "ACCOUNT_PER_DAY",
    "NEW_ACCOUNT_ALERTS_PER_DAY",
    "NEW_ACCOUNT_CALLS_PER_DAY",
    "UNBILLED_PER_HOUR",
    "UNBILLED_PER_DAY",
)
# No worker runs, so nothing is ever sent; the address answers nobody all the same.
CARRIER: Final = {
    "TWILIO_ACCOUNT_SID": "AC" + "0" * 32,
    "TWILIO_AUTH_TOKEN": "a-token-of-the-benchmark",
    "TWILIO_API_URL": "http://127.0.0.1:9",
    "TWILIO_CONTENT_API_URL": "http://127.0.0.1:9",
    "TWILIO_SMS_FROM": "+12025550190",
    "TWILIO_SMS_FROM_ALPHANUMERIC": "BreakPass",
    "TWILIO_WHATSAPP_FROM": "+12025550191",
    "TWILIO_VOICE_FROM": "+12025550192",
    "TWILIO_CONTENT_SID_ALERT": "HX" + "1" * 32,
    "TWILIO_CONTENT_SID_ALERT_ACK": "HX" + "2" * 32,
    "TWILIO_CONTENT_SID_CODE": "HX" + "3" * 32,
}


def environment(base_url: str) -> dict[str, str]:
    """The settings, over those of the shell: production's, on the given servers, without caps."""
    return {
        **{name: str(10**9) for name in CAPS},
        **CARRIER,
        "DJANGO_SETTINGS_MODULE": "breakpass.settings",
        "DATABASE_URL": with_path(os.environ["DATABASE_URL"], f"/{DATABASE}"),
        "REDIS_URL": with_path(os.environ["REDIS_URL"], REDIS_PATH),
        "BASE_URL": base_url,
        "LINK_BASE_URL": base_url,
        "ALLOWED_HOSTS": "",
        "ENVIRONMENT": "production",
        "DEBUG": "0",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "SECURE_SSL_REDIRECT": "0",
        "LOG_LEVEL": "ERROR",
    }


def with_path(url: str, path: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=path))


def make_database(url: str) -> None:
    """An empty database in place of what an earlier run left; no other one is touched."""
    name = sql.Identifier(DATABASE)
    with psycopg.connect(with_path(url, "/postgres"), autocommit=True) as link:
        link.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
        link.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(name))
