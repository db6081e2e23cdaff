"""/authorize: checked before anyone signs in, then sign-in, then consent (seed 001, Sign-in and consent)."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.views.mixins import OAuthLibMixin
from oauthlib.oauth2.rfc6749 import errors

from accounts import connections
from accounts.models import Member, User
from mcp_gateway.models import Application
from mcp_gateway.oauth.platforms import Asker, asker_of, form_target
from mcp_gateway.oauth.requests import has_clean_parameters, issuer
from mcp_gateway.oauth.validators import require_resource, require_s256

# What the owner can take off a request and still connect.
OPTIONAL_SCOPES = frozenset({"alerts.send"})
Credentials = dict[str, Any]


class Request:
    """A valid authorization request: who asks for what, and where the answer goes."""

    def __init__(self, scopes: Sequence[str], credentials: Credentials) -> None:
        self.scopes = [name for name in settings.OAUTH_SCOPES if name in scopes]
        self.credentials = {
            name: credentials.get(name)
            for name in ("client_id", "redirect_uri", "response_type", "state", "code_challenge")
        }
        self.credentials.update(code_challenge_method="S256", resource=[settings.MCP_RESOURCE])
        self.redirect_uri: str = credentials["redirect_uri"]
        self.application = Application.objects.get(client_id=credentials["client_id"])
        self.asker: Asker = asker_of(self.application, self.redirect_uri)


@method_decorator(never_cache, name="dispatch")
class AuthorizeView(OAuthLibMixin, View):  # type: ignore[misc]  # the toolkit ships no types
    """The request lives in the query, on the GET and on the POST alike: the form adds only the owner's choice."""

    http_method_names = ("get", "post")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A request that cannot be granted is answered before anyone is asked to sign in."""
        try:
            if not has_clean_parameters(request):
                raise ValueError("not text")
            asked = self.validate(request)
        except FatalClientError as error:  # never redirect to an address that is not the client's
            return self.refuse_here(request, error.oauthlib_error.description or error.oauthlib_error.error)
        except OAuthToolkitError as error:
            return self.refuse_there(error.oauthlib_error)
        except ValueError:
            return self.refuse_here(request, "The request is not properly encoded.")
        prompts = set(request.GET.get("prompt", "").split())
        user = request.user
        if not isinstance(user, User) or "login" in prompts:
            return self.ask_to_sign_in(request, asked, prompts)
        member = Member.objects.select_related("account", "user").filter(user=user).first()
        if member is None:
            return render(request, "account/need_account.html", {"email": user.email}, status=403)
        if "none" in prompts:  # granting always takes a person
            return self.refuse_there(errors.ConsentRequired(state=asked.credentials["state"]), asked)
        if request.method == "POST":
            return self.decide(request, asked, member)
        return self.ask(request, asked, member)

    def validate(self, request: HttpRequest) -> Request:
        """The request if it can be granted; raises the toolkit's errors, or ValueError for broken encoding."""
        core = self.get_oauthlib_core()
        uri, _, _, headers = core._extract_params(request)
        try:
            scopes, credentials = core.server.validate_authorization_request(uri, http_method="GET", headers=headers)
        except errors.FatalClientError as error:
            raise FatalClientError(error=error) from error
        except errors.OAuth2Error as error:
            raise OAuthToolkitError(error=error) from error
        try:
            state = credentials.get("state")
            require_s256(credentials.get("code_challenge_method"), credentials.get("code_challenge"), state=state)
            require_resource(request.GET.getlist("resource"), state=state)
        except errors.OAuth2Error as error:
            raise OAuthToolkitError(error=error, redirect_uri=credentials["redirect_uri"]) from error
        return Request(scopes, credentials)

    def ask_to_sign_in(self, request: HttpRequest, asked: Request, prompts: set[str]) -> HttpResponse:
        """To sign-in and back, unless the client wants no page at all."""
        if "none" in prompts:
            return self.refuse_there(errors.LoginRequired(state=asked.credentials["state"]), asked)
        parts = urlsplit(request.get_full_path())
        kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "prompt"]
        back = urlunsplit(("", "", parts.path, urlencode(kept), ""))
        again = "?again=1" if "login" in prompts else ""
        return redirect_to_login(back, settings.LOGIN_URL + again)

    def ask(self, request: HttpRequest, asked: Request, member: Member) -> HttpResponse:
        """The consent page."""
        scopes = [
            {"name": name, "says": settings.OAUTH_SCOPES[name], "is_optional": name in OPTIONAL_SCOPES}
            for name in asked.scopes
        ]
        # Read-only is a choice only when something is left to read.
        if len(scopes) == 1:
            scopes[0]["is_optional"] = False
        context = {"asker": asked.asker, "scopes": scopes, "account": member.account, "email": member.user.email}
        response = render(request, "mcp_gateway/consent.html", context)
        # Read by django-csp.
        response._csp_update = {"form-action": [form_target(asked.redirect_uri)]}  # type: ignore[attr-defined]
        return response

    def decide(self, request: HttpRequest, asked: Request, member: Member) -> HttpResponse:
        """Allow or Deny. Unticked scopes are not granted; nothing can be added."""
        scopes = [
            name for name in asked.scopes if name not in OPTIONAL_SCOPES or name in request.POST.getlist("scope")
        ] or (asked.scopes if len(asked.scopes) == 1 else [])
        if request.POST.get("allow") != "true" or not scopes:
            return self.refuse_there(errors.AccessDeniedError(state=asked.credentials["state"]), asked)
        connections.grant(
            member.account_id,
            client_id=asked.application.client_id,
            name=asked.asker.name,
            approved_by=member.user,
            now=timezone.now(),
        )
        try:
            uri, _, _, _ = self.create_authorization_response(
                request=request, scopes=" ".join(scopes), credentials=dict(asked.credentials), allow=True
            )
        except OAuthToolkitError as error:
            return self.refuse_there(error.oauthlib_error, asked)
        return self.send_to(uri)

    def refuse_there(self, error: Any, asked: Request | None = None) -> HttpResponse:
        """Back to the client with the error, its state and our name."""
        target = error.redirect_uri or (asked.redirect_uri if asked else "")
        if not target:
            return self.refuse_here(self.request, error.description or error.error)
        separator = "&" if "?" in target else "?"
        return self.send_to(target + separator + error.urlencoded)

    def refuse_here(self, request: HttpRequest, reason: str) -> HttpResponse:
        """A page, because there is no address that could be trusted with the answer."""
        return render(request, "mcp_gateway/authorize_error.html", {"reason": reason}, status=400)

    def send_to(self, uri: str) -> HttpResponse:
        """Every authorization response leaves here, and names its issuer once (RFC 9207)."""
        parts = urlsplit(uri)
        query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "iss"]
        query.append(("iss", issuer()))
        schemes = settings.OAUTH2_PROVIDER["ALLOWED_REDIRECT_URI_SCHEMES"]
        response: HttpResponse = OAuth2ResponseRedirect(urlunsplit(parts._replace(query=urlencode(query))), schemes)
        return response
