"""People on an account, their numbers, who holds a number across accounts, and the codes that verify it."""

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models.account import Account


class Person(models.Model):
    """Someone an account can reach, by name. Names may repeat; that is what RECIPIENT_AMBIGUOUS is for."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="people")
    # Blank only for the owner's own person, which shows as the owner's name (accounts.people.shown_name).
    name = models.CharField(max_length=30, blank=True)
    language = models.CharField(max_length=12, default="en")
    created_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name__iexact="owner"), name="person_name_owner_is_reserved"),
        ]
        indexes = [models.Index("account", Lower("name"), name="person_by_name")]

    def __str__(self) -> str:
        return f"person {self.pk}"


class Holder(models.Model):
    """Whoever holds a phone number, across all accounts: one row per number hash, locked after the account."""

    class Whatsapp(models.TextChoices):
        UNKNOWN = "unknown"
        YES = "yes"
        NO = "no"

    number_hash = models.CharField(max_length=64, unique=True)
    country = models.CharField(max_length=2)
    opted_out_at = models.DateTimeField(null=True, blank=True)
    opted_out_via = models.CharField(max_length=10, blank=True)
    whatsapp = models.CharField(max_length=8, choices=Whatsapp, default=Whatsapp.UNKNOWN)
    # The person blocked us on WhatsApp (63014, 63033).
    whatsapp_paused_at = models.DateTimeField(null=True, blank=True)
    # The carrier said that the number is not valid or not in service (R02): staff look at it.
    flagged_at = models.DateTimeField(null=True, blank=True)
    # The live call: the attempt's public reference, and when the line is free again at the latest.
    live_call = models.CharField(max_length=36, blank=True)
    live_call_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(whatsapp__in=["unknown", "yes", "no"]), name="holder_whatsapp"),
            models.CheckConstraint(
                condition=Q(live_call="", live_call_until=None) | (~Q(live_call="") & Q(live_call_until__isnull=False)),
                name="holder_live_call_has_an_end",
            ),
        ]

    def __str__(self) -> str:
        return f"holder {self.pk}"

    def has_live_call(self, now: datetime) -> bool:
        """Whether a call to this number may still be going on."""
        return self.live_call_until is not None and self.live_call_until > now


class Number(models.Model):
    """A person's phone number on one account. The digits are encrypted; it is found by its holder's keyed hash."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="numbers")
    person = models.OneToOneField(Person, on_delete=models.CASCADE, related_name="number")
    holder = models.ForeignKey(Holder, on_delete=models.PROTECT, related_name="numbers")
    sealed = models.BinaryField()
    verified_at = models.DateTimeField(null=True, blank=True)
    # Over the plan's cap, newest first (RECIPIENT_NOT_VERIFIED, reason plan_limit).
    is_over_plan = models.BooleanField(default=False)
    # The page where the holder agrees and asks for the code: /join/<token>.
    invite_token_hash = models.CharField(max_length=64, unique=True, null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "holder"], name="number_once_per_account"),
        ]

    def __str__(self) -> str:
        return f"number {self.pk}"

    @property
    def is_verified(self) -> bool:
        """Confirmed with a code, at whatever time."""
        return self.verified_at is not None

    def is_opted_out(self) -> bool:
        """Whether the holder stopped us and has not verified this number on this account since (needs `holder`)."""
        stopped = self.holder.opted_out_at
        return stopped is not None and (self.verified_at is None or self.verified_at <= stopped)


class VerificationCode(models.Model):
    """A six-digit code on its way to a number. Also an outbox row: sent by the alerts layer, claimed once."""

    class Channel(models.TextChoices):
        SMS = "sms"
        WHATSAPP = "whatsapp"
        CALL = "call"

    number = models.ForeignKey(Number, null=True, on_delete=models.SET_NULL, related_name="codes")
    # Kept apart from the number so that caps outlive a removed person.
    number_hash = models.CharField(max_length=64)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="codes")
    channel = models.CharField(max_length=10, choices=Channel)
    is_invite = models.BooleanField(default=False)
    code_hash = models.CharField(max_length=64)
    # The code itself, encrypted, only until it was sent.
    sealed = models.BinaryField(null=True, blank=True)
    ip_hash = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    checks = models.PositiveSmallIntegerField(default=0)
    # Used, replaced by a newer one, or checked five times.
    closed_at = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    carrier_sid = models.CharField(max_length=40, blank=True)
    # R01..R15 when the carrier refused or could not deliver it: shown on the page that waits for the code.
    failure_reason = models.CharField(max_length=3, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(checks__lte=5), name="code_checked_five_times_at_most"),
            models.UniqueConstraint(fields=["number"], condition=Q(closed_at=None), name="code_one_open_per_number"),
        ]
        indexes = [
            models.Index(fields=["number_hash", "created_at"], name="code_by_number"),
            models.Index(fields=["account", "created_at"], name="code_by_account"),
            models.Index(fields=["ip_hash", "created_at"], name="code_by_ip"),
            models.Index(fields=["created_at"], condition=Q(claimed_at=None, closed_at=None), name="code_waiting"),
        ]

    def __str__(self) -> str:
        return f"verification code {self.pk}"
