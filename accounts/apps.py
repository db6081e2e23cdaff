"""The accounts app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Django's registration of the app."""

    name = "accounts"
