"""How an alert ends: once, with what is unsent skipped and released, and what is on its way left alone."""

from datetime import timedelta

import pytest

from accounts.locking import locked
from accounts.models import Account
from alerts import closing, delivery
from alerts.carriers.base import Report
from alerts.models import Alert
from tests.alerts.rows import (
    ESCALATE,
    NOON,
    attempts_of,
    first_of,
    make_alert,
    make_number,
    money_of,
)
from tests.carrier import FakeCarrier

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(seconds=30)


@pytest.fixture
def alert(account: Account) -> Alert:
    return make_alert(make_number(account), ESCALATE, workflow_key="escalate", requires_ack=True, deadline_min=12)


def cancel(alert: Alert) -> bool:
    with locked(alert.account_id) as account:
        return closing.close(account, alert, to="cancelled", now=LATER, cancelled_at=LATER, cancelled_by="agent")


def test_closing_skips_what_is_unsent_and_releases_it(account: Account, alert: Alert) -> None:
    assert money_of(account) == (1000, 17)
    assert cancel(alert) is True
    assert (alert.status, alert.ended_at, alert.cancelled_at, alert.cancelled_by) == (
        "cancelled",
        LATER,
        LATER,
        "agent",
    )
    rows = attempts_of(alert)
    assert [(one.status, one.failure_code, one.due_at) for one in rows] == [("skipped", "CANCELLED", None)] * 4
    assert [one.settlement for one in rows] == ["released", "released", "", ""]
    assert money_of(account) == (1000, 0)


def test_an_alert_ends_once(account: Account, alert: Alert) -> None:
    cancel(alert)
    stale = Alert.objects.get(pk=alert.pk)
    with locked(account.pk) as row:
        assert closing.close(row, stale, to="failed", now=LATER, failure_code="DELIVERY_FAILED") is False
    stale.refresh_from_db()
    assert (stale.status, stale.failure_code) == ("cancelled", "")


def test_what_is_on_its_way_may_finish_and_is_charged(account: Account, alert: Alert) -> None:
    call = attempts_of(alert)[1]
    delivery.send_attempt(call.pk, NOON, carrier=FakeCarrier())
    cancel(alert)
    assert [one.status for one in attempts_of(alert)] == ["skipped", "sending", "skipped", "skipped"]
    report = Report(source="callback", sid=f"CA{1:032x}", status="completed", sequence=3, duration_s=20)
    delivery.record(str(call.ref), report, now=LATER)
    alert.refresh_from_db()
    assert (alert.status, attempts_of(alert)[1].charged_cents) == ("cancelled", 12)
    assert money_of(account) == (988, 0)


def test_a_failure_on_its_way_after_the_end_starts_no_fallback(account: Account) -> None:
    alert = make_alert(
        make_number(account),
        ESCALATE,
        workflow_key="escalate",
        requires_ack=True,
        deadline_min=12,
        has_sms_fallback=True,
    )
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier())
    cancel(alert)
    report = Report(source="callback", sid=f"SM{1:032x}", status="failed", error_code=63024)
    delivery.record(str(first_of(alert).ref), report, now=LATER)
    assert [one.kind for one in attempts_of(alert)] == ["message", "call", "call", "call"]
    assert money_of(account) == (1000, 0)


def test_a_message_on_its_way_after_the_end_is_given_up_at_the_deadline(account: Account, alert: Alert) -> None:
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier())
    cancel(alert)
    delivery.send_attempt(first_of(alert).pk, alert.expires_at, carrier=FakeCarrier())
    attempt = first_of(alert)
    assert (attempt.status, attempt.failure_reason, attempt.due_at) == ("failed", "R14", None)
    assert money_of(account) == (1000, 0)
