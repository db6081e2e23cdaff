"""The page behind a confirmation link: opening it changes nothing; its button acknowledges, once."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client

from accounts.models import Account
from alerts.models import Alert, Attempt
from tests import world


@pytest.fixture
def alert(owner: Account) -> Alert:
    """One that asks for an acknowledgement."""
    return world.run(owner).alert


def everything(alert: Alert) -> list[object]:
    """All that an acknowledgement could change."""
    alert.refresh_from_db()
    account = Account.objects.get(pk=alert.account_id)
    rows = list(Attempt.objects.order_by("pk").values_list("status", "failure_code", "settlement", "due_at"))
    return [alert.status, alert.acknowledged_at, alert.late_ack_at, alert.ack_via, account.reserved_cents, rows]


@pytest.mark.parametrize("method", ["get", "head", "options"])
@pytest.mark.parametrize("agent", ["Mozilla/5.0", "WhatsApp/2.23", "facebookexternalhit/1.1", "Slackbot 1.0"])
def test_opening_or_previewing_the_link_changes_nothing(alert: Alert, method: str, agent: str) -> None:
    before = everything(alert)

    for _ in range(3):
        getattr(Client(), method)(f"/a/{alert.ack_token}", headers={"User-Agent": agent})

    assert everything(alert) == before


def test_the_page_shows_the_alert_to_whoever_holds_the_link(alert: Alert) -> None:
    page = Client().get(f"/a/{alert.ack_token}").content.decode()

    assert "Checkout is failing." in page
    assert ">Acknowledge</button>" in page
    assert "555" not in page


def test_the_page_is_neither_kept_nor_indexed_nor_told_to_others(alert: Alert) -> None:
    for address in (f"/a/{alert.ack_token}", "/a/unknown-token"):
        response = Client().get(address)
        assert response["Referrer-Policy"] == "no-referrer"
        assert response["X-Robots-Tag"] == "noindex, nofollow"
        assert "no-store" in response["Cache-Control"]
        assert response.cookies == {}


def test_the_button_acknowledges_without_a_login(owner: Account, alert: Alert) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get(f"/a/{alert.ack_token}")

    # A browser under no-referrer says so.
    response = client.post(f"/a/{alert.ack_token}", headers={"Origin": "null"}, follow=True)

    alert.refresh_from_db()
    owner.refresh_from_db()
    assert client.cookies == {}
    assert (alert.status, alert.ack_via, alert.acknowledged_at) == ("acknowledged", "sms_link", world.NOW)
    assert owner.reserved_cents == 0
    assert "Thank you. No more reminders come for this alert." in response.content.decode()
    assert ">Acknowledge</button>" not in response.content.decode()


def test_pressing_twice_keeps_the_first_time(alert: Alert) -> None:
    client = Client()
    client.post(f"/a/{alert.ack_token}")
    with time_machine.travel(world.NOW + timedelta(minutes=1), tick=False):
        client.post(f"/a/{alert.ack_token}")

    alert.refresh_from_db()
    assert (alert.acknowledged_at, alert.late_ack_at) == (world.NOW, None)


def test_pressing_after_the_deadline_is_noted_as_late(alert: Alert) -> None:
    Attempt.objects.filter(alert=alert, seq=1).update(status="delivered", claimed_at=world.NOW)
    late = alert.expires_at + timedelta(minutes=3)

    with time_machine.travel(late, tick=False):
        response = Client().post(f"/a/{alert.ack_token}", follow=True)

    alert.refresh_from_db()
    assert (alert.status, alert.acknowledged_at, alert.late_ack_at) == ("expired", None, late)
    assert "We noted that you saw it" in response.content.decode()


def test_an_ended_alert_says_so(owner: Account, alert: Alert) -> None:
    ended = {"ended_at": world.NOW, "status": "expired"}
    Alert.objects.filter(pk=alert.pk).update(**ended)

    assert "This alert has ended" in Client().get(f"/a/{alert.ack_token}").content.decode()


def test_a_cancelled_alert_needs_nothing_and_takes_nothing(alert: Alert) -> None:
    Alert.objects.filter(pk=alert.pk).update(
        status="cancelled", ended_at=world.NOW, cancelled_at=world.NOW, cancelled_by="owner"
    )
    page = Client().post(f"/a/{alert.ack_token}", follow=True).content.decode()

    alert.refresh_from_db()
    assert "This alert was cancelled" in page
    assert (alert.status, alert.late_ack_at) == ("cancelled", None)


def test_an_alert_that_asks_for_nothing_says_so_and_stays_as_it_is(owner: Account) -> None:
    alert = world.send(owner, "sms").alert

    page = Client().post(f"/a/{alert.ack_token}").content.decode()

    alert.refresh_from_db()
    assert "There is nothing to confirm here" in page
    assert (alert.status, alert.acknowledged_at) == ("queued", None)


def test_an_unknown_link_leads_nowhere(alert: Alert) -> None:
    for token in ("nothing", alert.ack_token[:-1], alert.ack_token.swapcase()):
        response = Client().post(f"/a/{token}")
        assert response.status_code == 404
        assert "This link leads nowhere" in response.content.decode()

    alert.refresh_from_db()
    assert alert.status == "queued"
