"""The attempt: one try on one channel, which is the fact, the money's reference and the work queue in one row."""

import uuid

from django.db import models
from django.db.models import Q

from accounts.ledger import ATTEMPT_REF
from accounts.models import Account, Holder
from alerts import states
from alerts.models.alert import Alert


class Attempt(models.Model):
    """One try. `due_at` is when to send it; it is committed as `sending` before anything goes on the wire."""

    class Kind(models.TextChoices):
        MESSAGE = "message"
        CALL = "call"
        FALLBACK = "fallback"

    class Settlement(models.TextChoices):
        CHARGED = "charged"
        REDUCED = "reduced"
        RELEASED = "released"

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="attempts")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="attempts")
    holder = models.ForeignKey(Holder, on_delete=models.PROTECT, related_name="attempts")
    # Our own id on the wire: it stands in every callback address, so a report finds its row even when the answer
    # to the request was lost.
    ref = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    seq = models.PositiveSmallIntegerField()
    offset_min = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=8, choices=Kind)
    channel = models.CharField(max_length=8)
    # "Reminder 2 of 3: " or nothing.
    reminder = models.CharField(max_length=24, blank=True)
    status = models.CharField(max_length=24, choices=states.AttemptStatus, default=states.AttemptStatus.SCHEDULED)
    scheduled_at = models.DateTimeField()
    # When the sweep should look at it: the next try, the next question to the carrier, or giving up. Null: nothing.
    due_at = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    # An answer was seen: the answered report came, or the call asked for its words.
    answered_at = models.DateTimeField(null=True, blank=True)
    # No more reports are expected (a call that was answered ends later than its status says).
    ended_at = models.DateTimeField(null=True, blank=True)
    carrier_sid = models.CharField(max_length=40, blank=True)
    # The highest SequenceNumber of a call's reports.
    last_sequence = models.SmallIntegerField(default=-1)
    tries = models.PositiveSmallIntegerField(default=0)
    failure_code = models.CharField(max_length=24, blank=True)
    failure_reason = models.CharField(max_length=3, blank=True)
    # not_picked_up, or blank.
    outcome = models.CharField(max_length=16, blank=True)
    price_cents = models.PositiveIntegerField()
    reduced_cents = models.PositiveIntegerField(default=0)
    held_at = models.DateTimeField(null=True, blank=True)
    settlement = models.CharField(max_length=8, choices=Settlement, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    charged_cents = models.PositiveIntegerField(default=0)
    # Staff should look: a later report contradicted the first terminal one, or the outcome never became known.
    flagged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["alert", "seq"], name="attempt_once_per_seq"),
            models.UniqueConstraint(fields=["alert"], condition=Q(kind="fallback"), name="attempt_one_fallback"),
            models.UniqueConstraint(fields=["carrier_sid"], condition=~Q(carrier_sid=""), name="attempt_once_per_sid"),
            models.CheckConstraint(condition=Q(status__in=states.AttemptStatus.values), name="attempt_status"),
            models.CheckConstraint(
                condition=Q(kind="call", channel="call")
                | Q(kind__in=["message", "fallback"], channel__in=["whatsapp", "sms"]),
                name="attempt_kind_fits_channel",
            ),
            models.CheckConstraint(
                condition=Q(settlement="", charged_cents=0, settled_at=None)
                | (~Q(settlement="") & Q(settled_at__isnull=False, held_at__isnull=False)),
                name="attempt_charged_only_when_settled",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["failed", "skipped"]) & ~Q(failure_code="")
                | ~Q(status__in=["failed", "skipped"]),
                name="attempt_failed_says_why",
            ),
            models.CheckConstraint(
                condition=Q(claimed_at__isnull=False) | Q(status__in=["scheduled", "skipped"]),
                name="attempt_claimed_before_it_moves",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="attempt_due"),
            models.Index(fields=["holder", "channel", "scheduled_at"], name="attempt_by_holder"),
            models.Index(fields=["account", "channel", "scheduled_at"], name="attempt_by_account"),
            # What the limits count of an account at every send (alerts.counts).
            models.Index(
                fields=["account", "channel", "settled_at"], condition=Q(settlement="released"), name="attempt_released"
            ),
            models.Index(
                fields=["account", "channel"],
                condition=Q(settlement="", held_at__isnull=False),
                name="attempt_unsettled",
            ),
            models.Index(fields=["account", "settled_at"], condition=Q(status="failed"), name="attempt_failed"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.ref}"

    @property
    def ledger_ref(self) -> str:
        """How the ledger names what it paid for."""
        return f"{ATTEMPT_REF}{self.ref}"
