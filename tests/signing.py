"""Requests as Twilio makes them: form fields, signed for the address that we gave out."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from twilio.request_validator import RequestValidator

FORM = "application/x-www-form-urlencoded"


def sign(path: str, fields: Mapping[str, str], *, token: str | None = None, base_url: str | None = None) -> str:
    """The signature Twilio would send for a POST of these fields to this path."""
    url = (settings.BASE_URL if base_url is None else base_url) + path
    signer = RequestValidator(token or settings.TWILIO_AUTH_TOKEN)
    return str(signer.compute_signature(url, dict(fields)))


def post_signed(path: str, fields: Mapping[str, str], *, client: Client | None = None, **headers: Any) -> HttpResponse:
    """A genuine request of Twilio's; CSRF checks are on, as in production."""
    sent = {"AccountSid": settings.TWILIO_ACCOUNT_SID, "ApiVersion": "2010-04-01", **fields}
    return post(path, sent, signature=sign(path, sent), client=client, **headers)


def post(
    path: str, fields: Mapping[str, str], *, signature: str | None, client: Client | None = None, **headers: Any
) -> HttpResponse:
    """A POST with this signature, or with none."""
    if signature is not None:
        headers["x-twilio-signature"] = signature
    response: Any = (client or Client(enforce_csrf_checks=True)).post(
        path, urlencode(fields), content_type=FORM, headers=headers
    )
    return response  # type: ignore[no-any-return]  # Django's test response is made at run time
