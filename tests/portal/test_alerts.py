"""The alert list and one alert's page: words, paging, live part, acknowledge, cancel."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from accounts.models import Account
from alerts.models import Alert, Attempt
from tests import world
from tests.portal.test_start import words_of

STAMP = "2026-10-03T19:00:00+00:00"


def listed(response: Any) -> list[tuple[str, str]]:
    """What the list shows: code and outcome."""
    return [(row.alert.code, row.outcome) for row in response.context["rows"]]


def test_without_alerts_the_list_says_what_to_do(browser: Client) -> None:
    page = browser.get(reverse("alerts")).content.decode()

    assert "No alerts yet" in page
    assert "/start/#test" in page


def test_the_list_shows_the_newest_first_and_filters(owner: Account, browser: Client) -> None:
    old = world.send(owner, "sms", now=world.NOW - timedelta(hours=2)).alert
    world.finish(old, settlement="released", status="failed")
    new = world.run(owner).alert

    assert listed(browser.get(reverse("alerts"))) == [(new.code, "Queued"), (old.code, "Failed")]
    assert listed(browser.get(reverse("alerts"), {"show": "open"})) == [(new.code, "Queued")]
    assert listed(browser.get(reverse("alerts"), {"show": "missed"})) == [(old.code, "Failed")]
    assert listed(browser.get(reverse("alerts"), {"show": "nonsense"})) == listed(browser.get(reverse("alerts")))


def test_a_filter_that_finds_nothing_leads_back_to_all(owner: Account, browser: Client) -> None:
    world.run(owner)

    page = browser.get(reverse("alerts"), {"show": "missed"}).content.decode()

    assert "No alert was missed." in page


def test_pages_neither_lose_nor_repeat_an_alert(owner: Account, browser: Client) -> None:
    first = world.send(owner, "sms").alert
    base = {field.attname: getattr(first, field.attname) for field in Alert._meta.concrete_fields}
    for number in range(59):
        Alert.objects.create(**base | {"id": None, "code": f"A-T{number:05d}", "ack_token": f"token-{number}"})

    seen: list[str] = []
    sizes = []
    query: dict[str, str] | None = {}
    while query is not None:
        response = browser.get(reverse("alerts"), query)
        codes = [code for code, _ in listed(response)]
        seen += codes
        sizes.append(len(codes))
        position = response.context["next_position"]
        query = {"before": position} if position else None

    assert sizes == [25, 25, 10]
    assert len(set(seen)) == len(seen) == 60


@pytest.mark.parametrize("before", ["x", "_", "2026-10-03_5", f"{STAMP}_-1", f"{STAMP}_9e9", f"{STAMP}_{2**63}"])
def test_a_broken_position_shows_the_first_page(owner: Account, browser: Client, before: str) -> None:
    code = world.run(owner).alert.code

    assert listed(browser.get(reverse("alerts"), {"before": before})) == [(code, "Queued")]


def test_a_list_of_many_takes_as_many_queries_as_one(
    owner: Account, browser: Client, django_assert_num_queries: Any
) -> None:
    for minute in range(5):
        world.send(owner, "sms", f"Message {minute}", now=world.NOW - timedelta(minutes=2 * minute))

    with django_assert_num_queries(5):  # session, login, account, alerts, attempts
        browser.get(reverse("alerts"))


def test_the_timeline_shows_every_attempt_with_its_reason_and_charge(owner: Account, browser: Client) -> None:
    alert = world.run(owner, message="Checkout <b>is</b> failing & more.").alert
    first, call, *_ = alert.attempts.order_by("seq")
    Attempt.objects.filter(pk=first.pk).update(
        status="failed",
        claimed_at=world.NOW,
        sent_at=world.NOW,
        failure_code="DELIVERY_FAILED",
        failure_reason="R04",
        held_at=world.NOW,
        settlement="released",
        settled_at=world.NOW,
        due_at=None,
    )
    Attempt.objects.filter(pk=call.pk).update(
        status="no_answer",
        claimed_at=world.NOW,
        sent_at=world.NOW,
        outcome="not_picked_up",
        charged_cents=5,
        held_at=world.NOW,
        settlement="reduced",
        settled_at=world.NOW,
        due_at=None,
    )
    Alert.objects.update(status="sent")

    response = browser.get(reverse("alert", args=[alert.code]))

    shown = response.context["shown"]
    assert [(a.what, a.status, a.tone, a.why, a.charged_cents) for a in shown.attempts] == [
        ("Message", "Failed", "bad", "This number isn't on WhatsApp.", 0),
        ("Call", "Not picked up", "bad", "", 5),
        ("Call", "Planned", "quiet", "", 0),
        ("Call", "Planned", "quiet", "", 0),
    ]
    assert shown.next_at == world.NOW + timedelta(minutes=1)
    page = response.content.decode()
    assert "Checkout is failing &amp; more." in page
    assert "$0.05" in page
    assert 'title="2026-10-03 19:01:00 UTC"' in page


def test_times_are_in_the_accounts_zone_until_the_browser_says_its_own(owner: Account, browser: Client) -> None:
    owner.timezone = "Europe/Berlin"
    owner.save()
    code = world.run(owner).alert.code

    page = browser.get(reverse("alert", args=[code])).content.decode()

    utc = 'datetime="2026-10-03T19:00:00Z" title="2026-10-03 19:00:00 UTC"'
    assert f'<time {utc} data-local="moment">3 Oct 2026, 21:00</time>' in page


def test_the_page_asks_again_only_while_the_alert_is_open(owner: Account, browser: Client) -> None:
    alert = world.run(owner).alert
    address = reverse("alert", args=[alert.code])

    live = browser.get(address, headers={"HX-Request": "true"}).content.decode()
    found = re.search(rf'hx-get="({address}\?seen=[0-9a-f]+)" hx-trigger="every 2s"', live)
    assert found is not None
    assert "<html" not in live
    assert browser.get(found[1], headers={"HX-Request": "true"}).status_code == 204

    browser.post(reverse("acknowledge", args=[alert.code]))

    ended = browser.get(found[1], headers={"HX-Request": "true"}).content.decode()
    assert "hx-" not in ended
    assert "On this page" in ended


def test_acknowledging_on_the_page_stops_what_is_planned(owner: Account, browser: Client) -> None:
    alert = world.run(owner).alert

    response = browser.post(reverse("acknowledge", args=[alert.code]), follow=True)

    alert.refresh_from_db()
    assert words_of(response) == ["Acknowledged. Nothing more is sent for this alert."]
    assert (alert.status, alert.ack_via) == ("acknowledged", "portal")
    assert set(alert.attempts.values_list("status", "failure_code")) == {("skipped", "ACKNOWLEDGED")}
    owner.refresh_from_db()
    assert owner.reserved_cents == 0


def test_acknowledging_after_the_deadline_is_only_noted(owner: Account, browser: Client) -> None:
    alert = world.run(owner).alert
    Attempt.objects.filter(alert=alert, seq=1).update(status="delivered", claimed_at=world.NOW)

    with time_machine.travel(alert.expires_at + timedelta(seconds=1), tick=False):
        response = browser.post(reverse("acknowledge", args=[alert.code]), follow=True)

    alert.refresh_from_db()
    assert words_of(response) == ["The alert had already ended. We noted that you saw it."]
    assert alert.acknowledged_at is None
    assert alert.late_ack_at == alert.expires_at + timedelta(seconds=1)


def test_an_alert_that_asks_for_nothing_can_not_be_acknowledged(owner: Account, browser: Client) -> None:
    alert = world.send(owner, "sms").alert

    page = browser.get(reverse("alert", args=[alert.code])).content.decode()
    response = browser.post(reverse("acknowledge", args=[alert.code]), follow=True)

    alert.refresh_from_db()
    assert ">Acknowledge<" not in page
    assert words_of(response) == ["This alert doesn't ask for an acknowledgement."]
    assert (alert.status, alert.acknowledged_at) == ("queued", None)


def test_cancelling_asks_first_and_gives_the_money_back(owner: Account, browser: Client) -> None:
    alert = world.run(owner).alert
    asked = browser.get(reverse("cancel-alert", args=[alert.code]))
    alert.refresh_from_db()
    assert "Cancel this alert?" in asked.content.decode()
    assert alert.status == "queued"

    response = browser.post(reverse("cancel-alert", args=[alert.code]), follow=True)

    alert.refresh_from_db()
    owner.refresh_from_db()
    assert words_of(response) == ["Cancelled. What was not sent yet will not be sent."]
    assert (alert.status, alert.cancelled_by) == ("cancelled", "owner")
    assert (owner.balance_cents, owner.reserved_cents) == (2400, 0)


def test_cancelling_what_has_ended_changes_nothing(owner: Account, browser: Client) -> None:
    alert = world.run(owner).alert
    browser.post(reverse("acknowledge", args=[alert.code]))

    response = browser.post(reverse("cancel-alert", args=[alert.code]), follow=True)

    alert.refresh_from_db()
    assert words_of(response)[-1] == "Nothing changed: the alert had already ended."
    assert alert.status == "acknowledged"


def test_a_code_is_found_in_any_case(owner: Account, browser: Client) -> None:
    code = world.run(owner).alert.code

    assert browser.get(reverse("alert", args=[code.lower()])).status_code == 200


def test_the_workflows_page_reads_as_saved(browser: Client) -> None:
    page = browser.get(reverse("workflows")).content.decode()

    assert "The user only needs to know. One message, no reply needed." in page
    assert "minute 30" in page
    assert "12 minutes" in page
