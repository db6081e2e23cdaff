"""The addresses of mcp_gateway."""

from django.urls import URLPattern, URLResolver, path

from mcp_gateway import docs_views

urlpatterns: list[URLPattern | URLResolver] = [
    path("docs/mcp/", docs_views.reference_page, name="mcp-reference"),
    path("docs/mcp/tools.json", docs_views.reference_json, name="mcp-reference-json"),
]
