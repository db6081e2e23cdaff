"""The setup page: what is left to do, the balance, and a test alert."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts import channels, ledger, numbers, pauses, payments, preferences, rates
from accounts.access import owner_page, refusal_text, say, warn
from accounts.countries import country_names
from accounts.forms import ResidenceForm, TopUpForm
from accounts.locking import locked
from accounts.models import Account, Number, Payment
from accounts.people import shown_name
from breakpass.errors import Refusal


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One thing to do. `state` is done, next (the first that is open) or later."""

    key: str
    title: str
    is_done: bool
    state: str = "later"


@dataclass(frozen=True, slots=True)
class TestChannel:
    """A channel for a test alert, or why it can't be used."""

    channel: str
    is_open: bool
    why_not: str


@owner_page
@require_safe
def start(request: HttpRequest, account: Account) -> HttpResponse:
    """What is left to do, in order, each with its form."""
    return render(request, "accounts/start.html", start_context(account))


@owner_page
@require_POST
def confirm_residence(request: HttpRequest, account: Account) -> HttpResponse:
    """Keep the country of residence; a bad answer shows the page again with the error beside the field."""
    form = ResidenceForm(request.POST)
    if not form.is_valid():
        return render(request, "accounts/start.html", start_context(account, residence_form=form), status=422)
    try:
        with locked(account.pk) as held:
            preferences.confirm_residence(held, country=form.cleaned_data["residence"], now=timezone.now())
    except Refusal as refusal:
        form.take_refusal(refusal, field="residence")
        return render(request, "accounts/start.html", start_context(account, residence_form=form), status=422)
    say(request, "Your country of residence is confirmed.")
    return redirect("start")


@owner_page
@require_POST
def ask_top_up(request: HttpRequest, account: Account) -> HttpResponse:
    """Note a payment that staff then confirm; one waits at a time."""
    form = TopUpForm(request.POST)
    if not form.is_valid():
        return render(request, "accounts/start.html", start_context(account, top_up_form=form), status=422)
    with locked(account.pk) as held:
        if held.payments.filter(status=Payment.Status.PENDING).exists():
            warn(request, "A payment is already waiting to be confirmed.")
        else:
            amount = form.cleaned_data["amount_cents"]
            payments.record(held, amount_cents=amount, method="manual", external_ref="", now=timezone.now())
            say(request, "Noted. Your balance grows when staff confirm that the money arrived.")
    return redirect("start")


@owner_page
@require_POST
def tick_guidance(request: HttpRequest, account: Account) -> HttpResponse:
    """The owner says whether their agent has its instructions."""
    with locked(account.pk) as held:
        preferences.tick_agent_guidance(held, is_configured=request.POST.get("configured") == "1")
    return redirect("start")


def start_context(
    account: Account, *, residence_form: ResidenceForm | None = None, top_up_form: TopUpForm | None = None
) -> dict[str, Any]:
    """Everything the setup page shows."""
    now = timezone.now()
    number = own_number(account)
    steps = setup_steps(account, number)
    return {
        "section": "start",
        "account": account,
        "owner_name": account.owner_name,
        "steps": steps,
        "is_ready": all(step.is_done for step in steps if step.key in ("number", "residence", "payment")),
        "is_all_done": all(step.is_done for step in steps),
        "number": number,
        "masked": numbers.mask(numbers.reveal(number)) if number else "",
        "number_person": shown_name(account, number.person) if number else "",
        "spent_today_cents": ledger.spent_today_cents(account, now),
        "residence_name": country_names().get(account.residence, ""),
        "residence_form": residence_form or ResidenceForm(initial={"residence": account.residence}),
        "top_up_form": top_up_form or TopUpForm(),
        "waiting_payment": account.payments.filter(status=Payment.Status.PENDING).order_by("-pk").first(),
        "tests": test_channels(account, number),
        "agents": account.connections.filter(revoked_at=None).count(),
        "mcp_url": settings.MCP_RESOURCE,
    }


def own_number(account: Account) -> Number | None:
    """The number an alert reaches when nobody is named."""
    if account.owner_person_id is None:
        return None
    return Number.objects.select_related("person", "holder").filter(person_id=account.owner_person_id).first()


def can_be_reached(account: Account, number: Number | None) -> bool:
    """Whether alerts may go to the owner's number: verified, not stopped, and no new verification demanded."""
    if number is None or account.is_paused_until_verified:
        return False
    return number.is_verified and not number.is_opted_out()


def setup_steps(account: Account, number: Number | None) -> list[SetupStep]:
    """The five steps; the first open one is next."""
    has_tested = account.alerts.filter(is_setup_test=True, status__in=["delivered", "acknowledged"]).exists()
    done = [
        (
            "number",
            "Add and verify your number",
            can_be_reached(account, number),
        ),
        ("residence", "Confirm where you live", account.residence_confirmed_at is not None),
        ("payment", "Add balance", account.first_payment_at is not None),
        ("agent", "Connect an agent", account.connections.filter(revoked_at=None).exists()),
        ("test", "Send yourself a test alert", has_tested),
    ]
    first_open = next((key for key, _, is_done in done if not is_done), None)
    return [
        SetupStep(key, title, is_done, "done" if is_done else "next" if key == first_open else "later")
        for key, title, is_done in done
    ]


def test_channels(account: Account, number: Number | None) -> list[TestChannel]:
    """Where a test alert can go; empty before there is a number that may get one."""
    if number is None or not number.is_verified or number.is_opted_out():
        return []
    country_rates = rates.rates_of(number.holder.country)
    flags = pauses.open_pauses(account)
    states = channels.channel_states(account, number, number.holder, country_rates, flags, now=timezone.now())
    shown = []
    for channel, state in states.items():
        is_open = state.is_available or state.reason == "test_alert_pending"
        why_not = "" if is_open else refusal_text(channels.refuse_channel(channel, states))
        shown.append(TestChannel(channel, is_open, why_not))
    return shown
