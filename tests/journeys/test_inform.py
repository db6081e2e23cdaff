"""Inform, to a phone without WhatsApp: one SMS stands in, and what was learned is used the next time."""

import pytest

from tests.journeys.story import SAM, Story, attempts, shown

SMS = "The backup is done.\n\nThis is an automated BreakPass alert. Reply STOP to opt out."


@pytest.mark.django_db(transaction=True)
def test_one_sms_stands_in_for_a_whatsapp_message_that_could_not_arrive(story: Story) -> None:
    account = story.account()
    agent = story.agent(account)
    story.phone(SAM).set_behaviour(whatsapp="no")

    started = agent.call(
        "start_workflow", {"workflow_id": "inform", "message": "The backup is done.", "idempotency_key": "backup-1"}
    )
    assert started["steps"] == [{"offset_min": 0, "kind": "message", "channel": "whatsapp"}]
    assert started["max_cost_cents"] == 7
    setup = agent.call("get_setup_status")
    assert (setup["balance_cents"], setup["reserved_cents"]) == (4997, 3)

    story.after(seconds=5)
    assert story.text(SAM, "whatsapp").error_code in (63003, 63024)
    assert story.text(SAM).body == SMS
    alert = shown(agent, started["alert_id"])
    assert (alert["status"], alert["outcome"], alert["terminal"]) == ("delivered", "delivered", True)
    assert attempts(alert, "kind", "channel", "status", "failure_reason", "charged_cents") == [
        ("message", "whatsapp", "failed", "R04", 0),
        ("fallback", "sms", "delivered", None, 4),
    ]
    assert alert["charged_cents"] == 4

    # Now it is known: the next alert goes by SMS at once, and costs no failed try.
    setup = agent.call("get_setup_status")
    assert setup["recipients"][0]["channels"]["whatsapp"] == "no"
    assert (setup["balance_cents"], setup["reserved_cents"], setup["spent_today_cents"]) == (4996, 0, 4)
    again = agent.call(
        "start_workflow", {"workflow_id": "inform", "message": "The backup is done.", "idempotency_key": "backup-2"}
    )
    assert again["steps"] == [{"offset_min": 0, "kind": "message", "channel": "sms"}]
    story.after(seconds=5)
    assert story.text(SAM).body == SMS
    assert shown(agent, again["alert_id"])["status"] == "delivered"

    # And nothing more comes of either, to the end of their 75 minutes and beyond.
    story.after(minutes=90)
    assert len(story.phone(SAM).messages()) == 3
    assert agent.call("get_setup_status")["balance_cents"] == 4992
