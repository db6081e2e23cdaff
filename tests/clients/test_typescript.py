"""The official TypeScript clients, both generations, from registration to an acknowledged alert."""

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Connection
from alerts.models import Alert
from mcp_gateway.contract import TOOLS
from mcp_gateway.models import McpSession
from tests.browser.conftest import wait_for
from tests.clients.conftest import DOCUMENT_URL, Site
from tests.conformance.node import FOLDER, SUITE, environment, node

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not SUITE.exists(), reason="the clients are not installed: make conformance-tools"),
]


def pick_up(site: Site) -> None:
    """The owner answers the first call and presses 1."""
    wait_for(lambda: [call for call in site.phone.calls() if call.status == "ringing"])
    site.phone.answer()
    wait_for(lambda: site.phone.press("1"))


def walk(site: Site, script: str, *arguments: str) -> dict[str, Any]:
    """Run a script to its end; what it said last."""
    command: list[str | Path] = [node(), FOLDER / script, site.endpoint, *arguments]
    with subprocess.Popen(
        command,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        assert run.stderr is not None
        limit = threading.Timer(90, run.kill)
        limit.start()
        said: dict[str, Any] = {}
        for line in run.stdout:
            said = json.loads(line)
            if "authorize" in said:
                run.stdin.write(json.dumps({"location": site.approve(said["authorize"])}) + "\n")
                run.stdin.flush()
            elif "started" in said:
                pick_up(site)
        limit.cancel()
        problem = run.stderr.read()
    assert run.returncode == 0, problem[-3000:]
    return said


@pytest.mark.parametrize(
    ("script", "document", "mode", "protocol"),
    [
        ("typescript_1.mjs", False, "", "2025-11-25"),
        ("typescript_1.mjs", True, "", "2025-11-25"),
        ("typescript_2.mjs", False, "auto", "2026-07-28"),
        ("typescript_2.mjs", True, "auto", "2026-07-28"),
        ("typescript_2.mjs", False, "legacy", "2025-11-25"),
    ],
)
def test_from_registration_to_an_acknowledged_alert(
    site: Site, script: str, document: bool, mode: str, protocol: str
) -> None:
    said = walk(site, script, DOCUMENT_URL if document else "", mode)
    alert = said["ended"]
    assert (alert["status"], alert["ack_via"], alert["outcome"]) == ("acknowledged", "dtmf", "acknowledged")
    assert (said["protocol"], said["hasSession"]) == (protocol, protocol != "2026-07-28")
    assert said["tools"] == list(TOOLS)
    assert said["refused"] == "ALERT_NOT_FOUND"
    assert said["rotated"] is True
    assert said["issuer"] == site.endpoint.removesuffix("/mcp")
    assert (said["clientId"] == DOCUMENT_URL) is document
    assert Alert.objects.get().status == "acknowledged"
    assert Connection.objects.count() == 1
    assert not McpSession.objects.exists()
