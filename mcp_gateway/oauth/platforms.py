"""Which app asks for access: recognised platforms, and where the access goes (seed 001, Sign-in and consent).

A name that an app gives itself proves nothing. What proves a platform is where the code is sent, or the host whose
metadata document names the client.
"""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from breakpass.text.invisible import strip_invisible
from mcp_gateway.models import LOOPBACK, Application

DATA = Path(__file__).resolve().parent.parent / "data" / "platforms.json"
NAME_MAX = 80


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform we recognise: its exact redirects (a trailing * stands for any rest), its metadata hosts."""

    name: str
    redirects: tuple[str, ...]
    document_hosts: tuple[str, ...]

    def takes(self, redirect_uri: str) -> bool:
        """Whether a code sent to this address reaches the platform and nobody else."""
        return any(
            redirect_uri.startswith(known[:-1]) if known.endswith("*") else redirect_uri == known
            for known in self.redirects
        )


@dataclass(frozen=True, slots=True)
class Asker:
    """The app as the consent page shows it."""

    name: str
    is_recognised: bool
    destination: str


@functools.cache
def platforms() -> tuple[Platform, ...]:
    """The data file, once."""
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    return tuple(Platform(row["name"], tuple(row["redirects"]), tuple(row["document_hosts"])) for row in rows)


def platform_of(application: Application, redirect_uri: str) -> Platform | None:
    """The platform that provably asks, or None."""
    by_document = application.registration_source == Application.RegistrationSource.CIMD
    host = urlsplit(application.client_id).hostname if by_document else None
    for platform in platforms():
        if platform.takes(redirect_uri) or (host is not None and host in platform.document_hosts):
            return platform
    return None


def asker_of(application: Application, redirect_uri: str) -> Asker:
    """Name, recognition and destination of an authorization request."""
    platform = platform_of(application, redirect_uri)
    destination = destination_of(redirect_uri)
    if platform is not None:
        return Asker(platform.name, True, destination)
    return Asker(clean_name(application.name) or f"An app at {destination}", False, destination)


def clean_name(name: str) -> str:
    """A self-given name on one line, without invisible characters, at most 80 long."""
    return " ".join(strip_invisible(name).split())[:NAME_MAX].strip()


def destination_of(redirect_uri: str) -> str:
    """Where the access goes, for people: a host, this computer, or an app on this device."""
    parts = urlsplit(redirect_uri)
    if parts.hostname in LOOPBACK:
        return "a program on this computer"
    if parts.scheme in ("http", "https"):
        return parts.hostname or redirect_uri
    return f"the app on this device that opens {parts.scheme}: links"


def form_target(redirect_uri: str) -> str:
    """The redirect's source for the policy `form-action`: browsers block even the redirect after a form's POST."""
    parts = urlsplit(redirect_uri)
    # The policy's grammar has no IPv6 address.
    if parts.scheme in ("http", "https") and ":" not in (parts.hostname or ":"):
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return f"{parts.scheme}:"
