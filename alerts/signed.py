"""The door for the carrier's requests: signed by Twilio for the address we gave out, or 403 with nothing written."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from alerts.carriers.twilio import is_signed

P = ParamSpec("P")
# Twilio's longest parameters are a text of 1,600 characters, three bytes each when encoded; this is far above.
MAX_BODY = 64 * 1024
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def signed(view: View[P]) -> View[P]:
    """POST only, small, and signed: checked against BASE_URL, whatever the request or a proxy says about its host."""

    @csrf_exempt
    @wraps(view)
    def checked(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.method != "POST":
            return HttpResponse(status=405, headers={"Allow": "POST"})
        if _length(request) > MAX_BODY:
            return HttpResponse(status=413)
        query = request.META.get("QUERY_STRING", "")
        url = f"{settings.BASE_URL}{request.path}{'?' if query else ''}{query}"
        fields = {name: request.POST.getlist(name) for name in request.POST}
        ours = bool(settings.TWILIO_ACCOUNT_SID) and request.POST.get("AccountSid") == settings.TWILIO_ACCOUNT_SID
        if not (ours and is_signed(url, fields, request.headers.get("X-Twilio-Signature", ""))):
            return HttpResponse(status=403)
        return view(request, *args, **kwargs)

    return checked


def _length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if str(length).isdecimal() else MAX_BODY + 1
