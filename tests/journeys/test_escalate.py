"""Escalate: a message and a call at once, nobody picks up; the second call is answered, and key 1 ends it all."""

import pytest

from tests.journeys.story import SAM, Story, attempts, moment, shown

pytestmark = pytest.mark.django_db(transaction=True)
START = {
    "workflow_id": "escalate",
    "message": "Checkout is failing.",
    "recipient": "owner",
    "agent_name": "Checkout monitor",
    "idempotency_key": "checkout-1",
}
OPENING = "This is BreakPass by X Labs, with an alert from Checkout monitor."


def test_the_second_call_is_answered_with_key_1_and_the_rest_stops(story: Story) -> None:
    account = story.account()
    agent = story.agent(account)
    alert_id = agent.call("start_workflow", START)["alert_id"]
    setup = agent.call("get_setup_status")
    assert (setup["balance_cents"], setup["reserved_cents"]) == (4977, 23)

    story.after(seconds=10)
    assert story.text(SAM, "whatsapp").body == (
        "BreakPass alert from Checkout monitor: Checkout is failing. — sent by BreakPass."
    )
    ringing = story.call(SAM)
    assert (ringing.status, ringing.said) == ("ringing", [])
    assert attempts(shown(agent, alert_id), "channel", "status")[:2] == [
        ("whatsapp", "delivered"),
        ("call", "ringing"),
    ]

    # It rings for 25 seconds, so that the next one can go at minute 1.
    story.until(story.minute(0.9))
    assert ringing.status == "no-answer"
    assert attempts(shown(agent, alert_id), "status", "outcome", "charged_cents")[1] == (
        "no_answer",
        "not_picked_up",
        5,
    )

    story.until(story.minute(1.1))
    story.phone(SAM).answer()
    story.after(seconds=3)
    assert story.phone(SAM).press("1") is True
    story.after(seconds=3)
    second = story.call(SAM)
    assert second.created_at == story.minute(1)
    assert second.said == [OPENING, "Acknowledged. Goodbye."]
    assert second.status == "completed"

    acknowledged = shown(agent, alert_id)
    assert (acknowledged["status"], acknowledged["ack_via"]) == ("acknowledged", "dtmf")
    assert acknowledged["acknowledged_at"] == moment(story.minute(1.15))
    assert attempts(acknowledged, "offset_min", "channel", "status", "failure_code", "charged_cents") == [
        (0, "whatsapp", "delivered", None, 3),
        (0, "call", "no_answer", None, 5),
        (1, "call", "answered", None, 20),
        (2, "call", "skipped", "ACKNOWLEDGED", 0),
    ]
    assert acknowledged["charged_cents"] == 28

    story.after(minutes=30)
    assert len(story.phone(SAM).calls()) == 2
    setup = agent.call("get_setup_status")
    assert (setup["balance_cents"], setup["reserved_cents"], setup["spent_today_cents"]) == (4972, 0, 28)


def test_heard_to_the_end_a_call_says_every_word_and_nothing_is_acknowledged_by_listening(story: Story) -> None:
    account = story.account()
    agent = story.agent(account)
    story.phone(SAM).set_behaviour(call="answer")
    sent = agent.call("make_call", {"message": "Checkout is failing.", "require_ack": True})
    story.after(minutes=2)
    assert story.call(SAM).said == [
        "This is BreakPass by X Labs, with an alert from Checkout monitor.",
        "Checkout is failing.",
        "Press 1 to acknowledge.",
        "To stop all BreakPass alerts to this number, press 9.",
        "To reach us, call 3 3 2, 2 8 7, 9 2 0 0.",
        "Goodbye.",
    ]
    waiting = shown(agent, sent["alert_id"])
    assert (waiting["status"], waiting["outcome"], waiting["terminal"]) == ("delivered", "waiting_for_ack", False)
    story.after(minutes=60)
    ended = shown(agent, sent["alert_id"])
    assert (ended["status"], ended["outcome"], ended["charged_cents"]) == ("expired", "not_acknowledged", 20)
