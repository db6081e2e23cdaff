"""A call goes on while its person is removed, or its alert cancelled: what a key does then, and what is said."""

from datetime import timedelta
from typing import Any

import pytest

from accounts import people
from accounts.locking import locked
from accounts.models import Account, Number
from alerts import delivery, sending
from alerts.carriers.base import Report
from alerts.models import Alert
from tests.alerts.rows import NOON, Step, attempts_of, first_of, make_alert, money_of
from tests.carrier import FakeCarrier
from tests.signing import post_signed

pytestmark = pytest.mark.django_db
CALL_SID = f"CA{1:032x}"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The webhooks' clock stands a few seconds after noon."""
    monkeypatch.setattr("alerts.webhooks.timezone.now", lambda: NOON + timedelta(seconds=10))


@pytest.fixture
def alert(number: Number) -> Alert:
    """A call that was answered, another one to come; then the person is removed."""
    row = make_alert(number, [Step(0, "call"), Step(5, "call")], workflow_key="escalate", requires_ack=True)
    delivery.send_attempt(first_of(row).pk, NOON, carrier=FakeCarrier())
    delivery.record(str(first_of(row).ref), Report(source="voice", sid=CALL_SID, status="in-progress"), now=NOON)
    with locked(number.account_id) as account:
        people.remove(account, number.person, now=NOON)
    return row


def press(alert: Alert, key: str, part: str) -> Any:
    path = f"/webhooks/twilio/voice/{first_of(alert).ref}?part={part}&heard=1"
    return post_signed(path, {"CallSid": CALL_SID, "Digits": key})


def test_key_9_still_stops_everything(number: Number, alert: Alert) -> None:
    assert b"You will receive no more BreakPass alerts" in press(alert, "9", "stop").content
    number.holder.refresh_from_db()
    assert (number.holder.opted_out_via, number.holder.opted_out_at) == ("key_9", NOON + timedelta(seconds=10))
    alert.refresh_from_db()
    assert (alert.status, alert.failure_code) == ("failed", "RECIPIENT_OPTED_OUT")


def test_key_1_still_acknowledges(account: Account, alert: Alert) -> None:
    assert b"Acknowledged. Goodbye." in press(alert, "1", "message").content
    alert.refresh_from_db()
    assert (alert.status, alert.ack_via) == ("acknowledged", "dtmf")
    assert [one.status for one in attempts_of(alert)] == ["answered", "skipped"]
    assert money_of(account) == (988, 0)


def test_a_call_that_is_answered_only_now_says_nothing(alert: Alert) -> None:
    opened = post_signed(f"/webhooks/twilio/voice/{first_of(alert).ref}", {"CallSid": CALL_SID})
    assert b"<Say>" not in opened.content
    assert b"Checkout" not in opened.content


def test_key_1_after_a_cancel_acknowledges_nothing_and_says_nothing_of_it(number: Number) -> None:
    row = make_alert(number, [Step(0, "call")], workflow_key="escalate", requires_ack=True)
    delivery.send_attempt(first_of(row).pk, NOON, carrier=FakeCarrier())
    post_signed(f"/webhooks/twilio/voice/{first_of(row).ref}", {"CallSid": CALL_SID})
    with locked(number.account_id) as account:
        sending.cancel(account, row.code, by="agent", now=NOON)
    said = press(row, "1", "stop").content
    row.refresh_from_db()
    assert (row.status, row.acknowledged_at, row.late_ack_at) == ("cancelled", None, None)
    assert b"Goodbye." in said
    assert b"Acknowledged" not in said
