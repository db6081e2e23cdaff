"""Acknowledge, to somebody who does not look: three messages, then it expires. What comes later is only noted."""

import re

import pytest

from tests.factories import PersonFactory
from tests.journeys.story import ADA, SAM, Story, attempts, moment, shown

pytestmark = pytest.mark.django_db(transaction=True)
MESSAGE = "Approve the refund in the shop."
START = {"workflow_id": "acknowledge", "message": MESSAGE, "idempotency_key": "refund-1"}


def test_nobody_acknowledges_three_messages_and_the_alert_expires(story: Story) -> None:
    account = story.account()
    agent = story.agent(account)
    started = agent.call("start_workflow", START)
    alert_id = started["alert_id"]
    assert started["deadline_at"] == moment(story.minute(40))

    story.after(minutes=1)
    first = story.text(SAM, "whatsapp")
    assert first.body == f"BreakPass alert from Checkout monitor: {MESSAGE} — sent by BreakPass."
    waiting = shown(agent, alert_id)
    assert (waiting["status"], waiting["awaiting_ack"]) == ("delivered", True)
    assert (waiting["outcome_text"], waiting["next_attempt_at"]) == (
        "Waiting for you to acknowledge",
        moment(story.minute(10)),
    )

    story.until(story.minute(11))
    second = story.text(SAM, "whatsapp")
    assert second.body == f"BreakPass alert from Checkout monitor: Reminder 2 of 3: {MESSAGE} — sent by BreakPass."
    assert second.created_at == story.minute(10)

    # Only one step is held at a time: two are charged by now, the third is not due.
    setup = agent.call("get_setup_status")
    assert (setup["balance_cents"], setup["reserved_cents"]) == (4994, 0)

    story.until(story.minute(39))
    third = story.text(SAM, "whatsapp")
    assert third.body == f"BreakPass alert from Checkout monitor: Reminder 3 of 3: {MESSAGE} — sent by BreakPass."
    assert third.created_at == story.minute(30)
    assert shown(agent, alert_id)["terminal"] is False

    story.until(story.minute(40))
    expired = shown(agent, alert_id)
    assert (expired["status"], expired["outcome"], expired["terminal"]) == ("expired", "not_acknowledged", True)
    assert expired["failure"] is None
    assert attempts(expired, "seq", "offset_min", "channel", "status", "charged_cents") == [
        (1, 0, "whatsapp", "delivered", 3),
        (2, 10, "whatsapp", "delivered", 3),
        (3, 30, "whatsapp", "delivered", 3),
    ]
    assert expired["charged_cents"] == 9

    # An hour later somebody presses the button after all. It is noted, and changes nothing.
    story.after(minutes=60)
    story.phone(SAM).press_button(first.sid)
    story.after(minutes=5)
    late = shown(agent, alert_id)
    assert (late["status"], late["acknowledged_at"], late["ack_via"]) == ("expired", None, None)
    assert late["late_ack_at"] == moment(story.minute(100))
    assert late["charged_cents"] == 9
    assert len(story.phone(SAM).messages("whatsapp")) == 4  # three of ours, and the press


def test_reminders_by_sms_carry_the_link_and_acknowledging_there_stops_them(story: Story) -> None:
    account = story.account()
    PersonFactory(account=account, name="Ada", number=ADA)
    agent = story.agent(account)
    story.phone(ADA).set_behaviour(whatsapp="no")
    alert_id = agent.call("start_workflow", {**START, "recipient": "ada"})["alert_id"]

    story.until(story.minute(11))
    assert story.text(ADA, "whatsapp").error_code in (63003, 63024)
    fallback, reminder = story.text(ADA), story.text(ADA)
    links = [re.search(r"http://\S+", text.body) for text in (fallback, reminder)]
    assert links[0] is not None
    assert links[1] is not None
    assert links[0][0] == links[1][0]
    footer = "\n\nThis is an automated BreakPass alert. Reply STOP to opt out."
    assert fallback.body == f"{MESSAGE} {links[0][0]}{footer}"
    assert reminder.body == f"Reminder 2 of 3: {MESSAGE} {links[0][0]}{footer}"
    waiting = shown(agent, alert_id)
    assert (waiting["recipient"], waiting["outcome_text"]) == ("Ada", "Waiting for Ada to acknowledge")

    ada = story.anybody().open(links[0][0])
    assert MESSAGE in ada.text
    story.after(minutes=1)
    assert shown(agent, alert_id)["acknowledged_at"] is None, "opening the page changes nothing"
    ada.press("Acknowledge")
    assert "Thank you. No more reminders come for this alert." in ada.text

    acknowledged = shown(agent, alert_id)
    assert (acknowledged["status"], acknowledged["ack_via"]) == ("acknowledged", "sms_link")
    assert acknowledged["acknowledged_at"] == moment(story.minute(12))
    story.after(minutes=60)
    assert attempts(shown(agent, alert_id), "kind", "channel", "status", "failure_code", "charged_cents") == [
        ("message", "whatsapp", "failed", "DELIVERY_FAILED", 0),
        ("message", "sms", "delivered", None, 4),
        ("message", "whatsapp", "skipped", "ACKNOWLEDGED", 0),
        ("fallback", "sms", "delivered", None, 4),
    ]
