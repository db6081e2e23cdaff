"""The workflows app."""

from django.apps import AppConfig


class WorkflowsConfig(AppConfig):
    """Django's registration of the app."""

    name = "workflows"
