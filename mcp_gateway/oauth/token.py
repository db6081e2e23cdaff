"""/token: codes and refresh tokens become tokens; a token without a grant type is revoked (seed 001)."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider import views as toolkit

from mcp_gateway.oauth.requests import has_clean_parameters, refusal, without_cache
from mcp_gateway.oauth.validators import TokenValidator

GRANT_TYPES = ("authorization_code", "refresh_token")


class RevokeView(toolkit.RevokeTokenView):  # type: ignore[misc]  # the toolkit ships no types
    """RFC 7009, behind /token."""

    validator_class = TokenValidator


@method_decorator(csrf_exempt, name="dispatch")
class TokenView(toolkit.TokenView):  # type: ignore[misc]  # the toolkit ships no types
    """One request is one unit of work: the chain is locked from the check to the write, and nothing is on the wire."""

    validator_class = TokenValidator

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Always JSON, never cached; malformed requests are the caller's fault."""
        if not has_clean_parameters(request):
            return refusal("invalid_request", "A parameter holds characters that are not text.")
        grant_type = request.POST.get("grant_type")
        try:
            with transaction.atomic():
                if grant_type is None and "token" in request.POST:
                    return without_cache(RevokeView.as_view()(request))
                if grant_type is None:
                    return refusal("invalid_request", "grant_type is required.")
                if grant_type not in GRANT_TYPES:
                    return refusal("unsupported_grant_type", "Use authorization_code or refresh_token.")
                response: HttpResponse = super().post(request, *args, **kwargs)
        except ValueError:  # oauthlib's word for broken percent-encoding
            return refusal("invalid_request", "The request is not properly encoded.")
        response["Content-Type"] = "application/json"
        return without_cache(response)
