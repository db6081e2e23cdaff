"""What every page's template knows about this installation."""

from django.conf import settings
from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, str]:
    """The service's name, where its people are reached and, in development, where the sandbox's phones are."""
    return {
        "service_name": settings.SERVICE_NAME,
        "support_email": settings.SUPPORT_EMAIL,
        "sandbox_url": settings.SANDBOX_URL,
    }
