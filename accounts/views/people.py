"""Phone numbers: the people on the account, adding one, and who the owner is."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import numbers, people
from accounts.access import owner_page, refusal_text, say, warn
from accounts.forms import NewPersonForm, NumberForm, OwnerPersonForm
from accounts.locking import locked
from accounts.models import Account, Number
from accounts.people import Recipient
from breakpass.errors import Refusal


@dataclass(frozen=True, slots=True)
class PersonRow:
    """One person as the list shows them."""

    recipient: Recipient
    masked: str
    state: str
    tone: str
    is_own: bool


@owner_page
@require_safe
def people_page(request: HttpRequest, account: Account) -> HttpResponse:
    """Everyone on the account, with their numbers masked."""
    return render(request, "accounts/people.html", people_context(account))


def people_context(account: Account) -> dict[str, Any]:
    """The rows, and whether the owner still has to add their own number."""
    rows = [row_of(account, recipient) for recipient in people.list_recipients(account)]
    return {
        "section": "people",
        "account": account,
        "rows": rows,
        "has_own_number": has_own_number(account),
        "pickable": [row for row in rows if row.recipient.number is not None],
        "cap": account.plan.number_cap if account.plan else None,
    }


def has_own_number(account: Account) -> bool:
    """Whether the owner gave a number of their own."""
    own = account.own_person_id
    return own is not None and Number.objects.filter(account=account, person_id=own).exists()


def row_of(account: Account, recipient: Recipient) -> PersonRow:
    """One person's row."""
    number = recipient.number
    state, tone = number_state(number)
    masked = numbers.mask(numbers.reveal(number)) if number else ""
    return PersonRow(recipient, masked, state, tone, recipient.person.pk == account.own_person_id)


def number_state(number: Number | None) -> tuple[str, str]:
    """A number's state in words, and the tone of its badge."""
    if number is None:
        return "No number yet", "quiet"
    if number.is_opted_out():
        return "Stopped by the person", "bad"
    if not number.is_verified:
        return "Waiting for the code", "wait"
    if number.is_over_plan:
        return "Paused: over the plan's limit", "wait"
    return "Verified", "good"


@owner_page
@require_http_methods(["GET", "HEAD", "POST"])
def add_own_number(request: HttpRequest, account: Account) -> HttpResponse:
    """The owner's own number; then on to its code."""
    if has_own_number(account):
        return redirect("people")
    form = NumberForm(request.POST or None, initial={"country": account.residence or "US"})
    if request.method == "POST" and form.is_valid():
        now = timezone.now()
        try:
            e164 = numbers.parse_number(form.cleaned_data["number"], default_country=form.cleaned_data["country"])
            with locked(account.pk) as held:
                person = held.own_person or people.open_own_person(held, now=now)
                number = numbers.add_number(held, person, e164=e164, now=now)
        except Refusal as refusal:
            form.take_refusal(refusal, field="number")
        else:
            return redirect("person", pk=number.person_id)
    status = 422 if form.is_bound else 200
    context = {"section": "people", "account": account, "form": form}
    return render(request, "accounts/add_own_number.html", context, status=status)


@owner_page
@require_http_methods(["GET", "HEAD", "POST"])
def add_person(request: HttpRequest, account: Account) -> HttpResponse:
    """Someone else, by name and number; nothing is sent to them yet."""
    form = NewPersonForm(request.POST or None, initial={"country": account.residence or "US"})
    if request.method == "POST" and form.is_valid():
        now = timezone.now()
        try:
            e164 = numbers.parse_number(form.cleaned_data["number"], default_country=form.cleaned_data["country"])
            with locked(account.pk) as held:
                name, language = form.cleaned_data["name"], form.cleaned_data["language"]
                person = people.add(held, name=name, now=now, language=language)
                numbers.add_number(held, person, e164=e164, now=now)
        except Refusal as refusal:
            form.take_refusal(refusal, field="number")
        else:
            say(request, f"{person.name} is added. Invite them next: nothing is sent before they agree.")
            return redirect("person", pk=person.pk)
    status = 422 if form.is_bound else 200
    return render(
        request, "accounts/add_person.html", {"section": "people", "account": account, "form": form}, status=status
    )


@owner_page
@require_POST
def pick_owner(request: HttpRequest, account: Account) -> HttpResponse:
    """Settings > Your number: whom alerts reach when the agent names nobody."""
    form = OwnerPersonForm(account, request.POST)
    if not form.is_valid():
        warn(request, "Pick one of the people on the list.")
        return redirect("people")
    try:
        with locked(account.pk) as held:
            people.pick_owner_person(held, form.cleaned_data["person"])
    except Refusal as refusal:
        warn(request, refusal_text(refusal))
    else:
        say(request, "From now on, alerts that name nobody go to this number.")
    return redirect("people")
