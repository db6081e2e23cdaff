"""An invite: a code by SMS, the person's own page, their yes, and only then an alert."""

import re

import pytest

from tests.journeys.story import ADA, Story, shown

pytestmark = pytest.mark.django_db(transaction=True)
SEND = {"message": "The server room is hot.", "recipient": "Ada", "require_ack": True}


def test_somebody_is_invited_agrees_on_their_own_page_and_gets_an_alert(story: Story) -> None:
    account = story.account()
    agent = story.agent(account)
    assert agent.refusal("send_sms", SEND)["code"] == "RECIPIENT_NOT_FOUND"

    sam = story.owner(account).open("/settings/numbers/add/")
    sam.press("Add", name="Ada", number="(202) 555-0171")
    assert "Ada is added. Invite them next: nothing is sent before they agree." in sam.text
    story.after(minutes=5)
    assert story.phone(ADA).messages() == []
    refused = agent.refusal("send_sms", SEND)
    assert (refused["code"], refused["details"]["reason"]) == ("RECIPIENT_NOT_VERIFIED", "pending")

    sam.press("Invite by SMS")
    story.after(minutes=1)
    invitation = story.text(ADA)
    code = re.search(r"\b\d{6}\b", invitation.body)
    assert code is not None
    assert invitation.body == (
        "Sam invites you to automated BreakPass alerts (text, WhatsApp, call). "
        f"To agree: code {code[0]}, 10 min. Reply STOP to opt out."
    )
    assert agent.refusal("send_sms", SEND)["code"] == "RECIPIENT_NOT_VERIFIED"

    # Sam hands over the link; Ada reads what she agrees to, mistypes once, and agrees.
    sam.open(sam.address).press("Make a link")
    ada = story.anybody().open(sam.link("/join/"))
    assert "Sam would like to send you alerts" in ada.text
    assert "5550171" not in re.sub(r"\D", "", ada.text)
    wrong = f"{(int(code[0]) + 1) % 1_000_000:06d}"
    ada.press("I agree", code=wrong)
    assert (ada.status, "That code isn't right. 4 tries left." in ada.text) == (422, True)
    assert agent.refusal("send_sms", SEND)["code"] == "RECIPIENT_NOT_VERIFIED"
    ada.press("I agree", code=code[0])
    assert "You get alerts from Sam" in ada.text

    ready = agent.call("get_setup_status")["recipients"]
    assert [(one["name"], one["is_owner"], one["verified"]) for one in ready] == [
        ("Sam", True, True),
        ("Ada", False, True),
    ]
    sent = agent.call("send_sms", SEND)
    story.after(seconds=10)
    text = story.text(ADA)
    assert text.body.startswith("The server room is hot. http")
    link = re.search(r"http://\S+", text.body)
    assert link is not None
    ada.open(link[0]).press("Acknowledge")
    done = shown(agent, sent["alert_id"])
    assert (done["status"], done["ack_via"], done["recipient"], done["charged_cents"]) == (
        "acknowledged",
        "sms_link",
        "Ada",
        4,
    )
    # The invitation was free: the alert is all that was charged.
    assert agent.call("get_setup_status")["balance_cents"] == 4996


def test_an_invitation_that_is_ignored_leads_to_nothing_more(story: Story) -> None:
    account = story.account()
    agent = story.agent(account)
    sam = story.owner(account).open("/settings/numbers/add/")
    sam.press("Add", name="Ada", number="(202) 555-0171").press("Invite by SMS")
    story.after(minutes=1)
    code = re.search(r"\b\d{6}\b", story.text(ADA).body)
    assert code is not None
    story.after(minutes=60 * 24)
    assert len(story.phone(ADA).messages()) == 1
    sam.open(sam.address).press("Make a link")
    ada = story.anybody().open(sam.link("/join/"))
    assert "I agree" not in ada.text
    assert agent.refusal("send_sms", SEND)["details"]["reason"] == "pending"
