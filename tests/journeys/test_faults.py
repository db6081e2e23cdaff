"""Faults that others shipped, tried on the whole way from the agent's words to the phone."""

import re
from datetime import timedelta

import pytest

from accounts.models import Account
from tests.factories import PlanFactory
from tests.journeys.story import SAM, Story, attempts, shown
from tests.mcp_client import McpClient

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<Dial>+1900…</Dial> & \"q\" 'x' ’"
FOOTER = "\n\nThis is an automated BreakPass alert. Reply STOP to opt out."


@pytest.fixture
def account(story: Story) -> Account:
    """Sam's, on a paid plan."""
    return story.account(plan=PlanFactory())


@pytest.fixture
def agent(story: Story, account: Account) -> McpClient:
    """An agent of it."""
    return story.agent(account)


def test_case_19_markup_for_a_phone_is_said_and_read_as_words(story: Story, agent: McpClient) -> None:
    story.phone(SAM).set_behaviour(call="answer")
    for tool in ("make_call", "send_sms", "send_whatsapp"):
        agent.call(tool, {"message": f"\x0b{HOSTILE}\x0b"})
    story.after(minutes=2)

    call = story.call(SAM)
    assert [line for line in call.said if "Dial" in line] == [HOSTILE]
    assert len(call.said) == 5
    assert call.status == "completed"
    assert story.sandbox.troubles == [], "no document had a verb or a byte that Twilio minds"
    assert [one.number for one in story.sandbox.calls()] == [SAM], "nobody else was dialled"

    assert story.text(SAM).body == f"<Dial>+1900...</Dial> & \"q\" 'x' '{FOOTER}"
    assert story.text(SAM, "whatsapp").body == f"BreakPass alert from Checkout monitor: {HOSTILE} — sent by BreakPass."


def test_case_20_whatsapp_is_a_template_at_first_contact_in_a_conversation_and_after_it(
    story: Story, agent: McpClient
) -> None:
    sent = []
    for wait_h in (0, 1, 26):
        story.after(minutes=60 * wait_h)
        agent.call("send_whatsapp", {"message": "Checkout is failing."})
        story.after(seconds=10)
        sent.append(story.text(SAM, "whatsapp"))
        if len(sent) == 1:
            # A day's window in which free text would be allowed; it has closed again before the last.
            story.phone(SAM).reply("Thanks!", "whatsapp")
    assert [message.template_sid for message in sent] == [story.sandbox.config.template_alert] * 3
    assert [message.status for message in sent] == ["delivered"] * 3
    assert not any("Body" in message.params for message in sent)
    assert sent[2].created_at - sent[0].created_at > timedelta(hours=25)


def test_case_22_the_same_text_again_and_again_is_never_filtered_silently_but_refused_aloud(
    story: Story, agent: McpClient
) -> None:
    send = {"message": "Checkout is failing."}
    for count in range(20):
        agent.call("send_sms", {**send, "idempotency_key": f"k{count}"})
        story.after(seconds=61)
    texts = [story.text(SAM) for _ in range(20)]
    assert {text.params["RiskCheck"] for text in texts} == {"disable"}
    assert {text.body for text in texts} == {f"Checkout is failing.{FOOTER}"}
    refused = agent.refusal("send_sms", {**send, "idempotency_key": "k20"})
    assert (refused["code"], refused["details"]) == ("RATE_LIMITED", {"reason": "holder_per_hour"})
    assert refused["message"] == "Too many alerts to this recipient in the last hour (the limit is 20 an hour)."
    # To the end of the hour that the first of them opened.
    assert refused["retry_after_s"] == 3600 - 20 * 61
    story.after(seconds=refused["retry_after_s"])
    agent.call("send_sms", {**send, "idempotency_key": "k20"})
    story.after(seconds=5)
    story.text(SAM)


@pytest.mark.parametrize("fault", ["callback_first", "drop_answer", "error_after_accepting"])
def test_case_02_a_delivery_that_overtakes_the_answer_counts_once(
    story: Story, account: Account, agent: McpClient, fault: str
) -> None:
    story.sandbox.faults.add(fault)
    alert_id = agent.call("send_sms", {"message": "Checkout is failing."})["alert_id"]
    story.after(minutes=5)
    story.text(SAM)
    alert = shown(agent, alert_id)
    assert attempts(alert, "status", "charged_cents") == [("delivered", 4)]
    account.refresh_from_db()
    assert (account.balance_cents, account.reserved_cents) == (4996, 0)


@pytest.mark.parametrize("faults", [["lose"], ["repeat", "reorder"], ["bad_signature"], ["other_account"]])
def test_whatever_becomes_of_its_reports_an_escalation_costs_and_tells_the_same(
    story: Story, account: Account, agent: McpClient, faults: list[str]
) -> None:
    for fault in faults:
        story.sandbox.faults.add(fault, times=None)
    story.phone(SAM).set_behaviour(call="answer", press="1", press_after_s=2)
    alert_id = agent.call(
        "start_workflow", {"workflow_id": "escalate", "message": "Checkout is failing.", "idempotency_key": "k"}
    )["alert_id"]
    story.after(minutes=20)
    story.text(SAM, "whatsapp")
    story.call(SAM)
    alert = shown(agent, alert_id)
    assert (alert["status"], alert["ack_via"], alert["charged_cents"]) == ("acknowledged", "dtmf", 23)
    assert attempts(alert, "status") == [("delivered",), ("answered",), ("skipped",), ("skipped",)]
    account.refresh_from_db()
    assert (account.balance_cents, account.reserved_cents) == (4977, 0)


def test_nothing_that_an_agent_can_read_tells_a_number_a_sid_or_a_country(story: Story, agent: McpClient) -> None:
    story.phone(SAM).set_behaviour(whatsapp="no", call="invalid")
    alert_id = agent.call(
        "start_workflow", {"workflow_id": "escalate", "message": "Checkout is failing.", "idempotency_key": "k"}
    )["alert_id"]
    story.after(minutes=20)
    message, fallback, call = story.text(SAM, "whatsapp"), story.text(SAM), story.call(SAM)
    said = str([shown(agent, alert_id), agent.call("get_setup_status"), agent.call("list_workflows")])
    digits = re.sub(r"\D", "", said)
    assert SAM.removeprefix("+") not in digits
    for secret in (SAM[-7:], "0143", message.sid, fallback.sid, call.sid, "Checkout is failing.", "'US'", "63003"):
        assert secret not in said
