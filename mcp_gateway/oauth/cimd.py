"""Fetches client ID metadata documents: https only, global addresses only, no redirect, capped in size and time.

The toolkit decides when (CIMD_METADATA_FETCHER) and checks what the document says; this decides what may be reached.
"""

import json
import re
import socket
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooSlow
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx
from oauth2_provider.cimd import CIMDError

from mcp_gateway.oauth.addresses import is_global
from mcp_gateway.oauth.requests import is_clean

URL_MAX = 255
SIZE_MAX = 16 * 1024
TIMEOUT_S = 5.0
# How long a document counts as fresh, whatever it says of itself.
AGE_MIN_S, AGE_MAX_S = 300, 86_400
ADDRESSES_TRIED = 2
MAX_AGE = re.compile(r"max-age\s*=\s*(\d{1,9})", re.IGNORECASE)
# getaddrinfo knows no timeout: a slow name server holds one of these threads, not the request.
_resolvers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="resolve")

Resolve = Callable[[str, int], list[str]]


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system's resolver knows them."""
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP)]


class DocumentFetcher:
    """Fetches one document. What it reaches the network with can be replaced, for tests."""

    def __init__(
        self,
        *,
        resolve: Resolve = resolve,
        is_allowed: Callable[[str], bool] = is_global,
        tls: ssl.SSLContext | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.resolve, self.is_allowed, self.tls, self.timeout_s = resolve, is_allowed, tls, timeout_s

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        """The document and its life in seconds; raises CIMDError, which the toolkit treats as an unknown client."""
        parts = checked(client_id)
        port = parts.port or 443
        deadline = time.monotonic() + self.timeout_s
        addresses = self.addresses_of(str(parts.hostname), port)
        problem = "no address answered"
        for address in addresses[:ADDRESSES_TRIED]:
            try:
                return self.read(parts, address, port, deadline)
            except httpx.HTTPError as error:
                problem = type(error).__name__
        raise CIMDError(f"the document could not be fetched: {problem}")

    def addresses_of(self, host: str, port: int) -> list[str]:
        """All addresses of the host, in order. One that is not allowed refuses the host: nothing is smuggled in."""
        try:
            addresses = _resolvers.submit(self.resolve, host, port).result(timeout=self.timeout_s)
        except (OSError, UnicodeError, TooSlow) as error:
            raise CIMDError("the host could not be resolved") from error
        if not addresses:
            raise CIMDError("the host has no address")
        if not all(map(self.is_allowed, addresses)):
            raise CIMDError("the host has an address that is not global")
        return list(dict.fromkeys(addresses))

    def read(self, parts: SplitResult, address: str, port: int, deadline: float) -> tuple[dict[str, Any], int]:
        """One request to exactly this address; name and certificate are the host's."""
        shown = f"[{address}]" if ":" in address else address
        target = f"https://{shown}:{port}{parts.path}" + (f"?{parts.query}" if parts.query else "")
        left = max(0.1, deadline - time.monotonic())
        with (
            httpx.Client(verify=self.tls or ssl.create_default_context(), trust_env=False, timeout=left) as client,
            client.stream(
                "GET",
                target,
                headers={"Host": parts.netloc, "Accept": "application/json, application/*+json"},
                extensions={"sni_hostname": parts.hostname},
                follow_redirects=False,
            ) as response,
        ):
            return document_of(response, deadline), age_of(response.headers.get("Cache-Control", ""))


def checked(client_id: str) -> SplitResult:
    """The parts of a client id that may be fetched (the draft's section 3); CIMDError otherwise."""
    try:
        parts = urlsplit(client_id)
        is_fit = (
            len(client_id) <= URL_MAX
            and client_id.isascii()
            and client_id.isprintable()
            and " " not in client_id
            and parts.scheme == "https"
            and bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc
            and "#" not in client_id
            and bool(parts.path)
            and not {".", ".."} & set(parts.path.split("/"))
        )
    except ValueError:
        is_fit = False
    if not is_fit:
        raise CIMDError("the client id is not an address of a document")
    return parts


def document_of(response: httpx.Response, deadline: float) -> dict[str, Any]:
    """The JSON object in a response, read up to the size and time that a document may take."""
    if response.status_code != 200:
        raise CIMDError(f"the document answered HTTP {response.status_code}")
    kind = response.headers.get("Content-Type", "").split(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise CIMDError("the document is not JSON")
    body = b""
    for chunk in response.iter_bytes(4096):
        body += chunk
        if len(body) > SIZE_MAX:
            raise CIMDError("the document is too large")
        if time.monotonic() > deadline:
            raise CIMDError("the document came too slowly")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise CIMDError("the document is not JSON") from error
    if not isinstance(document, dict) or not is_clean(document):
        raise CIMDError("the document is not a JSON object that can be stored")
    return document


def age_of(cache_control: str) -> int:
    """Seconds until a document is read again: what it asks for, between five minutes and a day."""
    lowered = cache_control.lower()
    if "no-store" in lowered or "no-cache" in lowered:
        return AGE_MIN_S
    found = MAX_AGE.search(lowered)
    return max(AGE_MIN_S, min(int(found.group(1)), AGE_MAX_S)) if found else AGE_MAX_S
