"""The sandbox as a process: from the product's own variables, and when a port is taken."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest
from django.conf import settings

from sandbox import Config
from sandbox.__main__ import read_arguments

ENV = {
    "TWILIO_ACCOUNT_SID": "AC" + "ab" * 16,
    "TWILIO_AUTH_TOKEN": "process-token",
    "TWILIO_WHATSAPP_FROM": "whatsapp:+12025550188",
    "TWILIO_CONTENT_SID_ALERT_ACK": "HX" + "cd" * 16,
}


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        yield sock.getsockname()[1]


def _command(port: int, smtp_port: int) -> list[str]:
    app = "http://127.0.0.1:8000"
    return [sys.executable, "-m", "sandbox", "--port", str(port), "--smtp-port", str(smtp_port), "--app-url", app]


def test_settings_are_the_products_own_variables() -> None:
    config = Config.from_environment(ENV, app_url="http://127.0.0.1:8000/")
    assert (config.account_sid, config.auth_token) == (ENV["TWILIO_ACCOUNT_SID"], "process-token")
    assert (config.whatsapp_from, config.sms_from) == ("+12025550188", Config().sms_from)
    assert config.template_alert_ack == ENV["TWILIO_CONTENT_SID_ALERT_ACK"]
    assert config.inbound_url == "http://127.0.0.1:8000/webhooks/twilio/inbound"
    env = config.environment("http://127.0.0.1:8001")
    assert env["TWILIO_API_URL"] == env["TWILIO_CONTENT_API_URL"] == "http://127.0.0.1:8001"
    assert env["TWILIO_WHATSAPP_FROM"] == "+12025550188"
    assert Config.from_environment(env, app_url="x").account_sid == config.account_sid


def test_ports_come_from_the_command_line_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_PORT", "8011")
    monkeypatch.setenv("SANDBOX_SMTP_PORT", "1099")
    assert (read_arguments([]).port, read_arguments([]).smtp_port) == (8011, 1099)
    assert read_arguments(["--port", "8012"]).port == 8012
    with pytest.raises(SystemExit):
        read_arguments(["--port", "seventy"])


@pytest.mark.parametrize("which", ["http", "smtp"])
def test_a_taken_port_is_said_in_a_sentence(taken: int, which: str) -> None:
    ports = (taken, 0) if which == "http" else (0, taken)
    ended = subprocess.run(
        _command(*ports), cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=20, check=False
    )
    assert ended.returncode == 1
    assert f"cannot listen on port {ports[0]} (phones) and {ports[1]} (mail)" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_it_serves_until_it_is_asked_to_stop_and_logs_no_number(taken: int) -> None:
    process = subprocess.Popen(
        _command(0, 0),
        cwd=settings.BASE_DIR,
        env=os.environ | ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[1].rstrip("/")
        auth = (ENV["TWILIO_ACCOUNT_SID"], ENV["TWILIO_AUTH_TOKEN"])
        base = f"{url}/2010-04-01/Accounts/{auth[0]}"
        form = {"To": "+12025550101", "From": Config().sms_from, "Body": "Hello from outside"}
        # Nobody listens there.
        form["StatusCallback"] = "http://127.0.0.1:9/status"
        assert httpx.post(f"{base}/Messages.json", data=form, auth=auth, trust_env=False).status_code == 201
        query = {"To": "+12025550101"}
        assert httpx.get(f"{base}/Messages.json", params=query, auth=auth, trust_env=False).json()["messages"]
        assert httpx.get(f"{url}/phone/+12025550101", trust_env=False).status_code == 200
        time.sleep(0.6)
        process.terminate()
        out, errors = process.communicate(timeout=10)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "2025550101" not in out + errors
    assert "Hello" not in out + errors
