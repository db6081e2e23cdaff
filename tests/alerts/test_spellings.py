"""Mobile numbers that got or lost a digit: WhatsApp writes some of them in the old way, and means the same phone."""

from datetime import timedelta

import pytest

from accounts.e164 import spellings
from accounts.models import Account, Holder, Number
from alerts import acks
from alerts.models import Alert
from tests.alerts.rows import ACKNOWLEDGE, NOON, make_alert, make_number, make_rates

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(minutes=1)
PAIRS = [
    ("+525512345678", "+5215512345678"),
    ("+5491123456789", "+541123456789"),
    ("+5531988776655", "+553188776655"),
]
pairs = pytest.mark.parametrize(("today", "once"), PAIRS, ids=["Mexico", "Argentina", "Brazil"])


def alert_to(account: Account, e164: str) -> Alert:
    make_rates(country={"+52": "MX", "+54": "AR", "+55": "BR"}[e164[:3]], sender="numeric")
    number = make_number(account, e164)
    return make_alert(number, ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40)


@pairs
def test_a_number_is_known_by_both_its_spellings(today: str, once: str) -> None:
    assert spellings(today) == spellings(once) == {today, once}


@pytest.mark.parametrize("e164", ["+12025550143", "+447700900123", "+551132345678", "+52551234567", "+5411234567890"])
def test_other_numbers_are_spelled_in_one_way(e164: str) -> None:
    assert spellings(e164) == {e164}


@pairs
def test_the_button_acknowledges_in_either_spelling(account: Account, today: str, once: str) -> None:
    alert = alert_to(account, today)
    assert acks.press_button(alert.ack_token, once, now=LATER) == "acknowledged"
    alert.refresh_from_db()
    assert (alert.status, alert.ack_via) == ("acknowledged", "whatsapp_button")


@pairs
def test_a_stop_in_either_spelling_stops_the_number_that_we_send_to(account: Account, today: str, once: str) -> None:
    alert = alert_to(account, today)
    assert acks.stop_number(once, via="whatsapp", now=LATER) is True
    alert.refresh_from_db()
    assert (alert.status, alert.failure_code) == ("failed", "RECIPIENT_OPTED_OUT")
    assert Holder.objects.get().opted_out_at == LATER
    assert acks.stop_number(today, via="sms", now=LATER + timedelta(seconds=1)) is False


def test_a_neighbour_s_number_acknowledges_nothing(account: Account, number: Number) -> None:
    alert = alert_to(account, "+525512345678")
    assert acks.press_button(alert.ack_token, "+5215512345679", now=LATER) == "foreign"
    alert.refresh_from_db()
    assert alert.acknowledged_at is None
