"""Where every address leads: composition of the apps' edges."""

from django.contrib import admin
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path


def healthz(request: HttpRequest) -> HttpResponse:
    """Answers when the process serves and its database does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain", headers={"Cache-Control": "no-store"})


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz),
    path("", include("mcp_gateway.urls")),
    path("", include("alerts.urls")),
    path("", include("workflows.urls")),
    path("", include("accounts.urls")),
    path("admin/", admin.site.urls),
]
