"""The mcp_gateway app."""

from django.apps import AppConfig


class McpGatewayConfig(AppConfig):
    """Django's registration of the app."""

    name = "mcp_gateway"
