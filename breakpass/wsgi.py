"""The WSGI application that granian serves."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import resolve

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "breakpass.settings")
application = get_wsgi_application()
# Django imports pages and tools at the first request: seconds that one agent, or Twilio, would have to wait in every
# new process.
resolve("/healthz")
