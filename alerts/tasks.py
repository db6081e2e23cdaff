"""Celery's edge of alerts: nudges and the clock tick. They read the clock; the database is the queue."""

import logging

from celery import shared_task
from django.utils import timezone

from alerts import codes, delivery, outbox

logger = logging.getLogger(__name__)


@shared_task(name="alerts.send_attempt", ignore_result=True)
def send_attempt(attempt_id: int) -> None:
    """Do what is due for one attempt now. Lost, late or three times at once is all the same (cases, 10)."""
    try:
        delivery.send_attempt(attempt_id, timezone.now(), clock=timezone.now)
    except Exception as error:
        # Not raised: Celery would log the error's own words. The sweep comes back to the row.
        logger.error("attempt %s failed: %s", attempt_id, outbox.where(error))


@shared_task(name="alerts.send_code", ignore_result=True)
def send_code(code_id: int) -> None:
    """Send one verification code if it still waits."""
    try:
        codes.send(code_id, timezone.now(), clock=timezone.now)
    except Exception as error:
        logger.error("code %s failed: %s", code_id, outbox.where(error))


@shared_task(name="alerts.sweep", ignore_result=True)
def sweep() -> None:
    """Everything that time alone brings about; beat calls it every second."""
    outbox.sweep(timezone.now(), clock=timezone.now)
