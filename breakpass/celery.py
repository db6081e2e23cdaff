"""The Celery application: carries nudges and the clock tick; the database is the queue."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "breakpass.settings")
app = Celery("breakpass")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
