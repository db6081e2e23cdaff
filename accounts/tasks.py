"""Celery's way in: what accounts do in the background."""

from celery import shared_task
from django.utils import timezone

from accounts import letters


@shared_task(name=letters.SEND_MAIL)
def send_mail() -> None:
    """Send the letters that wait."""
    letters.send_waiting(timezone.now())
