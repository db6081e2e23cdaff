"""Twilio, through its own SDK: the only module that knows it (twilio.md, B1-B5)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import Any

import requests
from django.conf import settings
from twilio.base.exceptions import TwilioException, TwilioRestException
from twilio.http.http_client import TwilioHttpClient
from twilio.http.response import Response
from twilio.request_validator import RequestValidator
from twilio.rest import Client
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from alerts.carriers.base import (
    Channel,
    Outgoing,
    Refused,
    Report,
    Sent,
    Template,
    TemplateState,
    Throttled,
    Unknown,
    Unreachable,
)

API, CONTENT_API = "https://api.twilio.com", "https://content.twilio.com"
WHATSAPP = "whatsapp:"
SHORTEST_VALIDITY_S, LONGEST_VALIDITY_S = 5, 36_000
CALL_EVENTS = ["initiated", "ringing", "answered", "completed"]
# Clocks differ: the carrier may date what it took a little before our claim.
CLOCK_SLACK = timedelta(seconds=5)
FOUND_AT_MOST = 50


class _ServerError(Exception):
    """An answer of 500 and more."""


class Http(TwilioHttpClient):
    """The SDK's HTTP client with our base addresses, a time limit, no retries, and a new connection every time.

    A connection kept open can be closed by the other side just as a request leaves: then nobody knows whether it went.
    """

    def __init__(self, *, timeout_s: float, api_url: str, content_api_url: str) -> None:
        super().__init__(timeout=timeout_s, max_retries=0)
        self._bases = ((API, api_url), (CONTENT_API, content_api_url))

    def request(
        self,
        method: str,
        url: str,
        params: dict[str, object] | None = None,
        data: dict[str, object] | None = None,
        headers: dict[str, str] | None = None,
        auth: tuple[str, str] | None = None,
        timeout: float | None = None,
        allow_redirects: bool = False,
    ) -> Response:
        """One request, once. Raises `Throttled` and `_ServerError`, whose headers the SDK would drop."""
        for base, ours in self._bases:
            if url.startswith(f"{base}/"):
                url = ours + url.removeprefix(base)
        closing = {**(headers or {}), "Connection": "close"}
        response = super().request(method, url, params, data, closing, auth, timeout, allow_redirects)
        if response.status_code == 429:
            raise Throttled(_seconds((response.headers or {}).get("Retry-After")))
        if response.status_code >= 500:
            raise _ServerError
        return response


def _seconds(header: object) -> int:
    """Whole seconds of a Retry-After header; 1 when it says nothing usable."""
    text = str(header or "").strip()
    return min(3600, int(text)) if text.isdecimal() else 1


@contextmanager
def _problems() -> Iterator[None]:
    """Say what is certain about a request that did not end well."""
    try:
        yield
    except _ServerError as error:
        raise Unknown from error
    except TwilioRestException as error:
        raise Refused(error.code if isinstance(error.code, int) else None, error.status) from None
    except requests.RequestException as error:
        raise (Unreachable if _never_left(error) else Unknown) from None
    except (TwilioException, ValueError, KeyError, TypeError):
        # An answer that cannot be read: the request was taken or not, nobody knows.
        raise Unknown from None


def _never_left(error: requests.RequestException) -> bool:
    """Whether the connection itself failed: refused, no such host, or no answer to the attempt to connect."""
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return True
    cause: object = error.args[0] if error.args else None
    cause = getattr(cause, "reason", cause)
    return isinstance(cause, NewConnectionError | NameResolutionError | ConnectTimeoutError)


class Twilio:
    """The carrier (alerts.carriers.base.Carrier)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def send_message(self, outgoing: Outgoing) -> Sent:
        """RiskCheck off, so that nothing is filtered silently; SmartEncoded off, so that what was counted is sent."""
        to, sender = _addresses(outgoing)
        fields: dict[str, Any] = {"to": to, "from_": sender, "status_callback": outgoing.status_url}
        if outgoing.channel == "sms":
            fields |= {
                "body": outgoing.text,
                "risk_check": "disable",
                "smart_encoded": False,
                "validity_period": min(LONGEST_VALIDITY_S, max(SHORTEST_VALIDITY_S, outgoing.validity_s)),
            }
        elif outgoing.template is not None:
            # Always an approved template, never free text (cases, 20).
            fields |= {
                "content_sid": content_sid(outgoing.template),
                "content_variables": json.dumps(dict(outgoing.variables), ensure_ascii=False),
                "risk_check": "disable",
            }
        else:
            raise ValueError("a WhatsApp message without a template")
        return self._create(lambda: self._client.messages.create(**fields))

    def place_call(self, outgoing: Outgoing) -> Sent:
        """Without machine detection: a voicemail that picks up hears the message (seed 001, `make_call`)."""
        to, sender = _addresses(outgoing)
        return self._create(
            lambda: self._client.calls.create(
                to=to,
                from_=sender,
                url=outgoing.voice_url,
                method="POST",
                status_callback=outgoing.status_url,
                status_callback_event=CALL_EVENTS,
                status_callback_method="POST",
                timeout=outgoing.ring_s,
                time_limit=outgoing.limit_s,
            )
        )

    def _create(self, create: Callable[[], Any]) -> Sent:
        with _problems():
            made = create()
            if not made.sid:
                raise Unknown
            return Sent(str(made.sid), str(made.status or ""))

    def fetch(self, channel: Channel, sid: str) -> Report:
        """What Twilio has under this id."""
        with _problems():
            if channel == "call":
                return _as_report(self._client.calls(sid).fetch())
            return _as_report(self._client.messages(sid).fetch())

    def find(self, outgoing: Outgoing) -> Sequence[Report]:
        """By address, time and text: Twilio's list shows no callback address, and it dates only what it has sent."""
        to, sender = _addresses(outgoing)
        since = (outgoing.claimed_at - CLOCK_SLACK).replace(microsecond=0)
        found: list[Any]
        with _problems():
            if outgoing.channel == "call":
                found = self._client.calls.list(to=to, from_=sender, limit=FOUND_AT_MOST)
            else:
                found = self._client.messages.list(to=to, limit=FOUND_AT_MOST)
                found = [message for message in found if _is_body_of(str(message.body or ""), outgoing)]
            found = [one for one in found if one.date_created is not None and one.date_created >= since]
            found.sort(key=lambda one: one.date_created)
            return [_as_report(one) for one in found]

    def fetch_template(self, template: Template) -> TemplateState:
        """From the Content API: the content and WhatsApp's approval of it."""
        sid = content_sid(template)
        if not sid:
            raise Refused(None, 404)
        with _problems():
            content = self._client.content.v1.contents(sid).fetch()
            approval = self._client.content.v1.contents(sid).approval_fetch().fetch()
            types: Mapping[str, Any] = content.types or {}
            # A content may carry a plain twin for channels without buttons: the one with buttons is WhatsApp's.
            shapes: list[Mapping[str, Any]] = sorted(types.values(), key=lambda one: not one.get("actions"))
            shape = shapes[0] if shapes else {}
            buttons = tuple((str(a.get("title", "")), str(a.get("id", ""))) for a in shape.get("actions") or ())
            whatsapp: Mapping[str, Any] = approval.whatsapp or {}
            return TemplateState(str(whatsapp.get("status", "")), str(shape.get("body", "")), buttons)


def _addresses(outgoing: Outgoing) -> tuple[str, str]:
    """To and From as Twilio writes them."""
    if outgoing.channel == "whatsapp":
        sender = settings.TWILIO_WHATSAPP_FROM
        return f"{WHATSAPP}{outgoing.to}", sender if sender.startswith(WHATSAPP) else f"{WHATSAPP}{sender}"
    if outgoing.channel == "call":
        return outgoing.to, settings.TWILIO_VOICE_FROM
    # Where senders show as a name and none is set up, the number sends: Twilio replaces what a network cannot show.
    named = settings.TWILIO_SMS_FROM_ALPHANUMERIC if outgoing.sender == "alphanumeric" else ""
    return outgoing.to, named or settings.TWILIO_SMS_FROM


def _is_body_of(body: str, outgoing: Outgoing) -> bool:
    """Whether a listed message says what we asked to be said; a template's body holds our text inside its own."""
    if outgoing.channel == "sms":
        return body.strip() == outgoing.text.strip()
    return outgoing.variables.get("2", "") in body


def _as_report(found: Any) -> Report:
    """A fetched message or call as a report."""
    code = str(getattr(found, "error_code", None) or "")
    duration = str(getattr(found, "duration", None) or "")
    return Report(
        source="asked",
        sid=str(found.sid),
        status=str(found.status or ""),
        error_code=int(code) if code.isdecimal() else None,
        duration_s=int(duration) if duration.isdecimal() else None,
    )


def content_sid(template: Template) -> str:
    """The id of our template at Twilio, from the settings; empty when it is not set up."""
    sids: dict[str, str] = {
        "alert": settings.TWILIO_CONTENT_SID_ALERT,
        "alert_ack": settings.TWILIO_CONTENT_SID_ALERT_ACK,
        "code": settings.TWILIO_CONTENT_SID_CODE,
    }
    return sids[template]


@lru_cache(maxsize=4)
def _connected(sid: str, token: str, api_url: str, content_api_url: str, timeout_s: float) -> Twilio:
    http = Http(timeout_s=timeout_s, api_url=api_url, content_api_url=content_api_url)
    return Twilio(Client(sid, token, http_client=http))


def from_settings() -> Twilio:
    """The carrier of this installation."""
    return _connected(
        # The SDK refuses empty credentials with an exception of its own; Twilio refuses wrong ones with an answer.
        settings.TWILIO_ACCOUNT_SID or "AC-not-set",
        settings.TWILIO_AUTH_TOKEN or "not-set",
        settings.TWILIO_API_URL,
        settings.TWILIO_CONTENT_API_URL,
        settings.CARRIER_TIMEOUT_S,
    )


def is_signed(url: str, params: Mapping[str, Sequence[str]], signature: str) -> bool:
    """Whether Twilio signed this request to this address, with the primary or the secondary token (twilio.md, B3)."""
    tokens = [token for token in (settings.TWILIO_AUTH_TOKEN, settings.TWILIO_AUTH_TOKEN_SECONDARY) if token]
    multi = _Multi(params)
    return bool(signature) and any(RequestValidator(token).validate(url, multi, signature) for token in tokens)


class _Multi(dict[str, Sequence[str]]):
    """Form fields with repeated names, as the SDK's validator reads them."""

    def getall(self, name: str) -> Sequence[str]:
        """Every value of one name."""
        return self[name]
