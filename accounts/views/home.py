"""The first page, and the demo owner's one-time way in on a development machine."""

from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.demo import use_demo_link


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Signed in: to the setup page. Else what this is, and how to get in."""
    if request.user.is_authenticated:
        return redirect("start")
    return render(request, "accounts/home.html", {"is_sign_up_open": settings.SIGN_UP_OPEN})


@never_cache
@require_safe
def demo_sign_in(request: HttpRequest) -> HttpResponse:
    """Signs the demo owner in, once per link. Not there in production."""
    if not settings.ALLOW_TEST_COMMANDS or settings.PRODUCTION:
        raise Http404
    user = use_demo_link(request.GET.get("token", ""), now=timezone.now())
    if user is None:
        return render(request, "accounts/demo_link_spent.html", status=410)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("start")
