"""Money: an append-only ledger in whole US cents, and the payments that fill it."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models.account import Account


class LedgerEntry(models.Model):
    """One movement. Sums of the two deltas equal the account's cached balances (only accounts.ledger writes)."""

    class Kind(models.TextChoices):
        TOP_UP = "top_up"
        HOLD = "hold"
        CAPTURE = "capture"
        RELEASE = "release"
        ADJUST = "adjust"

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="entries")
    kind = models.CharField(max_length=8, choices=Kind)
    balance_delta_cents = models.BigIntegerField()
    reserved_delta_cents = models.BigIntegerField()
    # What it paid for, as a string: "attempt:<ref>", "payment:<id>", "staff:<uuid>".
    ref = models.CharField(max_length=60)
    # A capture or a release settles exactly one hold, once.
    settles = models.OneToOneField("self", null=True, blank=True, on_delete=models.PROTECT, related_name="settlement")
    note = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "kind", "ref"], name="ledger_once_per_kind_and_ref"),
            models.CheckConstraint(
                condition=(
                    Q(kind="top_up", settles=None, balance_delta_cents__gt=0, reserved_delta_cents=0)
                    | Q(kind="hold", settles=None, balance_delta_cents=0, reserved_delta_cents__gte=0)
                    | Q(
                        kind="capture",
                        settles__isnull=False,
                        balance_delta_cents__lte=0,
                        reserved_delta_cents__lte=F("balance_delta_cents"),
                    )
                    | Q(kind="release", settles__isnull=False, balance_delta_cents=0, reserved_delta_cents__lte=0)
                    | Q(kind="adjust", settles=None, reserved_delta_cents=0)
                ),
                name="ledger_shape_of_each_kind",
            ),
        ]
        indexes = [models.Index(fields=["account", "created_at"], name="ledger_by_account")]

    def __str__(self) -> str:
        return f"ledger entry {self.pk} ({self.kind})"


class Payment(models.Model):
    """A payment that staff confirm; a card provider plugs in behind the same row later (behaviour, Money)."""

    class Status(models.TextChoices):
        PENDING = "pending"
        CONFIRMED = "confirmed"
        REFUSED = "refused"
        DISPUTED = "disputed"

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="payments")
    amount_cents = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    method = models.CharField(max_length=30, default="manual")
    external_ref = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True, blank=True)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["pending", "refused"], confirmed_at=None)
                | Q(status__in=["confirmed", "disputed"], confirmed_at__isnull=False),
                name="payment_confirmed_has_a_time",
            ),
            models.UniqueConstraint(
                fields=["method", "external_ref"], condition=~Q(external_ref=""), name="payment_once_per_external_ref"
            ),
        ]

    def __str__(self) -> str:
        return f"payment {self.pk} ({self.status})"
