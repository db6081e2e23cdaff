"""A person stops everything: by SMS, by WhatsApp. It holds on every account, until they verify again themselves."""

import re
from typing import Literal

import pytest

from tests.factories import PersonFactory
from tests.journeys.story import ADA, Story, attempts, shown

pytestmark = pytest.mark.django_db(transaction=True)
EVE = "+12025550188"


def start(message: str, key: str, **more: str) -> dict[str, str]:
    return {"workflow_id": "acknowledge", "message": message, "idempotency_key": key, "recipient": "Ada", **more}


@pytest.mark.parametrize("channel", ["sms", "whatsapp"])
def test_a_stop_ends_what_runs_on_every_account_and_tells_each_owner(
    story: Story, channel: Literal["sms", "whatsapp"]
) -> None:
    sams, eves = story.account(), story.account("Eve", EVE)
    for account in (sams, eves):
        PersonFactory(account=account, name="Ada", number=ADA)
    sams_agent, eves_agent = story.agent(sams), story.agent(eves)
    ada = story.phone(ADA)
    if channel == "sms":
        ada.set_behaviour(whatsapp="no")
    from_sam = sams_agent.call("start_workflow", start("The lab is flooded.", "lab-1"))["alert_id"]
    from_eve = eves_agent.call("start_workflow", start("The shop is closed.", "shop-1"))["alert_id"]
    story.after(minutes=2)
    for message in ("The lab is flooded.", "The shop is closed."):
        if channel == "sms":
            story.text(ADA, "whatsapp", contains=message)
        story.text(ADA, channel, contains=message)

    ada.reply("Stop. Thank you", channel)
    story.after(seconds=1)
    for agent, alert_id in ((sams_agent, from_sam), (eves_agent, from_eve)):
        alert = shown(agent, alert_id)
        assert (alert["status"], alert["failure"]["code"], alert["failure"]["reason"]) == (
            "failed",
            "RECIPIENT_OPTED_OUT",
            "R05",
        )
        left = [one for one in attempts(alert, "status", "failure_code") if one[0] == "skipped"]
        assert left == [("skipped", "RECIPIENT_OPTED_OUT")] * 2
        assert agent.refusal("send_sms", {"message": "Anything", "recipient": "Ada"})["code"] == "RECIPIENT_OPTED_OUT"
        assert agent.refusal("make_call", {"message": "Anything", "recipient": "Ada"})["code"] == "RECIPIENT_OPTED_OUT"

    # Each owner is told that she stopped, and not what she wrote.
    for owner in ("Sam", "Eve"):
        [letter] = [mail for mail in story.letters(owner) if "stopped" in mail.subject]
        assert letter.subject == "Ada stopped BreakPass alerts"
        assert "Thank you" not in letter.text

    before = len(ada.messages()) + len(ada.calls())
    story.after(minutes=120)
    assert len(ada.messages()) + len(ada.calls()) == before


def test_only_she_can_start_them_again_and_for_one_account_at_a_time(story: Story) -> None:
    sams, eves = story.account(), story.account("Eve", EVE)
    for account in (sams, eves):
        PersonFactory(account=account, name="Ada", number=ADA)
    agent, eves_agent = story.agent(sams), story.agent(eves)
    send = {"message": "The lab is dry.", "recipient": "Ada"}
    agent.call("send_sms", send)
    story.after(seconds=5)
    story.text(ADA, contains="The lab is dry.")
    phone = story.phone(ADA)
    phone.reply("STOP")
    story.after(minutes=10)

    # The owner can invite nobody who stopped: there is only the link to hand over.
    sam = story.owner(sams).open("/settings/numbers/").open(f"/settings/numbers/{sams.people.get(name='Ada').pk}/")
    assert "Ada stopped all alerts" in sam.text
    assert "Invite by SMS" not in sam.text
    sam.press("Make a link")
    page = story.anybody().open(sam.link("/join/"))
    assert "You stopped alerts to this number." in page.text

    # START alone brings nothing back, but without it the network takes no text to her.
    phone.reply("START")
    story.after(minutes=1)
    assert agent.refusal("send_sms", send)["code"] == "RECIPIENT_OPTED_OUT"
    page.open(page.address).press("Text me")
    story.after(seconds=10)
    code = re.search(r"\b\d{6}\b", story.text(ADA).body)
    assert code is not None
    assert agent.refusal("send_sms", send)["code"] == "RECIPIENT_OPTED_OUT"
    page.open(page.address).press("I agree", code=code[0])
    assert "You get alerts from Sam" in page.text

    again = agent.call("send_sms", send)
    story.after(seconds=5)
    assert story.text(ADA).body.startswith("The lab is dry.")
    assert shown(agent, again["alert_id"])["status"] == "delivered"
    assert eves_agent.refusal("send_sms", send)["code"] == "RECIPIENT_OPTED_OUT"


def test_key_9_stops_everything_in_the_middle_of_an_escalation(story: Story) -> None:
    account = story.account()
    PersonFactory(account=account, name="Ada", number=ADA)
    agent = story.agent(account)
    started = agent.call("start_workflow", start("The lab is flooded.", "lab-1", workflow_id="escalate"))
    story.after(seconds=5)
    story.text(ADA, "whatsapp")
    call = story.phone(ADA).answer()
    for _ in range(60):
        if any("press 9" in line for line in call.said):
            break
        story.after(seconds=1)
    story.phone(ADA).press("9")
    story.after(minutes=15)
    assert story.call(ADA).said[-1] == "You will receive no more BreakPass alerts. Goodbye."
    alert = shown(agent, started["alert_id"])
    assert (alert["status"], alert["failure"]["code"]) == ("failed", "RECIPIENT_OPTED_OUT")
    assert attempts(alert, "channel", "status", "failure_code", "charged_cents") == [
        ("whatsapp", "delivered", None, 3),
        ("call", "answered", None, 20),
        ("call", "skipped", "RECIPIENT_OPTED_OUT", 0),
        ("call", "skipped", "RECIPIENT_OPTED_OUT", 0),
    ]
    assert len(story.phone(ADA).calls()) == 1
