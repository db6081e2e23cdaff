"""Acknowledging once, whatever races it, and stopping everything (cases, 15 and 16)."""

from datetime import timedelta

import pytest

from accounts.models import Account, Holder, Letter, Number, VerificationCode
from alerts import acks, delivery
from alerts.carriers.base import Refused, Report
from alerts.models import Alert
from alerts.stopwords import is_stop
from tests.alerts.rows import (
    ACKNOWLEDGE,
    NOON,
    OWNER,
    Step,
    attempts_of,
    first_of,
    make_account,
    make_alert,
    make_number,
    money_of,
)
from tests.carrier import FakeCarrier

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(minutes=1)


@pytest.fixture
def alert(number: Number) -> Alert:
    """Its first message delivered, two more to come."""
    row = make_alert(number, ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40)
    delivery.send_attempt(first_of(row).pk, NOON, carrier=FakeCarrier())
    delivery.record(str(first_of(row).ref), Report(source="callback", sid=f"SM{1:032x}", status="delivered"), now=NOON)
    row.refresh_from_db()
    return row


def test_an_acknowledgement_stops_the_rest_and_releases_it(account: Account, alert: Alert) -> None:
    assert acks.acknowledge(alert, via="portal", now=LATER) == "acknowledged"
    assert (alert.status, alert.acknowledged_at, alert.ack_via, alert.ended_at) == (
        "acknowledged",
        LATER,
        "portal",
        LATER,
    )
    assert [(one.status, one.failure_code) for one in attempts_of(alert)[1:]] == [("skipped", "ACKNOWLEDGED")] * 2
    assert money_of(account) == (995, 0)


def test_the_first_acknowledgement_stays(alert: Alert) -> None:
    acks.acknowledge(alert, via="portal", now=LATER)
    assert acks.acknowledge(alert, via="dtmf", now=LATER + timedelta(seconds=1)) == "already"
    alert.refresh_from_db()
    assert (alert.acknowledged_at, alert.ack_via) == (LATER, "portal")


def test_an_alert_that_asks_for_nothing_ignores_it(number: Number) -> None:
    row = make_alert(number)
    assert acks.acknowledge(row, via="sms_link", now=LATER) == "ignored"
    assert (row.status, row.acknowledged_at) == ("queued", None)


def test_a_cancelled_alert_ignores_it(alert: Alert) -> None:
    Alert.objects.filter(pk=alert.pk).update(status="cancelled", cancelled_at=NOON, ended_at=NOON)
    assert acks.acknowledge(alert, via="sms_link", now=LATER) == "ignored"
    assert (alert.status, alert.late_ack_at) == ("cancelled", None)


def test_the_deadline_decides_even_before_the_sweep(alert: Alert) -> None:
    assert acks.acknowledge(alert, via="sms_link", now=alert.expires_at) == "late"
    assert (alert.status, alert.acknowledged_at, alert.late_ack_at) == ("expired", None, alert.expires_at)
    assert acks.acknowledge(alert, via="portal", now=alert.expires_at + timedelta(hours=1)) == "late"
    alert.refresh_from_db()
    assert alert.late_ack_at == alert.expires_at


def test_a_token_names_its_alert_and_nothing_else(alert: Alert) -> None:
    assert acks.find_by_token(alert.ack_token) == alert
    assert acks.find_by_token("") is None
    assert acks.find_by_token("unknown") is None


def test_case_15_only_the_alert_named_by_the_button_is_acknowledged(number: Number, alert: Alert) -> None:
    newer = make_alert(number, ACKNOWLEDGE, workflow_key="acknowledge", requires_ack=True, deadline_min=40)
    assert acks.press_button(alert.ack_token, OWNER, now=LATER) == "acknowledged"
    alert.refresh_from_db()
    newer.refresh_from_db()
    assert (alert.status, alert.ack_via, newer.status) == ("acknowledged", "whatsapp_button", "queued")


def test_case_15_a_button_pressed_from_another_number_does_nothing(alert: Alert) -> None:
    assert acks.press_button(alert.ack_token, "+12025550199", now=LATER) == "foreign"
    assert acks.press_button("unknown", OWNER, now=LATER) == "foreign"
    alert.refresh_from_db()
    assert (alert.status, alert.acknowledged_at) == ("delivered", None)


def test_case_15_a_button_after_expiry_is_only_noted(alert: Alert) -> None:
    delivery.expire(alert.pk, alert.expires_at)
    assert acks.press_button(alert.ack_token, OWNER, now=alert.expires_at + timedelta(minutes=1)) == "late"
    alert.refresh_from_db()
    assert (alert.status, alert.late_ack_at) == ("expired", alert.expires_at + timedelta(minutes=1))


def test_case_16_an_opt_out_ends_everything_on_every_account(account: Account, number: Number, alert: Alert) -> None:
    other = make_account()
    elsewhere = make_alert(make_number(other, name="Bo"), [Step(0, "sms"), Step(5, "sms")], workflow_key="inform")
    bystander = make_alert(make_number(account, "+12025550177", name="Cy"))
    acks.opt_out(number.holder_id, via="sms", now=LATER)
    for row in (alert, elsewhere):
        row.refresh_from_db()
        assert (row.status, row.failure_code, row.failure_reason) == ("failed", "RECIPIENT_OPTED_OUT", "R05")
    assert [(one.status, one.failure_code) for one in attempts_of(elsewhere)] == [
        ("skipped", "RECIPIENT_OPTED_OUT")
    ] * 2
    bystander.refresh_from_db()
    assert bystander.status == "queued"
    assert money_of(other) == (1000, 0)
    assert money_of(account) == (995, 7)
    assert Holder.objects.get(pk=number.holder_id).opted_out_at == LATER


def test_each_owner_is_told_that_the_person_stopped_and_not_what_they_wrote(account: Account, number: Number) -> None:
    other = make_account()
    make_number(other, name="Bo")
    acks.opt_out(number.holder_id, via="sms", now=LATER)
    acks.opt_out(number.holder_id, via="sms", now=LATER + timedelta(hours=1))
    letters = list(Letter.objects.order_by("account_id").values_list("account_id", "subject"))
    assert letters == [(account.pk, "Ada stopped BreakPass alerts"), (other.pk, "Bo stopped BreakPass alerts")]
    body = Letter.objects.filter(account=other).get().body
    assert "STOP" not in body
    assert OWNER not in body


def test_an_opt_out_voids_the_codes_on_their_way(account: Account) -> None:
    number = make_number(account, "+12025550188", is_verified=False)
    VerificationCode.objects.create(
        number=number,
        number_hash=number.holder.number_hash,
        account=account,
        channel="sms",
        code_hash="x",
        sealed=b"x",
        created_at=NOON,
        expires_at=NOON + timedelta(minutes=10),
    )
    acks.opt_out(number.holder_id, via="sms", now=LATER)
    code = VerificationCode.objects.get()
    assert (code.closed_at, code.sealed) == (LATER, None)


def test_a_number_verified_again_can_be_stopped_again(account: Account, number: Number) -> None:
    acks.opt_out(number.holder_id, via="sms", now=NOON)
    Number.objects.update(verified_at=NOON + timedelta(hours=1))
    acks.opt_out(number.holder_id, via="sms", now=NOON + timedelta(hours=2))
    number.refresh_from_db()
    assert number.is_opted_out() is True
    assert Letter.objects.count() == 2


def test_a_number_stopped_at_the_carrier_is_stopped_everywhere_by_its_answer(account: Account, number: Number) -> None:
    other = make_alert(make_number(make_account(), name="Bo"))
    mine = make_alert(number)
    delivery.send_attempt(first_of(mine).pk, NOON, carrier=FakeCarrier(answers=[Refused(21610, 400)]))
    for row in (mine, other):
        row.refresh_from_db()
        assert (row.status, row.failure_code) == ("failed", "RECIPIENT_OPTED_OUT")
    assert first_of(mine).failure_reason == "R05"
    assert Holder.objects.get().opted_out_via == "carrier"


def test_a_number_stopped_at_the_carrier_is_stopped_everywhere_by_its_report(account: Account, number: Number) -> None:
    mine = make_alert(number, [Step(0, "sms"), Step(5, "sms")], workflow_key="inform")
    delivery.send_attempt(first_of(mine).pk, NOON, carrier=FakeCarrier())
    report = Report(source="callback", sid=f"SM{1:032x}", status="failed", error_code=21610)
    delivery.record(str(first_of(mine).ref), report, now=LATER)
    mine.refresh_from_db()
    assert (mine.status, Holder.objects.get().opted_out_at) == ("failed", LATER)
    assert [one.failure_code for one in attempts_of(mine)] == ["DELIVERY_FAILED", "RECIPIENT_OPTED_OUT"]
    assert money_of(account) == (1000, 0)


@pytest.mark.parametrize(
    "body",
    [
        *("stop", " STOP\n", "Stop.", "OPT OUT", "REVOKE", "Arrêt", "cancel", "unsubscribe", "Stop. Thank you"),
        *("«Stop!»", "opt-out", "STOPALL", "End", "quit", "parar", "BAJA", "stopp", "Optout", "stop - please"),
    ],
)
def test_case_16_these_stop(body: str) -> None:
    assert is_stop(body) is True


@pytest.mark.parametrize(
    "body",
    ["don't stop", "stopping by", "stop it", "stop-gap", "stop's", "end of shift", "START", "", "...", "Acknowledge"],
)
def test_case_16_these_do_not(body: str) -> None:
    assert is_stop(body) is False
