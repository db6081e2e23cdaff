"""What the toolkit leaves open, decided: resource required and bound, S256 only, rotation, replay, living logins."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from oauth2_provider.models import get_application_model, get_grant_model, get_refresh_token_model
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2.rfc6749 import errors

from accounts.models import Connection
from breakpass.ids import sha256_hex
from mcp_gateway.oauth import families

# A refresh token lives this long after its access token has expired: 90 days in all.
REFRESH_LIFE = timedelta(seconds=settings.REFRESH_TOKEN_S)


def resource_exact(request_uri: str, audiences: list[str]) -> bool:
    """A token is for our resource and for nothing else; no prefix counts."""
    return list(audiences) == [settings.MCP_RESOURCE] and request_uri.rstrip("/") == settings.MCP_RESOURCE


def require_resource(resource: list[str] | None, *, request: Any = None, state: str | None = None) -> None:
    """Raise `invalid_target` unless exactly our resource is asked for (RFC 8707)."""
    if list(resource or []) != [settings.MCP_RESOURCE]:
        what = "unknown resource" if resource else "resource is required"
        raise errors.CustomOAuth2Error(
            error="invalid_target", description=f"{what}; use {settings.MCP_RESOURCE}", request=request, state=state
        )


def require_s256(method: str | None, challenge: str | None, *, request: Any = None, state: str | None = None) -> None:
    """Raise `invalid_request` unless PKCE is S256 with a challenge."""
    if method != "S256" or not challenge:
        raise errors.InvalidRequestError(description="code_challenge_method must be S256", request=request, state=state)


def login_stands(user: Any, application: Any) -> bool:
    """Whether the login is enabled and its account still lets this client in."""
    return bool(user and user.is_active) and (
        Connection.objects.filter(
            account__members__user=user, client_id=application.client_id, revoked_at=None
        ).exists()
    )


class Validator(OAuth2Validator):  # type: ignore[misc]  # the toolkit ships no types
    """At /authorize: every code that is written passes here, whatever the page posted."""

    def _create_authorization_code(self, request: Any, code: Any, expires: datetime | None = None) -> Any:
        require_s256(request.code_challenge_method, request.code_challenge, request=request)
        require_resource(getattr(request, "resource", None), request=request)
        return super()._create_authorization_code(request, code, expires)


class TokenValidator(Validator):
    """At /token, inside one transaction: one living chain per family, and no reading of other people's pages."""

    def _load_application(self, client_id: str, request: Any) -> Any:
        """The client as it is stored: an anonymous /token never makes us fetch a metadata document."""
        if request.client is None or request.client.client_id != client_id:
            request.client = (
                None
                if not client_id or "\x00" in client_id
                else get_application_model().objects.filter(client_id=client_id).first()
            )
        return request.client

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Holds the code until the exchange is done. A code that is gone was used: what it gave is revoked."""
        if not get_grant_model().objects.select_for_update().filter(code=code, application=client).exists():
            families.revoke(families.of_code(code), client.pk)
            return False
        if not super().validate_code(client_id, code, client, request, *args, **kwargs):
            return False
        return login_stands(request.user, client)

    def validate_refresh_token(self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """A living token, or one whose answer was lost. Any other use of a rotated token ends its family."""
        tokens = get_refresh_token_model().objects.select_related("access_token", "user")
        lookup = {"token_checksum": sha256_hex(refresh_token), "application": client}
        known = tokens.filter(**lookup).first()
        if known is None or known.token_family is None:
            return False
        families.lock(known.token_family)
        token = tokens.filter(**lookup).first()
        if token is None or not login_stands(token.user, client):
            return False
        now, lost = timezone.now(), None
        if token.revoked is not None:
            lost = families.successor_of(token) if families.is_in_grace(token, now) else None
            if lost is None:
                families.revoke(token.token_family)
                return False
        elif token.access_token is None or token.access_token.expires + REFRESH_LIFE <= now:
            return False
        request.user, request.refresh_token, request.refresh_token_instance = token.user, refresh_token, token
        request.lost_successor = lost
        request.first_scopes = (lost or token).access_token.scope
        return True

    def get_original_scopes(self, refresh_token: str, request: Any, *args: Any, **kwargs: Any) -> Any:
        """What the token that is rotated may do."""
        return request.first_scopes

    def _check_and_set_request_resource(self, request: Any) -> None:
        super()._check_and_set_request_resource(request)
        require_resource(request.resource, request=request)

    def _save_bearer_token(self, token: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        """The successor that was never used makes room for the one that is written now."""
        lost = getattr(request, "lost_successor", None)
        if lost is not None:
            lost.revoke()
        return super()._save_bearer_token(token, request, *args, **kwargs)

    def _create_refresh_token(self, request: Any, code: str, access_token: Any, previous: Any) -> Any:
        """The first token of a chain belongs to its code's family."""
        created = super()._create_refresh_token(request, code, access_token, previous)
        if previous is None and request.grant_type == "authorization_code":
            created.token_family = families.of_code(request.code)
            created.save(update_fields=["token_family"])
        return created

    def revoke_token(self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any) -> None:
        """Either token ends the whole family (RFC 7009); somebody else's token is as good as unknown."""
        checksum, client = sha256_hex(token), request.client
        found = get_refresh_token_model().objects.filter(token_checksum=checksum, application=client).first()
        access_token, family = (
            (None, found.token_family) if found else (families.family_of_access_token(checksum, client.pk))
        )
        if family is not None:
            families.lock(family)
            families.revoke(family)
        elif access_token is not None:
            access_token.delete()
