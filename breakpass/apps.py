"""The project as an app: its system checks, and the Celery application that nudges leave through."""

from django.apps import AppConfig


class BreakPassConfig(AppConfig):
    """Django's registration of the project itself."""

    name = "breakpass"

    def ready(self) -> None:
        """Configure Celery in every process that can nudge, and register the checks."""
        import breakpass.celery
        import breakpass.checks  # noqa: F401 - importing registers them
