"""What this installation calls itself where people read or hear it, from the settings."""

from django.conf import settings

from alerts.content import Wording


def in_use() -> Wording:
    """The wording of every text and call (behaviour, Accounts: self-hosted identity)."""
    return Wording(
        service_name=settings.SERVICE_NAME,
        service_by=settings.SERVICE_BY,
        spoken_address=settings.SPOKEN_ADDRESS,
        stop_email=settings.SUPPORT_EMAIL,
    )
