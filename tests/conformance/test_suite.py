"""The official MCP conformance suite against a real server: what applies to a tools-only, JSON-only server passes.

Expected failures are listed with their reasons in `expected/`; the suite fails when one of them passes, too.
"""

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.cache import cache

from accounts.models import Account
from mcp_gateway import auth
from mcp_gateway.models import Application
from tests.conformance import tools
from tests.conformance.node import FOLDER, SUITE, environment, node
from tests.factories import AccountFactory
from tests.live import point_settings_at
from tests.mcp_client import issue_token
from tests.robot import authorize

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
    pytest.mark.skipif(not SUITE.exists(), reason="the suite is not installed: make conformance-tools"),
]
AUTHORIZE = re.compile(r"https?://\S+/authorize\?\S+")


@pytest.fixture
def endpoint(live_server: Any, settings: Any) -> Iterator[str]:
    """The MCP endpoint of a site that real programs can reach."""
    cache.clear()
    yield point_settings_at(settings, live_server.url)
    cache.clear()


@pytest.fixture
def account(load_rates: None) -> Account:
    """A ready account."""
    return AccountFactory(number="+12025550143")


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25", "2025-06-18"])
def test_the_server_conforms(endpoint: str, account: Account, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    tools.install(monkeypatch)
    # The suite sends no token: it acts as a connected agent.
    bearer, authenticate = f"Bearer {issue_token(account)}", auth.authenticate
    monkeypatch.setattr(auth, "authenticate", lambda sent, now: authenticate(sent or bearer, now))
    run = subprocess.run(
        [
            node(), SUITE, "server", "--url", endpoint, "--suite", "all", "--spec-version", version,
            "--expected-failures", FOLDER / "expected" / f"{version}.yml",
        ],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    passed = [int(count) for count in re.findall(r"(\d+) passed", run.stdout)]
    assert sum(passed) > 0


def test_the_authorization_server_conforms(endpoint: str, account: Account, live_server: Any, tmp_path: Path) -> None:
    app = Application.objects.create(
        client_id="conformance",
        name="Conformance suite",
        client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris="http://127.0.0.1/callback",
    )
    email = account.members.get().user.email
    command = [
        node(), SUITE, "authorization", "--url", live_server.url, "--client-id", app.client_id,
        "--resource", endpoint, "--port", "3917", "--output-dir", tmp_path,
    ]  # fmt: skip
    said, visits = [], []
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            said.append(line)
            for url in AUTHORIZE.findall(line):
                visit = threading.Thread(target=visit_callback, args=(url, email))
                visit.start()
                visits.append(visit)
    for visit in visits:
        visit.join()
    assert run.returncode == 0, "".join(said)[-6000:]
    assert visits
    checks = [check for path in tmp_path.rglob("checks.json") for check in json.loads(path.read_text())]
    assert checks
    assert [check for check in checks if check["status"] == "FAILURE"] == []


def visit_callback(url: str, email: str) -> None:
    """Do what the printed address asks of the owner, then knock where the browser is sent."""
    httpx.get(authorize(url, email=email), timeout=10)
