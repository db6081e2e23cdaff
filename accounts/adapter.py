"""How django-allauth behaves here: e-mail codes and Google, no passwords, accounts opened on the sign-up page only."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import render
from django.utils import timezone

from accounts import people
from accounts.access import client_ip
from accounts.models import User
from breakpass.text import NAME_MAX_CHARS, clean_name

# The sign-up page leaves this in the session before it sends someone to Google.
SIGN_UP_FLAG = "google_sign_up"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    """Sign-in by code is our own flow (accounts.views.sign_in); this serves what it uses of allauth."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never by allauth's form: /sign-up/ opens accounts."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """For rate limits: behind trusted proxies, what they say."""
        return client_ip(request)

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: our pages say what happened."""


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    """Google signs known e-mail addresses in; it opens an account only when asked from the sign-up page."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Whether this visit came from the sign-up page and sign-up is open."""
        return bool(settings.SIGN_UP_OPEN and request.session.get(SIGN_UP_FLAG))

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Someone unknown, and not signing up: told so, and no account is made (seed 001, Sign-in and consent)."""
        if sociallogin.is_existing or self.is_open_for_signup(request, sociallogin):
            return
        page = render(request, "account/need_account.html", {"email": sociallogin.user.email}, status=403)
        raise ImmediateHttpResponse(page)

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> User:
        """A new login with its account, named as Google names the person."""
        user: User = super().save_user(request, sociallogin, form)
        request.session.pop(SIGN_UP_FLAG, None)
        given = sociallogin.account.extra_data.get("given_name") or ""
        people.open_account(user, owner_name=clean_name(str(given))[:NAME_MAX_CHARS], now=timezone.now())
        return user

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> User:
        """Only the e-mail address; our logins have no other field."""
        user: User = sociallogin.user
        user.email = str(data.get("email") or "").strip().lower()
        return user
