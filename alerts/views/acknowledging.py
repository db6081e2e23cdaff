"""The page behind a confirmation link: opening it changes nothing, its button acknowledges."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from alerts import acks
from alerts.models import Alert

PRIVATE = {
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-store, private, max-age=0",
}


@csrf_exempt  # the link itself is the permission, and under no-referrer a browser tells no origin to check
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def ack_page(request: HttpRequest, token: str) -> HttpResponse:
    """For whoever holds the link; nobody signs in here."""
    alert = acks.find_by_token(token)
    if alert is None:
        return private(render(request, "alerts/ack_unknown.html", status=404), referrer="no-referrer")
    if request.method == "POST" and alert.requires_ack:
        acks.acknowledge(alert, via="sms_link", now=timezone.now())
        return private(redirect("acknowledge-link", token=token), referrer="no-referrer")
    return private(render(request, "alerts/ack.html", ack_context(alert)), referrer="no-referrer")


def ack_context(alert: Alert) -> dict[str, Any]:
    """What is true of the alert now, in one word for the template."""
    if not alert.requires_ack:
        state = "not_asked"
    elif alert.late_ack_at is not None:
        state = "noted_late"
    else:
        state = {"acknowledged": "done", "cancelled": "cancelled"}.get(
            alert.status, "ended" if alert.is_ended else "open"
        )
    return {"alert": alert, "state": state}


def private(response: HttpResponse, *, referrer: str = "same-origin") -> HttpResponse:
    """Not kept, not indexed, and the address is told to no other site."""
    for name, value in PRIVATE.items():
        response[name] = value
    response["Referrer-Policy"] = referrer
    return response
