"""Stopping alerts on a page, by whoever proves with a code that the number is theirs (behaviour, E-mail stop).

Every answer is the same whether or not the number is known: the page must not tell who gets alerts.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts import numbers
from accounts.access import client_ip
from accounts.forms import CodeForm, StopForm
from accounts.locking import locked
from accounts.models import Account, Number
from accounts.throttle import consume
from alerts import acks
from alerts.views.acknowledging import private
from alerts.views.holder import number_or_404
from breakpass.errors import Refusal

# What the session remembers between the two pages: a number's row, or 0 for a number that nobody knows.
SESSION_KEY = "stop_number"
TOO_OFTEN = "Too many tries from here. Wait an hour, or write to us."
WRONG = "That code isn't right, or it has expired. Ask for a new one."
ASKED_PER_HOUR = 10
TYPED_PER_HOUR = 30


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest) -> HttpResponse:
    """Enter the number to stop; a code goes to it, if it is one of ours."""
    form = StopForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            e164 = numbers.parse_number(form.cleaned_data["number"], default_country=form.cleaned_data["country"])
        except Refusal as refusal:
            form.take_refusal(refusal, field="number")
        else:
            if not may_try(request, "stop", ASKED_PER_HOUR):
                form.add_error(None, TOO_OFTEN)
                return private(render(request, "alerts/stop.html", {"form": form}, status=429))
            return ask_for_code(request, number_to_stop(e164), form.cleaned_data["channel"])
    return private(render(request, "alerts/stop.html", {"form": form}, status=422 if form.is_bound else 200))


@never_cache
@require_POST
def stop_here(request: HttpRequest, token: str) -> HttpResponse:
    """From the holder's own page: the same proof, without typing the number."""
    number = number_or_404(token)
    if not may_try(request, "stop", ASKED_PER_HOUR):
        context = {"form": StopForm(), "problem": TOO_OFTEN}
        return private(render(request, "alerts/stop.html", context, status=429))
    return ask_for_code(request, number, "sms")


def may_try(request: HttpRequest, action: str, limit: int) -> bool:
    """Whether this address may ask or guess once more. Nobody is kept from stopping by a cache that is down.

    What costs money or could be guessed has caps of its own in the database (accounts.codes).
    """
    return consume(action, client_ip(request), limit, timezone.now(), when_down=True)


def number_to_stop(e164: str) -> Number | None:
    """The row through which a number can prove itself: of an account that may send, and not stopped there already."""
    rows = Number.objects.filter(holder__number_hash=numbers.hash_number(e164)).select_related("holder", "account")
    going_on = [row for row in rows.order_by("pk") if not row.is_opted_out()]
    return min(going_on, key=lambda row: row.account.status != Account.Status.ACTIVE, default=None)


def ask_for_code(request: HttpRequest, number: Number | None, channel: str) -> HttpResponse:
    """Send the code where there is someone to stop; say nothing of whether there is."""
    if number is not None and number.is_opted_out():
        number = None
    if number is not None:
        try:
            with locked(number.account_id) as account:
                numbers.request_code(
                    account, number, channel=channel, by_holder=True, ip=client_ip(request), now=timezone.now()
                )
        except Refusal:
            pass  # a cap, or a country without this channel: the answer is the same
    request.session[SESSION_KEY] = number.pk if number else 0
    return private(redirect("stop-code"))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def stop_code(request: HttpRequest) -> HttpResponse:
    """The code proves whose number it is; then everything to it stops, on every account."""
    if SESSION_KEY not in request.session:
        return private(redirect("stop"))
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        if not may_try(request, "stop-code", TYPED_PER_HOUR):
            form.add_error("code", TOO_OFTEN)
        elif stops(request.session[SESSION_KEY], form.cleaned_data["code"]):
            del request.session[SESSION_KEY]
            return private(render(request, "alerts/stopped.html"))
        else:
            form.add_error("code", WRONG)
    return private(render(request, "alerts/stop_code.html", {"form": form}, status=422 if form.is_bound else 200))


def stops(number_pk: int, code: str) -> bool:
    """Whether the code was right; if so, the holder is opted out."""
    number = Number.objects.select_related("holder").filter(pk=number_pk).first()
    if number is None:
        return False
    now = timezone.now()
    try:
        with locked(number.account_id) as account:
            numbers.prove_code(account, number, code=code, now=now)
    except Refusal:
        return False
    acks.opt_out(number.holder_id, via="page", now=now)
    return True
