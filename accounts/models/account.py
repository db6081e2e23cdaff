"""The account and who belongs to it, its plan, and the pauses that staff set."""

from datetime import datetime, timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class Plan(models.Model):
    """What an account may have: how many numbers, and whether account-wide caps are lifted (behaviour, Accounts)."""

    name = models.CharField(max_length=40, unique=True)
    is_paid = models.BooleanField(default=False)
    number_cap = models.PositiveSmallIntegerField(default=3)

    def __str__(self) -> str:
        return self.name


class Account(models.Model):
    """One customer: its people, money, workflows and agents. Every write below it happens under its row lock."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        SUSPENDED = "suspended"
        CLOSED = "closed"

    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    status_reason = models.CharField(max_length=200, blank=True)
    # Staff flag: no send until a number is verified (again); the next verification clears it.
    is_paused_until_verified = models.BooleanField(default=False)
    owner_name = models.CharField(max_length=30, blank=True)
    plan = models.ForeignKey(Plan, null=True, blank=True, on_delete=models.PROTECT)
    # The person of the owner's own number, and the one picked in Settings > Your number (None: the own one).
    own_person = models.ForeignKey(
        "accounts.Person", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    picked_person = models.ForeignKey(
        "accounts.Person", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    residence = models.CharField(max_length=2, blank=True)
    residence_confirmed_at = models.DateTimeField(null=True, blank=True)
    first_payment_at = models.DateTimeField(null=True, blank=True)
    has_new_account_caps_lifted = models.BooleanField(default=False)
    is_agent_guidance_configured = models.BooleanField(default=False)
    # The owner's own maximum price of one alert on one channel; None: no maximum.
    max_price_cents = models.PositiveIntegerField(null=True, blank=True)
    # Support can raise the calls an hour to one number (seed 001, Limits).
    holder_calls_per_hour = models.PositiveSmallIntegerField(null=True, blank=True)
    # Caches over the ledger: all money of the account, and the part of it that open holds keep.
    balance_cents = models.BigIntegerField(default=0)
    reserved_cents = models.BigIntegerField(default=0)
    workflows_version = models.PositiveIntegerField(default=1)
    workflows_updated_at = models.DateTimeField()
    is_matrix_enabled = models.BooleanField(default=False)
    urgency_threshold = models.PositiveSmallIntegerField(default=6)
    importance_threshold = models.PositiveSmallIntegerField(default=6)
    timezone = models.CharField(max_length=40, default="UTC")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=["active", "suspended", "closed"]), name="account_status"),
            models.CheckConstraint(condition=Q(reserved_cents__gte=0), name="account_reserved_not_negative"),
            models.CheckConstraint(
                condition=Q(balance_cents__gte=F("reserved_cents")), name="account_holds_within_balance"
            ),
            models.CheckConstraint(
                condition=Q(urgency_threshold__range=(1, 10), importance_threshold__range=(1, 10)),
                name="account_thresholds_1_to_10",
            ),
        ]

    def __str__(self) -> str:
        return f"account {self.pk}"

    @property
    def available_cents(self) -> int:
        """What can be spent now: the balance net of what is reserved (behaviour, Accounts)."""
        return self.balance_cents - self.reserved_cents

    @property
    def owner_person_id(self) -> int | None:
        """The person an alert reaches when nobody is named (seed 001, `default_recipient`)."""
        return self.picked_person_id or self.own_person_id

    @property
    def is_paid_plan(self) -> bool:
        """On a paid plan no account-wide cap and no brake applies."""
        return self.plan is not None and self.plan.is_paid

    def is_new(self, now: datetime) -> bool:
        """Whether the new-account caps apply: no paid plan, and before or within 7 days of the first payment."""
        if self.is_paid_plan or self.has_new_account_caps_lifted:
            return False
        started = self.first_payment_at
        return started is None or now < started + timedelta(days=settings.NEW_ACCOUNT_DAYS)


class Member(models.Model):
    """A login's place in an account. One login belongs to one account."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="members")
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="member")
    is_owner = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"member {self.pk} of account {self.account_id}"


class Pause(models.Model):
    """A stop that staff put on sending: everything, a channel, destinations, one account (seed 001, SERVICE_PAUSED)."""

    FLAGS: ClassVar[tuple[str, ...]] = (
        "all",
        "whatsapp",
        "sms",
        "call",
        "destination",
        "account",
        "whatsapp_capacity",
        "whatsapp_not_live",
    )
    flag = models.CharField(max_length=20, choices=[(flag, flag) for flag in FLAGS])
    # For `destination`: ISO countries, separated by spaces. Never shown to an agent.
    countries = models.CharField(max_length=400, blank=True)
    account = models.ForeignKey(Account, null=True, blank=True, on_delete=models.CASCADE, related_name="pauses")
    reason = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    lifted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(flag="account", account__isnull=False) | (~Q(flag="account") & Q(account=None)),
                name="pause_names_its_account",
            )
        ]
        indexes = [models.Index(fields=["flag"], condition=Q(lifted_at=None), name="pause_open")]

    def __str__(self) -> str:
        return f"pause {self.pk} ({self.flag})"
