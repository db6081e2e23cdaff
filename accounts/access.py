"""Who may open an owner's page, and from where a request comes: the edge that all portal pages share."""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from ipaddress import IPv4Address, ip_address, ip_network
from types import MappingProxyType
from typing import Concatenate, ParamSpec, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from accounts.models import Account, User
from breakpass.errors import Refusal

P = ParamSpec("P")
QUOTED = re.compile(r"`([^`]*)`")
NO_LABELS: Mapping[str, str] = MappingProxyType({})
AccountPage = Callable[Concatenate[HttpRequest, Account, P], HttpResponse]


def owner_page(view: AccountPage[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A page of the signed-in member's own account, which the view gets as its second argument. Never cached."""

    @never_cache
    @login_required
    @wraps(view)
    def page(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        user = cast(User, request.user)
        account = Account.objects.select_related("plan").filter(members__user=user).first()
        if account is None:
            return render(request, "accounts/no_account.html", status=403)
        return view(request, account, *args, **kwargs)

    return page


def client_ip(request: HttpRequest) -> str:
    """The caller's address: the connection's, or what the nearest trusted proxies say (TRUSTED_PROXY_COUNT).

    Of an IPv6 address only its network (/64): whoever has one address there has all of them, and could count afresh.
    """
    forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    trusted: int = settings.TRUSTED_PROXY_COUNT
    if trusted and len(forwarded) >= trusted:
        return network_of(forwarded[-trusted])
    return network_of(str(request.META.get("REMOTE_ADDR", "")))


def network_of(address: str) -> str:
    """An address as callers are told apart by: without a proxy's port, IPv6 by its /64. What is none stays as it is."""
    bare = address.partition("]")[0].lstrip("[") if address.startswith("[") else address
    bare = bare.partition(":")[0] if bare.count(":") == 1 else bare
    try:
        found = ip_address(bare)
    except ValueError:
        return address
    if isinstance(found, IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found), 64), strict=False).network_address)


def refusal_text(refusal: Refusal, labels: Mapping[str, str] = NO_LABELS) -> str:
    """A refusal as a person reads it: its sentence, and when waiting helps, how long.

    The contract quotes its fields by name; `labels` says what a form calls them.
    """
    sentence = QUOTED.sub(lambda found: f"“{labels.get(found[1], found[1])}”", refusal.message)
    if refusal.retry_after_s is None:
        return sentence
    return f"{sentence} You can try again in {wait_text(refusal.retry_after_s)}."


def wait_text(seconds: int) -> str:
    """A wait in the largest unit that fits, rounded up: "40 seconds", "3 minutes", "2 hours"."""
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = -(-seconds // size)
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return "a moment"


def say(request: HttpRequest, text: str) -> None:
    """Tell the reader on the next page what was done."""
    messages.success(request, text, extra_tags="good")


def warn(request: HttpRequest, text: str) -> None:
    """Tell the reader on the next page what did not work."""
    messages.error(request, text, extra_tags="bad")
