"""The alert (one thing to tell one person), and the keys under which agents asked for it."""

from functools import cached_property

from django.db import models
from django.db.models import Q

from accounts.models import Account, Connection, Holder, Number, Person
from alerts import states
from workflows.plan import Plan


class Alert(models.Model):
    """One thing to tell one person: a direct send or a workflow run, following the plan it was accepted with."""

    code = models.CharField(max_length=10, unique=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="alerts")
    connection = models.ForeignKey(Connection, null=True, blank=True, on_delete=models.SET_NULL, related_name="alerts")
    person = models.ForeignKey(Person, null=True, blank=True, on_delete=models.SET_NULL, related_name="alerts")
    number = models.ForeignKey(Number, null=True, blank=True, on_delete=models.SET_NULL, related_name="alerts")
    holder = models.ForeignKey(Holder, on_delete=models.PROTECT, related_name="alerts")
    # "Send yourself a test alert" on the start page: free, and the only thing that goes out before a payment.
    is_setup_test = models.BooleanField(default=False)
    workflow_key = models.CharField(max_length=40, blank=True)
    plan_data = models.JSONField()
    # What answers show: "owner" when the call said so, else the saved name.
    recipient = models.CharField(max_length=30)
    # Whether the recipient is the owner: "Waiting for you to acknowledge".
    is_to_owner = models.BooleanField(default=False)
    agent_name = models.CharField(max_length=30)
    message = models.CharField(max_length=600)
    use_case = models.CharField(max_length=40, blank=True)
    event_reference = models.CharField(max_length=100, blank=True)
    requires_ack = models.BooleanField()
    # In the confirmation link and the WhatsApp button's payload: names this alert, nothing else.
    ack_token = models.CharField(max_length=32, unique=True)
    # Same recipient, channel and text within 60 seconds is the same direct send (seed 001, Idempotency).
    fingerprint = models.CharField(max_length=64)
    # Accepted after the day's fifth failed send: texts blocked as spam are charged (behaviour, Money).
    charges_spam_blocks = models.BooleanField(default=False)
    status = models.CharField(max_length=12, choices=states.AlertStatus, default=states.AlertStatus.QUEUED)
    created_at = models.DateTimeField()
    # The alert ends then, whatever happens; shown as `deadline_at` except for a direct send without acknowledgement.
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    ack_via = models.CharField(max_length=16, blank=True)
    late_ack_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.CharField(max_length=8, blank=True)
    failure_code = models.CharField(max_length=24, blank=True)
    failure_reason = models.CharField(max_length=3, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=states.AlertStatus.values), name="alert_status"),
            models.CheckConstraint(
                condition=Q(status="acknowledged", acknowledged_at__isnull=False)
                | (~Q(status="acknowledged") & Q(acknowledged_at=None)),
                name="alert_acknowledged_has_a_time",
            ),
            models.CheckConstraint(
                condition=Q(status="cancelled", cancelled_at__isnull=False)
                | (~Q(status="cancelled") & Q(cancelled_at=None)),
                name="alert_cancelled_has_a_time",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["queued", "sent"], ended_at=None)
                | Q(status="delivered", requires_ack=True, ended_at=None)
                | Q(status="delivered", requires_ack=False, ended_at__isnull=False)
                | Q(status__in=["acknowledged", "failed", "expired", "cancelled"], ended_at__isnull=False),
                name="alert_ended_exactly_when_terminal",
            ),
            models.CheckConstraint(
                condition=(Q(status="failed") & ~Q(failure_code="")) | (~Q(status="failed") & Q(failure_code="")),
                name="alert_failed_says_why",
            ),
            models.CheckConstraint(
                condition=Q(ack_via__in=["", "whatsapp_button", "dtmf", "sms_link", "portal"]), name="alert_ack_via"
            ),
        ]
        indexes = [
            models.Index(fields=["account", "created_at"], name="alert_by_account"),
            models.Index(fields=["holder", "created_at"], name="alert_by_holder"),
            models.Index(fields=["account", "fingerprint", "created_at"], name="alert_by_fingerprint"),
            models.Index(
                fields=["account", "event_reference"], condition=~Q(event_reference=""), name="alert_by_reference"
            ),
            models.Index(fields=["expires_at"], condition=Q(ended_at=None), name="alert_open_by_deadline"),
        ]

    def __str__(self) -> str:
        return f"alert {self.code}"

    @cached_property
    def plan(self) -> Plan:
        """The plan it was accepted with."""
        return Plan.from_json(self.plan_data)

    @property
    def is_ended(self) -> bool:
        """Whether it is over; late reports still settle its attempts' money."""
        return self.ended_at is not None

    @property
    def shows_deadline(self) -> bool:
        """A direct send without acknowledgement has no deadline in answers (seed 001, `deadline_at`)."""
        return bool(self.workflow_key) or self.requires_ack


class IdempotencyKey(models.Model):
    """A key an agent used, for 24 hours, with the hash of what it asked for (behaviour, Idempotency)."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="idempotency_keys")
    key = models.CharField(max_length=64)
    request_hash = models.CharField(max_length=64)
    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="idempotency_keys")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "key"], name="idempotency_key_once_per_account")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_key_by_age")]

    def __str__(self) -> str:
        return f"idempotency key {self.pk}"
