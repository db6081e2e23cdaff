"""Every way to acknowledge, and what the agent reads afterwards: in time, late, never asked for (cases, 15)."""

from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Account, User
from alerts.models import Alert, CarrierEvent
from tests.contract.course import Course, attempt_of, following, reads, send, shown, start
from tests.factories import AccountFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = pytest.mark.django_db
OWNER = "+12025550143"


@pytest.fixture(autouse=True)
def course() -> Iterator[Course]:
    """Time and the carrier in the test's hands."""
    with following() as begun:
        yield begun


def press_button(course: Course, code: str, *, sender: str = OWNER) -> None:
    """The button under the WhatsApp message."""
    token = Alert.objects.get(code=code).ack_token
    course.write(
        f"whatsapp:{sender}", "Acknowledge", ButtonPayload=token, ButtonText="Acknowledge", MessageType="button"
    )


def press_key(course: Course, code: str, seq: int = 2) -> None:
    """Key 1 while the message is heard."""
    course.press(course.pick_up(code, seq), "message", "1", call_sid=attempt_of(code, seq).carrier_sid)


def press_on_page(course: Course, code: str) -> None:
    """The button on the page behind the link."""
    page = f"/a/{Alert.objects.get(code=code).ack_token}"
    assert Client(enforce_csrf_checks=True).post(page).status_code == 302


def press_in_portal(course: Course, code: str) -> None:
    """The owner, signed in."""
    client = Client()
    user = User.objects.get(member__account__alerts__code=code)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    assert client.post(reverse("acknowledge", args=[code])).status_code == 302


WAYS: dict[str, Callable[[Course, str], None]] = {
    "whatsapp_button": press_button,
    "dtmf": press_key,
    "sms_link": press_on_page,
    "portal": press_in_portal,
}


@pytest.mark.parametrize("way", sorted(WAYS))
def test_each_way_acknowledges_stops_the_rest_and_is_named(mcp: McpClient, course: Course, way: str) -> None:
    code = start(mcp, "escalate")
    course.run()
    course.report(code, 1, "delivered")
    course.clock.shift(40)
    WAYS[way](course, code)
    assert reads(mcp, code) == ("acknowledged", "acknowledged", "Acknowledged", True, False)
    alert = shown(mcp, code)
    assert (alert["ack_via"], alert["acknowledged_at"]) == (way, "2026-10-03T19:00:40.000Z")
    assert alert["late_ack_at"] is None
    assert [one["failure_code"] for one in alert["attempts"][2:]] == ["ACKNOWLEDGED"] * 2
    # Again, by every way: the first stays.
    course.clock.shift(10)
    for again in WAYS.values():
        again(course, code)
    assert (shown(mcp, code)["ack_via"], shown(mcp, code)["acknowledged_at"]) == (way, "2026-10-03T19:00:40.000Z")
    sent_before = len(course.sent)
    course.wait(minutes=3)
    assert len(course.sent) == sent_before


@pytest.mark.parametrize("way", sorted(WAYS))
def test_each_way_is_only_noted_after_the_alert_expired(mcp: McpClient, course: Course, way: str) -> None:
    code = start(mcp, "escalate")
    course.run()
    course.report(code, 1, "delivered")
    course.wait(minutes=12)
    assert reads(mcp, code)[0] == "expired"
    before = shown(mcp, code)
    course.clock.shift(60)
    WAYS[way](course, code)
    after = shown(mcp, code)
    assert (after["status"], after["acknowledged_at"], after["ack_via"]) == ("expired", None, None)
    assert after["late_ack_at"] == "2026-10-03T19:13:00.000Z"
    assert after["outcome_text"] == before["outcome_text"] == "Not acknowledged"


@pytest.mark.parametrize("way", sorted(WAYS))
def test_each_way_does_nothing_to_a_cancelled_alert(mcp: McpClient, course: Course, way: str) -> None:
    code = start(mcp, "escalate")
    course.run()
    before = mcp.call("cancel_alert", {"alert_id": code})
    WAYS[way](course, code)
    after = shown(mcp, code)
    # The call that was picked up goes on to its end; the alert does not.
    assert {name: after[name] for name in after if name not in ("attempts", "charged_cents")} == {
        name: before[name] for name in before if name not in ("attempts", "charged_cents")
    }
    assert (after["late_ack_at"], after["acknowledged_at"]) == (None, None)


@pytest.mark.parametrize("way", ["whatsapp_button", "sms_link", "portal"])
def test_what_asks_for_no_acknowledgement_takes_none(mcp: McpClient, course: Course, way: str) -> None:
    code = send(mcp, "whatsapp")
    course.run()
    if way == "sms_link":
        # No text carried it; whoever made it up is told that there is nothing to confirm.
        assert Client().post(f"/a/{Alert.objects.get(code=code).ack_token}").status_code == 200
    else:
        WAYS[way](course, code)
    assert (reads(mcp, code)[0], shown(mcp, code)["acknowledged_at"]) == ("sent", None)


@pytest.mark.parametrize(
    "agent",
    [
        "Mozilla/5.0",
        "WhatsApp/2.23.20.0",
        "facebookexternalhit/1.1",
        "Slackbot-LinkExpanding 1.0",
        "SkypeUriPreview",
        "",
    ],
)
@pytest.mark.parametrize("method", ["get", "head"])
def test_opening_the_link_or_its_preview_changes_nothing(
    mcp: McpClient, course: Course, agent: str, method: str
) -> None:
    code = send(mcp, "sms", require_ack=True)
    course.run()
    link = next(word for word in course.sent[0].text.split() if word.startswith("http"))
    before = shown(mcp, code)
    for _ in range(2):
        response = getattr(Client(), method)(link.removeprefix("http://127.0.0.1:8000"), headers={"User-Agent": agent})
        assert response.status_code == 200
    assert shown(mcp, code) == before
    assert before["acknowledged_at"] is None


def test_a_button_of_another_number_or_alert_is_ignored_and_flagged(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "acknowledge")
    course.run()
    press_button(course, code, sender="+12025550199")
    course.write(f"whatsapp:{OWNER}", "Acknowledge", ButtonPayload="made-up", MessageType="button")
    assert reads(mcp, code)[0] == "sent"
    assert [event.is_flagged for event in CarrierEvent.objects.filter(kind="inbound_button")] == [True, True]


def test_only_the_alert_under_the_button_is_acknowledged(mcp: McpClient, course: Course) -> None:
    older = start(mcp, "acknowledge")
    newer = start(mcp, "acknowledge", message="And another.", idempotency_key="k2")
    course.run()
    press_button(course, older)
    assert [reads(mcp, code)[0] for code in (older, newer)] == ["acknowledged", "sent"]


@pytest.mark.parametrize("body", ["Acknowledge", "acknowledged", "1", "ok", "yes"])
def test_a_typed_word_is_no_acknowledgement(mcp: McpClient, course: Course, body: str) -> None:
    code = start(mcp, "acknowledge")
    course.run()
    for sender in (OWNER, f"whatsapp:{OWNER}"):
        course.write(sender, body)
    assert (reads(mcp, code)[0], shown(mcp, code)["late_ack_at"]) == ("sent", None)


def test_the_owner_of_another_account_cannot_acknowledge_here(mcp: McpClient, course: Course) -> None:
    code = start(mcp, "acknowledge")
    course.run()
    client = Client()
    stranger = User.objects.get(member__account=AccountFactory())
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    assert client.post(reverse("acknowledge", args=[code])).status_code == 404
    assert reads(mcp, code)[0] == "sent"


def test_an_agent_that_may_only_read_sees_the_acknowledgement(mcp: McpClient, account: Account, course: Course) -> None:
    code = start(mcp, "acknowledge")
    course.run()
    press_button(course, code)
    reader = McpClient(Client(), issue_token(account, client_name="Reader", scopes="alerts.read"))
    assert reads(reader, code)[0] == "acknowledged"
