"""A short memory of failures, and templates that are compared before they are used."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.core.cache import cache
from django.test import override_settings

from accounts.models import Account, Number
from alerts import breaker, delivery
from alerts.carriers import templates
from alerts.carriers.base import Refused, TemplateState, Unknown, Unreachable
from alerts.counts import Counts, read_counts
from alerts.models import CarrierCall
from alerts.rules import check_carrier
from breakpass.errors import Refusal
from tests.alerts.rows import (
    NOON,
    Step,
    attempts_of,
    first_of,
    make_alert,
    make_number,
    money_of,
)
from tests.carrier import BODY, FakeCarrier

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def clean_cache() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


# --- the breaker


def counts_at(number: Number, at: datetime) -> Counts:
    return read_counts(number.account, number.holder, now=at)


def test_five_failures_in_a_minute_and_no_success_open_it(number: Number) -> None:
    for second in range(4):
        breaker.note("sms", succeeded=False, now=NOON + second * SECOND)
    check_carrier(counts_at(number, NOON + 4 * SECOND))
    breaker.note("call", succeeded=False, now=NOON + 4 * SECOND)
    for second in (4, 59):
        with pytest.raises(Refusal) as caught:
            check_carrier(counts_at(number, NOON + second * SECOND))
        assert (caught.value.code, caught.value.retry_after_s) == ("PROVIDER_ERROR", 30)
    check_carrier(counts_at(number, NOON + 60 * SECOND))


def test_one_success_keeps_it_closed(number: Number) -> None:
    for second in range(9):
        breaker.note("sms", succeeded=second == 3, now=NOON + second * SECOND)
    check_carrier(counts_at(number, NOON + 9 * SECOND))


def test_old_calls_are_forgotten() -> None:
    breaker.note("sms", succeeded=False, now=NOON)
    breaker.note("sms", succeeded=False, now=NOON + timedelta(minutes=59))
    assert breaker.prune(NOON + timedelta(hours=1) + SECOND) == 1
    assert CarrierCall.objects.count() == 1


@pytest.mark.parametrize(
    ("problem", "works"),
    [(Refused(21211, 400), True), (Refused(20003, 401), False), (Unknown(), False), (Unreachable(), False)],
)
def test_a_worded_refusal_says_that_the_carrier_works(account: Account, problem: Exception, works: bool) -> None:
    alert = make_alert(make_number(account))
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=FakeCarrier(answers=[problem]))
    assert CarrierCall.objects.get().succeeded is works


# --- templates

ACK = TemplateState("approved", BODY, (("Acknowledge", "{{3}}"),))


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        (ACK, True),
        (replace(ACK, body="BreakPass: {{1}} says {{2}} to you."), True),
        (replace(ACK, buttons=(("Bestätigen", "{{3}}"),)), True),
        (replace(ACK, approval="paused"), False),
        (replace(ACK, approval="rejected"), False),
        (replace(ACK, body="BreakPass alert: {{2}} from {{1}}."), False),
        (replace(ACK, body="BreakPass alert from {{1}}."), False),
        (replace(ACK, body="Alert from {{1}}: {{2}}."), False),
        (replace(ACK, body=BODY + "{{3}}"), False),
        (replace(ACK, buttons=()), False),
        (replace(ACK, buttons=(("Acknowledge", "fixed"),)), False),
    ],
)
def test_a_template_fits_when_our_values_stand_where_we_mean_them(found: TemplateState, fits: bool) -> None:
    assert templates.fits(found, "alert_ack") is fits


def test_a_plain_alert_takes_no_button_with_a_payload() -> None:
    assert templates.fits(TemplateState("approved", BODY), "alert")
    assert not templates.fits(ACK, "alert")


def test_the_verdict_is_kept_and_read_without_the_wire() -> None:
    carrier = FakeCarrier()
    assert templates.known("alert") == "unknown"
    assert [templates.look("alert", carrier) for _ in range(3)] == ["fits"] * 3
    assert carrier.asked == ["template alert"]
    templates.check("alert")


def test_a_difference_refuses_until_it_is_looked_at_again() -> None:
    carrier = FakeCarrier()
    carrier.templates["alert"] = TemplateState("paused", BODY)
    assert templates.look("alert", carrier) == "differs"
    with pytest.raises(Refusal) as caught:
        templates.check("alert")
    assert caught.value.code == "TEMPLATE_MISMATCH"
    templates.check("alert_ack")


@pytest.mark.parametrize("problem", [Unreachable(), Unknown(), Refused(20404, 404)])
def test_a_template_that_cannot_be_read_stops_nothing(problem: Exception) -> None:
    carrier = FakeCarrier()
    carrier.templates["alert"] = problem
    assert templates.look("alert", carrier) == "unknown"
    assert templates.look("alert", carrier) == "unknown"
    assert carrier.asked == ["template alert"]
    templates.check("alert")


def test_a_cache_that_is_down_stops_nothing() -> None:
    down = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:9/0"}
    with override_settings(CACHES={"default": down}):
        assert templates.known("alert") == "unknown"
        assert templates.look("alert", FakeCarrier()) == "fits"


def test_a_changed_template_fails_the_attempt_unsent_and_lets_the_sms_go(account: Account) -> None:
    alert = make_alert(
        make_number(account), [Step(0, "whatsapp")], workflow_key="inform", has_sms_fallback=True, max_attempts=2
    )
    carrier = FakeCarrier()
    carrier.templates["alert"] = TemplateState("rejected", BODY)
    delivery.send_attempt(first_of(alert).pk, NOON, carrier=carrier)
    assert carrier.requests == []
    failed, fallback = attempts_of(alert)
    assert (failed.status, failed.failure_code, failed.failure_reason) == ("failed", "TEMPLATE_MISMATCH", "R10")
    assert (failed.flagged_at, fallback.kind, fallback.channel) == (NOON, "fallback", "sms")
    assert money_of(account) == (1000, 0)
