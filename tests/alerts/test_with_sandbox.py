"""The delivery path through Twilio's own SDK, against the stand-in that speaks its API: nothing between is replaced."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from accounts.ledger import find_differences
from accounts.models import Account, Holder
from alerts import outbox
from alerts.models import Alert, CarrierEvent
from sandbox import Config, Sandbox
from sandbox.webhooks import Overrides, Reply
from tests.alerts.rows import (
    ESCALATE,
    NOON,
    OWNER,
    Step,
    attempts_of,
    first_of,
    make_alert,
    make_number,
    money_of,
)

pytestmark = pytest.mark.django_db


class DjangoPoster:
    """Carries the sandbox's webhooks to Django's client, in the test's own thread and transaction."""

    def __init__(self) -> None:
        self.client = Client(enforce_csrf_checks=True)

    def __call__(
        self, method: str, url: str, params: Mapping[str, str], headers: Mapping[str, str], overrides: Overrides
    ) -> Reply:
        """One webhook."""
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        form = "application/x-www-form-urlencoded"
        response = self.client.generic(method, path, urlencode(params), content_type=form, headers=dict(headers))
        return Reply(response.status_code, response.headers.get("Content-Type", ""), response.content)


@dataclass
class World:
    """A sandbox whose clock is the only clock, and the product beside it, swept every second."""

    sandbox: Sandbox
    clock: time_machine.Traveller

    def run(self, seconds: int) -> None:
        """Let time pass for both."""
        for _ in range(seconds):
            self.clock.shift(timedelta(seconds=1))
            self.sandbox.advance(1.0)
            report = outbox.sweep(self.sandbox.clock.now(), clock=self.sandbox.clock.now)
            assert report.failed == 0


@pytest.fixture
def world(settings: Settings) -> Iterator[World]:
    cache.clear()
    config = Config(inbound_url=f"{settings.BASE_URL}/webhooks/twilio/inbound")
    with (
        time_machine.travel(NOON, tick=False) as clock,
        Sandbox(config, clock="manual", start_at=NOON, poster=DjangoPoster()) as sandbox,
    ):
        for name, value in sandbox.environment.items():
            if hasattr(settings, name):
                setattr(settings, name, value)
        yield World(sandbox, clock)
    cache.clear()


def fresh(alert: Alert) -> Alert:
    alert.refresh_from_db()
    return alert


def test_an_sms_is_sent_delivered_and_charged_once(world: World, account: Account) -> None:
    alert = make_alert(make_number(account))
    world.run(5)
    assert [message.body for message in world.sandbox.messages(OWNER, "sms")] == [
        "Checkout is failing.\n\nThis is an automated BreakPass alert. Reply STOP to opt out."
    ]
    assert (fresh(alert).status, first_of(alert).status) == ("delivered", "delivered")
    assert money_of(account) == (993, 0)


def test_escalate_is_acknowledged_by_key_1_in_the_first_call(world: World, account: Account) -> None:
    alert = make_alert(make_number(account), ESCALATE, workflow_key="escalate", requires_ack=True, deadline_min=12)
    phone = world.sandbox.phone(OWNER)
    world.run(4)
    assert [message.body for message in phone.messages("whatsapp")] == [
        "BreakPass alert from Checkout monitor: Checkout is failing. — sent by BreakPass."
    ]
    phone.answer()
    world.run(4)
    phone.press("1")
    world.run(2)
    assert (fresh(alert).status, alert.ack_via) == ("acknowledged", "dtmf")
    world.run(180)
    assert len(phone.calls()) == 1
    assert [one.status for one in attempts_of(alert)] == ["delivered", "answered", "skipped", "skipped"]
    assert money_of(account) == (1000 - 5 - 12, 0)
    assert find_differences() == []


def test_three_calls_nobody_picks_up_ring_at_minutes_0_1_and_2(world: World, account: Account) -> None:
    alert = make_alert(make_number(account), ESCALATE, workflow_key="escalate", requires_ack=True, deadline_min=12)
    world.run(13 * 60)
    rung_at: list[datetime] = [one.claimed_at for one in attempts_of(alert)[1:] if one.claimed_at is not None]
    assert [int((at - NOON).total_seconds()) // 60 for at in rung_at] == [0, 1, 2]
    assert [(one.status, one.charged_cents) for one in attempts_of(alert)[1:]] == [("no_answer", 4)] * 3
    assert (fresh(alert).status, money_of(account)) == ("expired", (1000 - 5 - 12, 0))


def test_the_whatsapp_button_acknowledges(world: World, account: Account) -> None:
    alert = make_alert(make_number(account), [Step(0, "whatsapp")], requires_ack=True, deadline_min=60)
    world.run(3)
    world.sandbox.phone(OWNER).press_button()
    world.run(1)
    assert (fresh(alert).status, alert.ack_via) == ("acknowledged", "whatsapp_button")


def test_a_number_without_whatsapp_gets_the_one_sms(world: World, account: Account) -> None:
    world.sandbox.phone(OWNER).set_behaviour(whatsapp="no")
    alert = make_alert(
        make_number(account), [Step(0, "whatsapp")], workflow_key="inform", has_sms_fallback=True, max_attempts=2
    )
    world.run(10)
    assert [(one.kind, one.channel, one.status) for one in attempts_of(alert)] == [
        ("message", "whatsapp", "failed"),
        ("fallback", "sms", "delivered"),
    ]
    assert (fresh(alert).status, Holder.objects.get().whatsapp, money_of(account)) == ("delivered", "no", (993, 0))


def test_a_typed_stop_ends_what_runs(world: World, account: Account) -> None:
    alert = make_alert(
        make_number(account), [Step(0, "sms"), Step(5, "sms")], workflow_key="acknowledge", requires_ack=True
    )
    world.run(3)
    world.sandbox.phone(OWNER).reply("Stop.")
    world.run(360)
    assert (fresh(alert).status, alert.failure_code) == ("failed", "RECIPIENT_OPTED_OUT")
    assert len(world.sandbox.messages(OWNER, "sms", contains="Checkout")) == 1
    assert CarrierEvent.objects.filter(kind="inbound_stop").count() == 1


@pytest.mark.parametrize(
    ("faults", "status", "messages", "balance"),
    [
        (["lose"], "delivered", 1, 993),
        (["drop_answer"], "delivered", 1, 993),
        (["drop_answer", "lose"], "delivered", 1, 993),
        (["error_after_accepting", "lose"], "delivered", 1, 993),
        (["repeat", "reorder"], "delivered", 1, 993),
        (["delay"], "delivered", 1, 993),
        (["throttle", "throttle"], "delivered", 1, 993),
        (["refuse_connection"], "failed", 0, 1000),
        (["server_error"], "failed", 0, 1000),
        (["no_receipt"], "delivered_unconfirmed", 1, 993),
        (["extra_params", "extra_status"], "delivered", 1, 993),
        (["bad_signature"], "delivered", 1, 993),
        (["other_account"], "delivered", 1, 993),
    ],
)
def test_whatever_goes_wrong_at_most_one_message_goes_out_and_no_hold_is_left(
    world: World, account: Account, faults: list[str], status: str, messages: int, balance: int
) -> None:
    options: dict[str, dict[str, Any]] = {
        "delay": {"seconds": 20.0},
        "extra_params": {"params": {"New": "x"}},
        "extra_status": {"status": "foo"},
    }
    for fault in faults:
        world.sandbox.faults.add(fault, **options.get(fault, {}))
    alert = make_alert(make_number(account))
    world.run(150)
    if status == "delivered_unconfirmed":
        world.run(500)
    assert first_of(alert).status == status
    assert len(world.sandbox.messages(OWNER)) == messages
    assert money_of(account) == (balance, 0)
    assert find_differences() == []


def test_a_call_whose_callbacks_are_all_lost_is_charged_by_what_the_carrier_has(world: World, account: Account) -> None:
    world.sandbox.faults.add("lose")
    alert = make_alert(make_number(account), [Step(0, "call")])
    world.run(80)
    assert (first_of(alert).status, fresh(alert).failure_code) == ("no_answer", "NOT_ANSWERED")
    assert (Holder.objects.get().live_call, money_of(account)) == ("", (996, 0))
