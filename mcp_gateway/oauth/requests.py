"""Guards for what strangers send to the OAuth paths, before the toolkit and the database see it."""

import json
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

BODY_MAX = 32 * 1024


def is_clean(value: Any) -> bool:
    """Whether all strings in a value can be stored: no NUL, no lone surrogate."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return "\x00" not in value
    if isinstance(value, dict):
        return all(is_clean(key) and is_clean(item) for key, item in value.items())
    if isinstance(value, list):
        return all(is_clean(item) for item in value)
    return True


def has_clean_parameters(request: HttpRequest) -> bool:
    """Whether everything in the query and the form can be stored."""
    return all(
        is_clean(name) and all(map(is_clean, values))
        for form in (request.GET, request.POST)
        for name, values in form.lists()
    )


def read_json(body: bytes) -> Any:
    """A JSON document of at most 32 KiB whose strings can be stored; ValueError otherwise."""
    if len(body) > BODY_MAX:
        raise ValueError("too large")
    try:
        value = json.loads(body)
    except RecursionError as error:
        raise ValueError("too deep") from error
    if not is_clean(value):
        raise ValueError("not storable")
    return value


def refusal(error: str, description: str, *, status: int = 400, retry_after_s: int | None = None) -> HttpResponse:
    """An OAuth error as JSON (RFC 6749, 5.2), never cached."""
    response = JsonResponse({"error": error, "error_description": description}, status=status)
    if retry_after_s is not None:
        response["Retry-After"] = str(retry_after_s)
    return without_cache(response)


def without_cache(response: HttpResponse) -> HttpResponse:
    """The headers that RFC 6749 asks for on anything that may carry a token."""
    response["Cache-Control"], response["Pragma"] = "no-store", "no-cache"
    return response


def issuer() -> str:
    """This server's name in every authorization response (RFC 9207)."""
    return str(settings.BASE_URL)
