"""The page behind a confirmation link: opening it changes nothing, its button acknowledges."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from alerts import acks
from alerts.models import Alert

PRIVATE = {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-store, private, max-age=0",
}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def ack_page(request: HttpRequest, token: str) -> HttpResponse:
    """For whoever holds the link; nobody signs in here."""
    alert = acks.find_by_token(token)
    if alert is None:
        return private(render(request, "alerts/ack_unknown.html", status=404))
    if request.method == "POST" and alert.requires_ack:
        acks.acknowledge(alert, via="sms_link", now=timezone.now())
        return private(redirect("acknowledge-link", token=token))
    return private(render(request, "alerts/ack.html", ack_context(alert)))


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


def private(response: HttpResponse) -> HttpResponse:
    """Not kept, not indexed, and the link is told to nobody."""
    for name, value in PRIVATE.items():
        response[name] = value
    return response
