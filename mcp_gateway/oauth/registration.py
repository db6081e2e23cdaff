"""/register: dynamic client registration (RFC 7591), open to anyone, throttled, and cleaned up when unused."""

import json
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider import views as toolkit
from oauth2_provider.models import get_access_token_model, get_grant_model

from accounts.models import Connection
from mcp_gateway.models import Application
from mcp_gateway.oauth.requests import read_json, refusal, without_cache
from mcp_gateway.oauth.throttle import may_register

UNUSED_AFTER = timedelta(days=7)
REDIRECTS_MAX = 20


def breach_of(metadata: Any) -> str:
    """What is wrong with a registration beyond the toolkit's own checks; empty when nothing is."""
    if not isinstance(metadata, dict):
        return "The body must be a JSON object."
    if not isinstance(metadata.get("client_name", ""), str):
        return "client_name must be a string."
    redirects = metadata.get("redirect_uris", [])
    if isinstance(redirects, list) and len(redirects) > REDIRECTS_MAX:
        return f"At most {REDIRECTS_MAX} redirect_uris."
    if isinstance(redirects, list) and any(isinstance(uri, str) and len(uri.split()) != 1 for uri in redirects):
        return "A redirect_uri must not contain spaces."
    if metadata.get("grant_types", ["authorization_code"]) not in (
        ["authorization_code"],
        ["authorization_code", "refresh_token"],
        ["refresh_token", "authorization_code"],
    ):
        return "grant_types must be authorization_code, with or without refresh_token."
    if not isinstance(metadata.get("scope", ""), str):
        return "scope must be a string."
    return ""


@method_decorator(csrf_exempt, name="dispatch")
class RegisterView(toolkit.DynamicClientRegistrationView):  # type: ignore[misc]  # the toolkit ships no types
    """The toolkit's registration with the members that it leaves out."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """201 with the client's information, or 400 `invalid_client_metadata`, or 429."""
        if not may_register(request, timezone.now()):
            return refusal("slow_down", "Too many registrations. Try again later.", status=429, retry_after_s=3600)
        try:
            metadata = read_json(request.body)
            breach = breach_of(metadata)
            response: HttpResponse = (
                refusal("invalid_client_metadata", breach) if breach else super().post(request, *args, **kwargs)
            )
        except ValueError:
            return refusal("invalid_client_metadata", "The body is not a JSON object that can be stored.")
        if response.status_code != 201:
            return without_cache(response)
        return without_cache(JsonResponse(completed(json.loads(response.content), metadata), status=201))


def completed(answer: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """The toolkit's answer with what RFC 7591 requires besides."""
    answer["client_id_issued_at"] = int(timezone.now().timestamp())
    if "client_secret" in answer:
        answer["client_secret_expires_at"] = 0
        answer["token_endpoint_auth_method"] = metadata.get("token_endpoint_auth_method", "client_secret_basic")
    answer["response_types"] = ["code"]
    answer["scope"] = metadata.get("scope") or " ".join(settings.OAUTH_SCOPES)
    return answer


class ManageView(toolkit.DynamicClientRegistrationManagementView):  # type: ignore[misc]  # the toolkit ships no types
    """RFC 7592: a client reads, replaces or removes its own registration."""

    def put(self, request: HttpRequest, client_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """As the toolkit does it, after the same checks as a first registration."""
        try:
            breach = breach_of(read_json(request.body))
        except ValueError:
            breach = "The body is not a JSON object that can be stored."
        if breach:
            return refusal("invalid_client_metadata", breach)
        response: HttpResponse = super().put(request, client_id, *args, **kwargs)
        return without_cache(response)


def clear_unused(now: datetime) -> int:
    """Delete registered clients that nobody granted anything within a week; how many."""
    granted = Connection.objects.filter(client_id=OuterRef("client_id"))
    pending = get_grant_model().objects.filter(application=OuterRef("pk"))
    tokens = get_access_token_model().objects.filter(application=OuterRef("pk"), user__isnull=False)
    unused = Application.objects.filter(
        registration_source__in=[Application.RegistrationSource.DCR, Application.RegistrationSource.CIMD],
        created__lt=now - UNUSED_AFTER,
    ).exclude(Exists(granted) | Exists(pending) | Exists(tokens))
    deleted: int = unused.count()
    unused.delete()
    return deleted
