"""Webhooks: signed as Twilio signs, retried as the address's fragment asks, each with its idempotency token."""

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qsl, urljoin, urlsplit, urlunsplit

import httpx

from sandbox.records import Delivery

TOTAL_S = 15.0
RETRY_POLICIES = frozenset({"4xx", "5xx", "ct", "rt", "all"})


@dataclass(frozen=True, slots=True)
class Reply:
    """What the product answered."""

    status: int
    content_type: str = ""
    body: bytes = b""


class Poster(Protocol):
    """Carries one webhook request. Raises `httpx.ConnectError`, `ConnectTimeout` or another `httpx.TransportError`."""

    def __call__(
        self, method: str, url: str, params: Mapping[str, str], headers: Mapping[str, str], overrides: "Overrides"
    ) -> Reply:
        """Send the request to the bare `url` and return what was answered."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Connection overrides from the fragment of an address: times in seconds, how often to retry, and upon what."""

    connect_s: float = 5.0
    read_s: float = TOTAL_S
    total_s: float = TOTAL_S
    retries: int = 1
    policies: frozenset[str] = frozenset({"ct"})

    @classmethod
    def parse(cls, fragment: str) -> "Overrides":
        """Read `rc=3&rp=4xx,5xx&ct=2000`; what is out of range or unknown keeps its default."""
        found = dict(parse_qsl(fragment))
        policies = frozenset(found.get("rp", "ct").split(",")) & RETRY_POLICIES
        return cls(
            connect_s=_bounded(found.get("ct"), 100, 10000, 5000) / 1000,
            read_s=_bounded(found.get("rt"), 100, 15000, 15000) / 1000,
            total_s=_bounded(found.get("tt"), 100, 15000, 15000) / 1000,
            retries=_bounded(found.get("rc"), 0, 5, 1),
            policies=policies or frozenset({"ct"}),
        )

    def retry(self, outcome: int | str) -> bool:
        """Whether this outcome (an HTTP status, `ct` or `rt`) asks for another try."""
        if isinstance(outcome, str):
            return bool({"all", outcome} & self.policies)
        return outcome >= 400 and bool({"all", f"{outcome // 100}xx"} & self.policies)


def _bounded(text: str | None, low: int, high: int, default: int) -> int:
    if text is None or not text.isdigit():
        return default
    return min(max(int(text), low), high)


def sign(auth_token: str, url: str, params: Mapping[str, str]) -> str:
    """X-Twilio-Signature: base64 of HMAC-SHA1 over the address and the parameters, sorted by name."""
    text = url + "".join(f"{name}{params[name]}" for name in sorted(params))
    return base64.b64encode(hmac.new(auth_token.encode(), text.encode(), hashlib.sha1).digest()).decode()


class HttpPoster:
    """Carries webhooks over HTTP. A redirect is followed with GET, as Twilio does."""

    def __init__(self) -> None:
        self._client = httpx.Client(trust_env=False, follow_redirects=False)

    def __call__(
        self, method: str, url: str, params: Mapping[str, str], headers: Mapping[str, str], overrides: Overrides
    ) -> Reply:
        timeout = httpx.Timeout(overrides.read_s, connect=overrides.connect_s)
        sent = {"User-Agent": "TwilioProxy/1.1", "Accept": "*/*", **headers}
        if method == "GET":
            response = self._client.get(url, headers=sent, timeout=timeout)
        else:
            response = self._client.post(url, data=dict(params), headers=sent, timeout=timeout)
        for _ in range(5):
            if not response.is_redirect:
                break
            url = urljoin(url, response.headers.get("Location", ""))
            response = self._client.get(url, headers=sent, timeout=timeout)
        return Reply(response.status_code, response.headers.get("Content-Type", ""), response.content)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


def bare_url(url: str) -> str:
    """The address without its fragment, which is neither sent nor signed."""
    return urlunsplit(urlsplit(url)._replace(fragment=""))


def deliver(poster: Poster, delivery: Delivery, *, auth_token: str, method: str = "POST") -> Reply | None:
    """Send one webhook, with retries; every try is written into `delivery`. None when no answer came."""
    overrides = Overrides.parse(urlsplit(delivery.url).fragment)
    url = bare_url(delivery.url)
    params: Mapping[str, str] = delivery.params
    if method == "GET":
        parts = urlsplit(url)
        query = "&".join(filter(None, [parts.query, str(httpx.QueryParams(dict(params)))]))
        url, params = urlunsplit(parts._replace(query=query)), {}
    headers = {"X-Twilio-Signature": sign(auth_token, url, params), "I-Twilio-Idempotency-Token": delivery.token}
    deadline_s = time.monotonic() + overrides.total_s
    reply: Reply | None = None
    for _ in range(overrides.retries + 1):
        outcome: int | str
        try:
            reply = poster(method, url, params, headers, overrides)
            outcome = reply.status
        except (httpx.ConnectError, httpx.ConnectTimeout):
            reply, outcome = None, "ct"
        except httpx.TransportError:
            reply, outcome = None, "rt"
        delivery.tries.append(outcome)
        if not overrides.retry(outcome) or time.monotonic() >= deadline_s:
            break
    return reply
