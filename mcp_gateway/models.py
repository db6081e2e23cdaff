"""The gateway's rows: OAuth clients and legacy MCP sessions."""

from typing import ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from oauth2_provider.models import AbstractApplication, ApplicationManager

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Application(AbstractApplication):  # type: ignore[misc]  # the toolkit ships no types
    """An OAuth client. Our own model, so that the redirect policy and platform recognition are ours (ADR 0003)."""

    objects: ClassVar[ApplicationManager] = ApplicationManager()
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"application {self.pk}"

    def natural_key(self) -> tuple[str]:
        """As the toolkit's own model has it."""
        return (self.client_id,)

    def clean(self) -> None:
        """`http` redirects for loopback only, any port (RFC 8252); the toolkit has one flat list of schemes."""
        super().clean()
        for uri in self.redirect_uris.split():
            parts = urlsplit(uri)
            if parts.scheme == "http" and parts.hostname not in LOOPBACK:
                raise ValidationError({"redirect_uris": "An http redirect_uri must be a loopback address."})


class McpSession(models.Model):
    """A session of a legacy client (2025-06-18, 2025-11-25): any web process can serve it."""

    id = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    application = models.ForeignKey(Application, on_delete=models.CASCADE, related_name="+")
    protocol_version = models.CharField(max_length=20)
    client_info = models.JSONField(default=dict)
    capabilities = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["expires_at"], name="mcp_session_by_expiry")]

    def __str__(self) -> str:
        return f"MCP session of user {self.user_id}"
