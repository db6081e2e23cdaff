"""An outage of three hours: the broker and every worker are down. What comes after is one message, never a volley."""

import pytest

from accounts.locking import locked
from accounts.models import Account
from tests.journeys.story import SAM, Story, attempts, shown
from workflows import saved
from workflows.plan import Step

pytestmark = pytest.mark.django_db(transaction=True)


def start(workflow_id: str, key: str = "k1") -> dict[str, str]:
    return {"workflow_id": workflow_id, "message": "Checkout is failing.", "idempotency_key": key}


def make_long(account: Account, story: Story) -> None:
    """Six messages over five hours, and a call beside each of the first four."""
    minutes = [0, 30, 60, 120, 240, 300]
    steps = [Step(minute, "message") for minute in minutes] + [Step(minute, "call") for minute in minutes[:4]]
    with locked(account.pk) as held:
        saved.save(
            held,
            "acknowledge",
            steps=sorted(steps, key=lambda step: (step.offset_min, step.kind != "message")),
            requires_ack=True,
            has_sms_fallback=False,
            max_attempts=12,
            now=story.now,
        )


def test_after_three_hours_only_the_latest_of_each_kind_goes_and_the_rest_keeps_its_time(story: Story) -> None:
    account = story.account()
    make_long(account, story)
    agent = story.agent(account)
    alert_id = agent.call("start_workflow", start("acknowledge"))["alert_id"]
    story.after(seconds=40)
    story.text(SAM, "whatsapp", contains="Checkout is failing.")
    story.call(SAM)

    story.until(story.minute(10))
    story.stop_working()
    story.until(story.minute(190))
    assert len(story.phone(SAM).messages()) == 1
    assert len(story.phone(SAM).calls()) == 1

    story.work_again()
    story.after(minutes=2)
    assert story.text(SAM, "whatsapp").body == (
        "BreakPass alert from Checkout monitor: Reminder 4 of 6: Checkout is failing. — sent by BreakPass."
    )
    assert story.call(SAM).created_at == story.minute(190)
    assert attempts(shown(agent, alert_id), "offset_min", "channel", "status", "failure_code") == [
        (0, "whatsapp", "delivered", None),
        (0, "call", "no_answer", None),
        (30, "whatsapp", "skipped", "SUPERSEDED"),
        (30, "call", "skipped", "SUPERSEDED"),
        (60, "whatsapp", "skipped", "SUPERSEDED"),
        (60, "call", "skipped", "SUPERSEDED"),
        (120, "whatsapp", "delivered", None),
        (120, "call", "no_answer", None),
        (240, "whatsapp", "scheduled", None),
        (300, "whatsapp", "scheduled", None),
    ]

    # From here on everything is on time again, to the end.
    story.until(story.minute(241))
    assert story.text(SAM, "whatsapp", contains="Reminder 5 of 6").created_at == story.minute(240)
    story.phone(SAM).press_button()
    story.after(minutes=120)
    ended = shown(agent, alert_id)
    assert (ended["status"], ended["ack_via"], ended["charged_cents"]) == (
        "acknowledged",
        "whatsapp_button",
        3 * 3 + 10,
    )
    assert attempts(ended, "status", "failure_code")[-1] == ("skipped", "ACKNOWLEDGED")


def test_what_was_past_its_deadline_is_skipped_and_nothing_more_is_sent(story: Story) -> None:
    account = story.account()
    agent = story.agent(account)
    alert_id = agent.call("start_workflow", start("acknowledge"))["alert_id"]
    story.after(minutes=1)
    story.text(SAM, "whatsapp")
    story.stop_working()
    story.after(minutes=180)
    # Nobody could end it on time, but who looks is told the truth of what happened.
    assert shown(agent, alert_id)["charged_cents"] == 3
    story.work_again()
    story.after(minutes=60)
    ended = shown(agent, alert_id)
    assert (ended["status"], ended["outcome"], ended["charged_cents"]) == ("expired", "not_acknowledged", 3)
    assert attempts(ended, "status", "failure_code") == [
        ("delivered", None),
        ("skipped", "DEADLINE_PASSED"),
        ("skipped", "DEADLINE_PASSED"),
    ]
    assert len(story.phone(SAM).messages()) == 1


def test_what_is_accepted_during_an_outage_goes_when_it_is_over_if_it_is_still_of_use(story: Story) -> None:
    account = story.account()
    agent = story.agent(account)
    story.stop_working()
    stale = agent.call("send_sms", {"message": "Too old by then."})
    escalation = agent.call("start_workflow", start("escalate"))
    story.until(story.minute(150))
    fresh = agent.call("send_sms", {"message": "Still of use."})
    setup = agent.call("get_setup_status")
    assert setup["reserved_cents"] == 4 + 23 + 4
    story.until(story.minute(180))
    assert story.sandbox.messages() == []
    assert story.sandbox.calls() == []

    story.work_again()
    story.after(minutes=5)
    assert story.text(SAM, contains="Still of use.").created_at == story.minute(180)
    assert shown(agent, fresh["alert_id"])["status"] == "delivered"
    for one in (stale, escalation):
        failed = shown(agent, one["alert_id"])
        assert (failed["status"], failed["failure"]["code"], failed["failure"]["reason"]) == (
            "failed",
            "DEADLINE_PASSED",
            "R14",
        )
        assert {code for _, code in attempts(failed, "status", "failure_code")} == {"DEADLINE_PASSED"}
        assert failed["charged_cents"] == 0
    story.after(minutes=90)
    assert agent.call("get_setup_status")["balance_cents"] == 4996
