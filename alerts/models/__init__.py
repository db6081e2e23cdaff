"""The rows of alerts: what to tell whom, every try, and everything the carrier said."""

from alerts.models.alert import Alert, IdempotencyKey
from alerts.models.attempt import Attempt
from alerts.models.events import CarrierCall, CarrierEvent

__all__ = ["Alert", "Attempt", "CarrierCall", "CarrierEvent", "IdempotencyKey"]
