"""One person: the code or invite that verifies their number, their name, and taking them off the account."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import codes_shown, invites, numbers, people
from accounts.access import client_ip, owner_page, refusal_text, say, warn
from accounts.forms import CodeChannelForm, CodeForm, PersonForm
from accounts.locking import locked
from accounts.models import Account, Number, Person
from accounts.views.people import number_state
from breakpass.errors import Refusal


def people_of(account: Account) -> QuerySet[Person]:
    """The people that are on the account now."""
    return account.people.filter(removed_at=None).select_related("number__holder")


def number_of(account: Account, pk: int) -> Number:
    """The number of one of the account's people; 404 when there is none."""
    numbers_here = Number.objects.filter(account=account, person__removed_at=None)
    return get_object_or_404(numbers_here.select_related("person", "holder"), person_id=pk)


def person_context(account: Account, person: Person) -> dict[str, Any]:
    """Everything the page of one person shows."""
    number = getattr(person, "number", None)
    state, tone = number_state(number)
    shown = people.shown_name(account, person)
    is_stopped = number is not None and number.is_opted_out()
    return {
        "section": "people",
        "account": account,
        "person": person,
        "shown": shown,
        "is_own": person.pk == account.own_person_id,
        "is_owner": person.pk == account.owner_person_id,
        "number": number,
        "masked": numbers.mask(numbers.reveal(number)) if number else "",
        "state": state,
        "tone": tone,
        "is_stopped": is_stopped,
        "needs_code": number is not None and (is_stopped or not number.is_verified or account.is_paused_until_verified),
        "waiting": codes_shown.waiting_code(number, timezone.now()) if number else None,
        "code_channels": codes_shown.code_channels(account, number, timezone.now()) if number else [],
        "code_form": CodeForm(),
        "form": PersonForm.of(person, shown),
    }


@owner_page
@require_safe
def person_page(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """One person, with what is to be done next for them."""
    person = get_object_or_404(people_of(account), pk=pk)
    return render(request, "accounts/person.html", person_context(account, person))


@owner_page
@require_safe
def code_status(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """The line that says how the code is doing, for the page that waits for it."""
    number = number_of(account, pk)
    waiting = codes_shown.waiting_code(number, timezone.now())
    return render(
        request, "accounts/code_status.html", {"account": account, "waiting": waiting, "person": number.person}
    )


@owner_page
@require_POST
def send_code(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """Send the code: to the owner's own number as a code, to anyone else as an invite."""
    number = number_of(account, pk)
    form = CodeChannelForm(request.POST)
    channel = form.cleaned_data["channel"] if form.is_valid() else ""
    if channel not in ("sms", "whatsapp"):
        warn(request, "Choose a text message or WhatsApp.")
        return redirect("person", pk=pk)
    is_invite = number.person_id != account.own_person_id
    try:
        with locked(account.pk) as held:
            numbers.request_code(
                held, number, channel=channel, is_invite=is_invite, ip=client_ip(request), now=timezone.now()
            )
    except Refusal as refusal:
        warn(request, refusal_text(refusal))
    return redirect("person", pk=pk)


@owner_page
@require_POST
def check_code(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """Compare the typed code; wrong, expired and used-up codes are said beside the field."""
    number = number_of(account, pk)
    form = CodeForm(request.POST)
    if form.is_valid():
        try:
            with locked(account.pk) as held:
                numbers.check_code(held, number, code=form.cleaned_data["code"], now=timezone.now())
        except Refusal as refusal:
            form.take_refusal(refusal, field="code")
        else:
            say(request, f"{people.shown_name(account, number.person)} is verified.")
            is_own = number.person_id == account.own_person_id
            return redirect("start") if is_own and account.residence_confirmed_at is None else redirect("people")
    person = get_object_or_404(people_of(account), pk=pk)
    context = person_context(account, person) | {"code_form": form}
    return render(request, "accounts/person.html", context, status=422)


@owner_page
@require_POST
def hand_over_link(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """A new link to the holder's own page, shown once; an older one stops working."""
    number = number_of(account, pk)
    with locked(account.pk) as held:
        link = invites.renew_link(held, number)
    person = get_object_or_404(people_of(account), pk=pk)
    return render(request, "accounts/person.html", person_context(account, person) | {"link": link})


@owner_page
@require_POST
def rename(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """Another name or language."""
    person = get_object_or_404(people_of(account), pk=pk)
    form = PersonForm(request.POST)
    if form.is_valid():
        try:
            with locked(account.pk) as held:
                people.rename(held, person, name=form.cleaned_data["name"], language=form.cleaned_data["language"])
        except Refusal as refusal:
            form.take_refusal(refusal, field="name")
        else:
            say(request, "Saved. Agents use the new name from now on.")
            return redirect("person", pk=pk)
    context = person_context(account, get_object_or_404(people_of(account), pk=pk)) | {"form": form}
    return render(request, "accounts/person.html", context, status=422)


@owner_page
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """Asks first, then takes the person and their number off the account."""
    person = get_object_or_404(people_of(account), pk=pk)
    if request.method != "POST":
        return render(request, "accounts/remove_person.html", person_context(account, person))
    shown = people.shown_name(account, person)
    with locked(account.pk) as held:
        people.remove(held, person, now=timezone.now())
    say(request, f"{shown} is removed and gets no more alerts from this account.")
    return redirect("people")
