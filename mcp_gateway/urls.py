"""The addresses of mcp_gateway: /mcp, its documentation, and OAuth on exactly the contract's paths."""

from django.urls import URLPattern, URLResolver, include, path
from oauth2_provider import views as toolkit

from mcp_gateway import docs_views
from mcp_gateway.oauth.authorize import AuthorizeView
from mcp_gateway.oauth.registration import ManageView, RegisterView
from mcp_gateway.oauth.token import TokenView
from mcp_gateway.view import mcp

# The toolkit's metadata finds its endpoints by these names; `token` is also where tokens are revoked.
oauth_patterns = [
    path(
        ".well-known/oauth-authorization-server",
        toolkit.OAuthServerMetadataView.as_view(),
        name="oauth-server-metadata",
    ),
    path(
        ".well-known/oauth-protected-resource",
        toolkit.OAuthProtectedResourceMetadataView.as_view(),
        name="oauth-resource-metadata",
    ),
    path(
        ".well-known/oauth-protected-resource/mcp",
        toolkit.OAuthProtectedResourceMetadataView.as_view(),
        name="oauth-resource-metadata-mcp",
    ),
    path("authorize", AuthorizeView.as_view(), name="authorize"),
    path("token", TokenView.as_view(), name="token"),
    path("token", TokenView.as_view(), name="revoke-token"),
    path("register", RegisterView.as_view(), name="dcr-register"),
    path("register/<str:client_id>", ManageView.as_view(), name="dcr-register-management"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include((oauth_patterns, "oauth2_provider"))),
    path("mcp", mcp, name="mcp"),
    path("docs/mcp/", docs_views.reference_page, name="mcp-reference"),
    path("docs/mcp/tools.json", docs_views.reference_json, name="mcp-reference-json"),
]
