"""The alerts app."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Django's registration of the app."""

    name = "alerts"
