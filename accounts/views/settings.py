"""Settings of the whole account."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts import preferences
from accounts.access import owner_page, say
from accounts.countries import country_names
from accounts.forms import SettingsForm
from accounts.locking import locked
from accounts.models import Account
from breakpass.errors import Refusal


@owner_page
@require_http_methods(["GET", "HEAD", "POST"])
def settings_page(request: HttpRequest, account: Account) -> HttpResponse:
    """The owner's name, time zone and price limit."""
    form = SettingsForm(request.POST) if request.method == "POST" else SettingsForm.of(account)
    if form.is_bound and form.is_valid():
        try:
            with locked(account.pk) as held:
                preferences.set_preferences(
                    held,
                    owner_name=form.cleaned_data["owner_name"],
                    timezone=form.cleaned_data["timezone"],
                    max_price_cents=form.max_price_cents(),
                )
        except Refusal as refusal:
            form.take_refusal(refusal, field="owner_name")
        else:
            say(request, "Saved.")
            return redirect("settings")
    context = {
        "section": "settings",
        "account": account,
        "form": form,
        "residence_name": country_names().get(account.residence, ""),
    }
    return render(request, "accounts/settings.html", context, status=422 if form.is_bound else 200)
