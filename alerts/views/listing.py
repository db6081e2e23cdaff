"""The list of alerts, newest first."""

from datetime import datetime
from typing import Any

from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import owner_page
from accounts.models import Account
from alerts.models import Alert, Attempt
from alerts.shown import shown_alert
from alerts.status import attempts_of

PAGE_SIZE = 25
FILTERS = {"all": "All", "open": "Running", "missed": "Missed"}


@owner_page
@require_safe
def alert_list(request: HttpRequest, account: Account) -> HttpResponse:
    """One page of alerts; `before` is where the page before ended."""
    chosen = request.GET.get("show", "all")
    chosen = chosen if chosen in FILTERS else "all"
    found = filtered(account.alerts.all(), chosen)
    if before := position_of(request.GET.get("before", "")):
        at, pk = before
        found = found.filter(Q(created_at__lt=at) | Q(created_at=at, pk__lt=pk))
    whole = found.prefetch_related(
        Prefetch("attempts", queryset=Attempt.objects.order_by("seq"), to_attr="all_attempts")
    )
    rows = list(whole.order_by("-created_at", "-pk")[: PAGE_SIZE + 1])
    more = rows[PAGE_SIZE - 1] if len(rows) > PAGE_SIZE else None
    context: dict[str, Any] = {
        "section": "alerts",
        "account": account,
        "rows": [shown_alert(alert, attempts_of(alert)) for alert in rows[:PAGE_SIZE]],
        "filters": FILTERS,
        "chosen": chosen,
        "is_first_page": before is None,
        "next_position": f"{more.created_at.isoformat()}_{more.pk}" if more else "",
        "has_any": bool(rows) or account.alerts.exists(),
    }
    return render(request, "alerts/list.html", context)


def filtered(alerts: QuerySet[Alert], chosen: str) -> QuerySet[Alert]:
    """All alerts, the running ones, or those that failed or were never acknowledged."""
    if chosen == "open":
        return alerts.filter(ended_at=None)
    if chosen == "missed":
        return alerts.filter(status__in=["failed", "expired"])
    return alerts


def position_of(text: str) -> tuple[datetime, int] | None:
    """The place in the list that a link names; None when it names none."""
    at, _, pk = text.rpartition("_")
    try:
        moment = datetime.fromisoformat(at)
        number = int(pk)
    except ValueError:
        return None
    return (moment, number) if moment.tzinfo is not None and 0 < number < 2**63 else None
