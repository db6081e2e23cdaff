"""The confirmations app."""

from django.apps import AppConfig


class ConfirmationsConfig(AppConfig):
    """Django's registration of the app."""

    name = "confirmations"
