"""A site that real clients can reach: the settings of the process pointed at the address of pytest-django's server."""

from typing import Any


def point_settings_at(settings: Any, url: str) -> str:
    """Make the live server's address the installation's own, as BASE_URL would; gives the MCP endpoint."""
    endpoint = f"{url}/mcp"
    settings.BASE_URL = settings.LINK_BASE_URL = url
    settings.MCP_RESOURCE = endpoint
    settings.MCP_ALLOWED_ORIGINS = [url]
    settings.OAUTH2_PROVIDER = {
        **settings.OAUTH2_PROVIDER,
        "OIDC_ISS_ENDPOINT": url,
        "OAUTH2_PROTECTED_RESOURCE_IDENTIFIER": endpoint,
        "OAUTH2_PROTECTED_RESOURCE_AUTHORIZATION_SERVERS": [url],
    }
    return endpoint
