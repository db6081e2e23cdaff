"""What a web process has done before it takes its first request."""

import subprocess
import sys

from django.conf import settings

LOOK = "import sys; before = set(sys.modules); import breakpass.wsgi; print(*(set(sys.modules) - before))"


def test_pages_and_tools_are_imported_before_the_first_request() -> None:
    imported = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=settings.BASE_DIR, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert {"breakpass.urls", "mcp_gateway.view", "alerts.webhooks", "accounts.views.start"} <= set(imported)
