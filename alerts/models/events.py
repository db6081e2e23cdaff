"""What the carrier said, kept as it came (without numbers and texts), and how its requests went lately."""

from django.db import models

from alerts.models.attempt import Attempt


class CarrierEvent(models.Model):
    """One report of the carrier: recorded once, whether or not it moved anything (behaviour, Alerts)."""

    attempt = models.ForeignKey(Attempt, null=True, blank=True, on_delete=models.SET_NULL, related_name="events")
    kind = models.CharField(max_length=20)
    # Hash over what identifies the report: a repeat is the same row.
    fingerprint = models.CharField(max_length=64, unique=True)
    carrier_sid = models.CharField(max_length=40, blank=True)
    status = models.CharField(max_length=30, blank=True)
    error_code = models.IntegerField(null=True, blank=True)
    # The allowed parameters only: no number, no text, no name.
    params = models.JSONField(default=dict)
    received_at = models.DateTimeField()
    moved = models.BooleanField(default=False)
    # Staff should look: it contradicts what was already final, or came from where it should not.
    is_flagged = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["received_at"], name="carrier_event_by_time")]

    def __str__(self) -> str:
        return f"carrier event {self.pk} ({self.kind})"


class CarrierCall(models.Model):
    """How one request to the carrier went: the breaker's short memory (behaviour, Limits, PROVIDER_ERROR)."""

    channel = models.CharField(max_length=8)
    succeeded = models.BooleanField()
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="carrier_call_by_time")]

    def __str__(self) -> str:
        return f"carrier call {self.pk}"
