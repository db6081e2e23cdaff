"""A worker killed with SIGKILL at its two worst moments: one message, the right state, no hold left behind."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Account, LedgerEntry
from alerts import outbox
from alerts.carriers.twilio import from_settings
from alerts.models import Alert
from tests.alerts.rows import first_of, make_account, make_alert, make_number, make_rates, money_of
from tests.conftest import SENDERS
from tests.signing import post_signed

pytestmark = [pytest.mark.drill, pytest.mark.django_db(transaction=True)]
SID = f"SM{1:032x}"
# The worker: Django, the product's own code, and a place to stop at.
WORKER = """
import sys, time, django
django.setup()
from django.utils import timezone
from alerts import delivery

def stop(*args, **kwargs):
    print("claimed", flush=True)
    time.sleep(60)

if sys.argv[2] == "after-claim":
    delivery.send = stop
delivery.send_attempt(int(sys.argv[1]), timezone.now(), clock=timezone.now)
print("answered", flush=True)
"""


@dataclass
class Twilio:
    """Takes messages, lists them, and keeps the answer to a create back until the drill is over."""

    url: str = ""
    taken: list[dict[str, Any]] = field(default_factory=list)
    has_taken: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def twilio(settings: Settings) -> Iterator[Twilio]:
    state = Twilio()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked = {name: values[0] for name, values in parse_qs(body).items()}
            created = format_datetime(datetime.now(UTC))
            state.taken.append(
                {"sid": SID, "status": "queued", "to": asked["To"], "body": asked["Body"], "date_created": created}
            )
            state.has_taken.set()
            state.may_answer.wait(timeout=60)

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            one = next((taken for taken in state.taken if path.endswith(f"{taken['sid']}.json")), None)
            payload = json.dumps(one or {"messages": state.taken, "page": 0}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    state.url = settings.TWILIO_API_URL = f"http://127.0.0.1:{server.server_address[1]}"
    yield state
    state.may_answer.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def account() -> Account:
    make_rates()
    return make_account()


@pytest.fixture
def alert(account: Account) -> Alert:
    return make_alert(make_number(account), created_at=timezone.now())


def start_worker(alert: Alert, mode: str, twilio: Twilio) -> "subprocess.Popen[str]":
    """A process of its own that sends the alert's attempt, on this test's database."""
    # The very server that this run is on, in whatever form its address has; only the database is the test's own.
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + connection.settings_dict["NAME"]).geturl()
    environment = {
        **os.environ,
        **SENDERS,
        "DJANGO_SETTINGS_MODULE": "breakpass.settings",
        "DATABASE_URL": url,
        "TWILIO_API_URL": twilio.url,
        "CARRIER_TIMEOUT_S": "60",
    }
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(first_of(alert).pk), mode],
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def kill(worker: "subprocess.Popen[str]") -> None:
    """No goodbye, no cleaning up."""
    worker.send_signal(signal.SIGKILL)
    assert worker.wait(timeout=20) == -signal.SIGKILL
    assert worker.stdout is not None
    worker.stdout.close()


def sweep_for(minutes: int, since: datetime) -> None:
    """The clock goes on, with a sweep every five seconds, by workers that know nothing of the dead one."""
    for seconds in range(0, minutes * 60 + 1, 5):
        report = outbox.sweep(since + timedelta(seconds=seconds), carrier=from_settings())
        assert report.failed == 0


def no_hold_is_open() -> bool:
    return not LedgerEntry.objects.filter(kind="hold", settlement=None).exists()


def test_case_12_killed_right_after_the_claim_nothing_is_sent_and_nothing_is_kept(
    account: Account, alert: Alert, twilio: Twilio
) -> None:
    worker = start_worker(alert, "after-claim", twilio)
    assert worker.stdout is not None
    assert worker.stdout.readline().strip() == "claimed"
    assert first_of(alert).status == "sending"
    kill(worker)
    sweep_for(3, timezone.now())
    attempt = first_of(alert)
    alert.refresh_from_db()
    assert twilio.taken == []
    assert (attempt.status, attempt.failure_code, attempt.failure_reason) == ("failed", "PROVIDER_ERROR", "R13")
    assert (alert.status, alert.failure_reason) == ("failed", "R13")
    assert money_of(account) == (1000, 0)
    assert no_hold_is_open()


def test_case_12_killed_right_after_the_post_its_message_is_adopted_and_charged_once(
    account: Account, alert: Alert, twilio: Twilio
) -> None:
    worker = start_worker(alert, "after-post", twilio)
    assert twilio.has_taken.wait(timeout=30)
    assert (first_of(alert).status, first_of(alert).carrier_sid) == ("sending", "")
    kill(worker)
    sweep_for(1, timezone.now() + timedelta(seconds=30))
    assert (first_of(alert).status, first_of(alert).carrier_sid) == ("sending", SID)
    twilio.taken[0]["status"] = "delivered"
    sweep_for(3, timezone.now() + timedelta(seconds=90))
    alert.refresh_from_db()
    assert len(twilio.taken) == 1
    assert (first_of(alert).status, alert.status) == ("delivered", "delivered")
    assert money_of(account) == (993, 0)
    assert no_hold_is_open()


def test_case_12_killed_right_after_the_post_its_report_is_enough(
    account: Account, alert: Alert, twilio: Twilio
) -> None:
    worker = start_worker(alert, "after-post", twilio)
    assert twilio.has_taken.wait(timeout=30)
    kill(worker)
    path = f"/webhooks/twilio/status/{first_of(alert).ref}"
    assert post_signed(path, {"MessageSid": SID, "MessageStatus": "delivered"}).status_code == 204
    sweep_for(3, timezone.now())
    alert.refresh_from_db()
    assert len(twilio.taken) == 1
    assert (first_of(alert).status, first_of(alert).carrier_sid, alert.status) == ("delivered", SID, "delivered")
    assert money_of(account) == (993, 0)
    assert no_hold_is_open()
