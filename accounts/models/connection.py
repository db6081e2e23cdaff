"""An agent's grant to act for an account, and the caps that it ran into."""

from datetime import datetime

from django.conf import settings
from django.db import models

from accounts.models.account import Account


class Connection(models.Model):
    """One per account and client: connecting again resets no limit (behaviour, Three systems)."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="connections")
    # The OAuth client's id; a string, so that accounts need not know the gateway's tables.
    client_id = models.CharField(max_length=255)
    # As the owner sees it; starts as the app's name.
    name = models.CharField(max_length=80)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    # A deactivated connection authenticates; a revoked one does not.
    deactivated_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # The runaway brake (seed 001, Limits).
    braked_until = models.DateTimeField(null=True, blank=True)
    # Not a column: what its newest token may do, where `connections.list_connections` has filled it in.
    scopes: tuple[str, ...] = ()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "client_id"], name="connection_once_per_client")]

    def __str__(self) -> str:
        return f"connection {self.pk}"

    def is_braked(self, now: datetime) -> bool:
        """Whether the runaway brake holds this connection."""
        return self.braked_until is not None and self.braked_until > now


class CapHit(models.Model):
    """A refusal by a rate cap, kept outside the refused call, for the runaway brake (behaviour, Limits)."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="cap_hits")
    reason = models.CharField(max_length=40)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["connection", "created_at"], name="cap_hit_by_connection")]

    def __str__(self) -> str:
        return f"cap hit {self.pk} ({self.reason})"
