"""What is offered where, and what it costs: rows that staff edit, loaded from a CSV that has every country."""

from django.db import models
from django.db.models import Q


class Country(models.Model):
    """A country or territory by its ISO code. `is_offered=False`: staff switched it off (`country_not_offered`)."""

    code = models.CharField(max_length=2, primary_key=True)
    is_offered = models.BooleanField(default=True)

    class Meta:
        verbose_name_plural = "countries"

    def __str__(self) -> str:
        return self.code


class Rate(models.Model):
    """One channel in one country. Prices are whole US cents; the reduced price is for a call nobody picks up."""

    class Channel(models.TextChoices):
        WHATSAPP = "whatsapp"
        SMS = "sms"
        CALL = "call"

    class Status(models.TextChoices):
        AVAILABLE = "available"
        COMING_SOON = "coming_soon"
        UNAVAILABLE = "unavailable"

    class Sender(models.TextChoices):
        US_CA = "us_ca"
        NUMERIC = "numeric"
        ALPHANUMERIC = "alphanumeric"

    country = models.ForeignKey(Country, on_delete=models.CASCADE, related_name="rates")
    channel = models.CharField(max_length=10, choices=Channel)
    status = models.CharField(max_length=12, choices=Status)
    price_cents = models.PositiveIntegerField(default=0)
    reduced_cents = models.PositiveIntegerField(default=0)
    # How an SMS sender shows there (behaviour, Numbers); blank for other channels.
    sender = models.CharField(max_length=12, choices=Sender, blank=True)
    # One delivered setup test on this channel is demanded before it can be used (`test_alert_pending`).
    needs_test = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["country", "channel"], name="rate_once_per_country_and_channel"),
            models.CheckConstraint(
                condition=Q(reduced_cents__lte=models.F("price_cents")), name="rate_reduced_is_less"
            ),
            models.CheckConstraint(
                condition=(Q(channel="sms") & ~Q(sender="")) | (~Q(channel="sms") & Q(sender="")),
                name="rate_sms_names_its_sender",
            ),
        ]

    def __str__(self) -> str:
        return f"rate {self.country_id} {self.channel}"
