"""One alert's live timeline, and what its owner can do: acknowledge, cancel, send a test."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import owner_page, refusal_text, say, warn
from accounts.locking import locked
from accounts.models import Account, Number
from alerts import acks, sending
from alerts.models import Alert
from alerts.shown import ShownAlert, shown_alert
from breakpass.errors import Refusal


def alert_of(account: Account, code: str) -> Alert:
    """The account's alert with this code, in any case; else 404."""
    return get_object_or_404(account.alerts.select_related("connection", "person"), code=code.upper())


def shown(alert: Alert) -> ShownAlert:
    """The alert with all its attempts."""
    return shown_alert(alert, list(alert.attempts.all()))


@owner_page
@require_safe
def alert_page(request: HttpRequest, account: Account, code: str) -> HttpResponse:
    """The whole page. With htmx the live part, which asks again while the alert is open: 204 when it was `seen`."""
    alert = alert_of(account, code)
    now_shown = shown(alert)
    context = {"section": "alerts", "account": account, "alert": alert, "shown": now_shown}
    is_live_part = request.headers.get("HX-Request") == "true"
    if is_live_part and request.GET.get("seen") == now_shown.fingerprint:
        return HttpResponse(status=204)
    return render(request, "alerts/live.html" if is_live_part else "alerts/alert.html", context)


@owner_page
@require_POST
def acknowledge(request: HttpRequest, account: Account, code: str) -> HttpResponse:
    """The owner saw it: stops what is still planned."""
    alert = alert_of(account, code)
    if not alert.requires_ack:
        warn(request, "This alert doesn't ask for an acknowledgement.")
    else:
        match acks.acknowledge(alert, via="portal", now=timezone.now()):
            case "acknowledged":
                say(request, "Acknowledged. Nothing more is sent for this alert.")
            case "late":
                warn(request, "The alert had already ended. We noted that you saw it.")
            case _:
                warn(request, "Nothing changed: the alert had already ended.")
    return redirect("alert", code=alert.code)


@owner_page
@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: HttpRequest, account: Account, code: str) -> HttpResponse:
    """Asks first, then stops all steps that were not sent."""
    alert = alert_of(account, code)
    if request.method != "POST":
        context = {"section": "alerts", "account": account, "alert": alert, "shown": shown(alert)}
        return render(request, "alerts/cancel.html", context)
    with locked(account.pk) as held:
        ended = sending.cancel(held, alert.code, by="owner", now=timezone.now())
    if ended.status == "cancelled":
        say(request, "Cancelled. What was not sent yet will not be sent.")
    else:
        warn(request, "Nothing changed: the alert had already ended.")
    return redirect("alert", code=alert.code)


@owner_page
@require_POST
def send_test(request: HttpRequest, account: Account) -> HttpResponse:
    """A free test alert to the owner's number, on the chosen channel; then its live page."""
    channel = request.POST.get("channel", "")
    try:
        with locked(account.pk) as held:
            person = held.people.filter(pk=held.owner_person_id or 0).first()
            if person is None or not Number.objects.filter(person=person).exists():
                raise Refusal("SETUP_INCOMPLETE", "Add and verify your number first.")
            if channel not in ("whatsapp", "sms", "call"):
                raise Refusal("CONTENT_REJECTED", "Choose a channel for the test alert.")
            alert = sending.start_test(held, person, channel=channel, now=timezone.now())
    except Refusal as refusal:
        warn(request, refusal_text(refusal))
        return redirect("start")
    return redirect("alert", code=alert.code)
