"""`ENVIRONMENT=production` and nothing else: every command says what is missing, and does nothing."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

OWNER = ("create_owner", "sam@example.com", "--name", "Sam", "--number", "+12025550143", "--paid")


@pytest.mark.parametrize("command", [("check",), OWNER, ("checkledger",)])
def test_a_command_without_any_settings_lists_them_without_a_traceback(command: tuple[str, ...]) -> None:
    env = {"PATH": os.environ["PATH"], "ENVIRONMENT": "production"}
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=settings.BASE_DIR,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert "SECRET_KEY is missing or too short." in done.stderr
    assert "DATABASE_URL is not set." in done.stderr
