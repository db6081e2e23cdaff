"""The page of the person who holds a number, without a login: who invites, what they agree to, the code."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts import codes_shown, invites, numbers, people
from accounts.access import client_ip, refusal_text, warn
from accounts.forms import CodeChannelForm, CodeForm
from accounts.locking import locked
from accounts.models import Number
from alerts.views.acknowledging import private
from breakpass.errors import Refusal


def number_or_404(token: str) -> Number:
    """The number that an invite link is for."""
    number = invites.number_by_link(token)
    if number is None:
        raise Http404
    return number


def join_context(number: Number, token: str) -> dict[str, Any]:
    """Who invites, how the number stands, and by what a code can come."""
    account, now = number.account, timezone.now()
    is_stopped = number.is_opted_out()
    return {
        "token": token,
        "inviter": account.owner_name or f"The owner of a {settings.SERVICE_NAME} account",
        "name": people.shown_name(account, number.person),
        "masked": numbers.mask(numbers.reveal(number)),
        "is_stopped": is_stopped,
        "is_on": number.is_verified and not is_stopped,
        "waiting": codes_shown.waiting_code(number, now),
        "code_channels": codes_shown.code_channels(account, number, now, by_holder=True),
        "code_form": CodeForm(),
    }


@never_cache
@require_safe
def join(request: HttpRequest, token: str) -> HttpResponse:
    """The holder's own page."""
    return private(render(request, "alerts/join.html", join_context(number_or_404(token), token)))


@never_cache
@require_POST
def join_send_code(request: HttpRequest, token: str) -> HttpResponse:
    """The holder asks for a code, by message or call."""
    number = number_or_404(token)
    form = CodeChannelForm(request.POST)
    if not form.is_valid():
        warn(request, "Choose how the code should come.")
        return private(redirect("join", token=token))
    try:
        with locked(number.account_id) as held:
            numbers.request_code(
                held,
                number,
                channel=form.cleaned_data["channel"],
                by_holder=True,
                ip=client_ip(request),
                now=timezone.now(),
            )
    except Refusal as refusal:
        warn(request, refusal_text(refusal))
    return private(redirect("join", token=token))


@never_cache
@require_POST
def join_check_code(request: HttpRequest, token: str) -> HttpResponse:
    """The holder types the code: that is their agreement."""
    number = number_or_404(token)
    form = CodeForm(request.POST)
    if form.is_valid():
        try:
            with locked(number.account_id) as held:
                numbers.check_code(held, number, code=form.cleaned_data["code"], now=timezone.now())
        except Refusal as refusal:
            form.take_refusal(refusal, field="code")
        else:
            return private(redirect("join", token=token))
    context = join_context(number_or_404(token), token) | {"code_form": form}
    return private(render(request, "alerts/join.html", context, status=422))
