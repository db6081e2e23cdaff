"""People and numbers: adding, verifying by code, inviting, renaming, removing, picking the owner's number."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from accounts.models import Account, Number, Person, VerificationCode
from accounts.sealing import unseal
from alerts import acks
from tests import world
from tests.portal.test_start import words_of

PREMIUM = "This kind of number can't get alerts. Use a mobile or landline number."


def digits() -> str:
    """The newest code, as it would stand in the message."""
    sealed = VerificationCode.objects.latest("pk").sealed
    assert sealed is not None
    return unseal(bytes(sealed))


def wrong(code: str) -> str:
    """Another code than this."""
    return f"{(int(code) + 1) % 1_000_000:06d}"


@pytest.fixture
def ada(owner: Account) -> Person:
    """Somebody the owner added; her number waits for its code."""
    return world.add_person(owner, "Ada", number=world.ADA_NUMBER, is_verified=False).person


def test_the_list_shows_everyone_with_masked_numbers_and_states(owner: Account, browser: Client, ada: Person) -> None:
    kim = world.add_person(owner, "Kim", number="+12025550172")
    acks.opt_out(kim.holder_id, via="sms", now=world.NOW)
    late = world.add_person(owner, "Late", number="+12025550173")
    Number.objects.filter(pk=late.pk).update(is_over_plan=True)

    response = browser.get(reverse("people"))

    assert [(row.recipient.shown, row.masked, row.state) for row in response.context["rows"]] == [
        ("Sam", "+1 ••• ••• ••43", "Verified"),
        ("Ada", "+1 ••• ••• ••71", "Waiting for the code"),
        ("Kim", "+1 ••• ••• ••72", "Stopped by the person"),
        ("Late", "+1 ••• ••• ••73", "Paused: over the plan's limit"),
    ]
    assert "555017" not in response.content.decode()


def test_adding_a_person_sends_nothing(owner: Account, browser: Client) -> None:
    typed = {"name": " Ada  Lovelace ", "country": "GB", "number": "07700 900123", "language": "en"}

    response = browser.post(reverse("add-person"), typed, follow=True)

    number = Number.objects.get(person__name="Ada Lovelace")
    assert number.holder.country == "GB"
    assert number.verified_at is None
    assert not VerificationCode.objects.exists()
    assert words_of(response) == ["Ada Lovelace is added. Invite them next: nothing is sent before they agree."]


@pytest.mark.parametrize(
    ("typed", "field", "message"),
    [
        ({"name": ""}, "name", "Enter a name."),
        ({"name": "x" * 31}, "name", "Ensure this value has at most 30 characters (it has 31)."),
        ({"name": "Owner"}, "name", "“owner” always means the account's owner. Choose another name."),
        ({"name": "!!!"}, "name", "“Name” needs a letter or a digit."),
        ({"number": ""}, "number", "Enter a phone number."),
        ({"number": "hello"}, "number", "Enter a phone number with + and its country code."),
        ({"number": "12"}, "number", "This isn't a phone number that can be reached. Check its digits."),
        ({"number": "+1 900 555 0199"}, "number", PREMIUM),
        ({"number": world.OWNER_NUMBER}, "number", "This number is on your account already."),
    ],
)
def test_a_bad_person_is_refused_beside_the_field(
    owner: Account, browser: Client, typed: dict[str, str], field: str, message: str
) -> None:
    whole = {"name": "Ada", "country": "US", "number": world.ADA_NUMBER, "language": "en"} | typed

    response = browser.post(reverse("add-person"), whole)

    assert response.status_code == 422
    assert response.context["form"].errors == {field: [message]}
    assert owner.people.count() == 1


def test_the_owner_adds_their_own_number_and_goes_on_to_the_code(owner: Account, browser: Client) -> None:
    Number.objects.all().delete()

    response = browser.post(reverse("add-own-number"), {"country": "US", "number": "202 555 0143"})

    assert response["Location"] == reverse("person", args=[owner.own_person_id])
    assert Number.objects.get().person_id == owner.own_person_id
    page = browser.get(response["Location"]).content.decode()
    assert "Send it by SMS" in page
    assert "Send it by WhatsApp" in page


def test_the_right_code_verifies(owner: Account, browser: Client) -> None:
    Number.objects.update(verified_at=None)
    person = owner.own_person_id
    browser.post(reverse("send-code", args=[person]), {"channel": "sms"})
    assert VerificationCode.objects.get().is_invite is False
    code = digits()

    response = browser.post(reverse("check-code", args=[person]), {"code": f"{code[:3]} {code[3:]}"}, follow=True)

    assert words_of(response) == ["Sam is verified."]
    assert Number.objects.get().verified_at == world.NOW


def test_an_account_paused_until_verified_is_led_to_a_new_code_and_sends_after_it(
    owner: Account, browser: Client
) -> None:
    owner.is_paused_until_verified = True
    owner.save()
    page = browser.get(reverse("start"))
    assert page.context["steps"][0].state == "next"
    assert "Sending is paused until your number is verified again." in page.content.decode()
    assert "Send it by SMS" in browser.get(reverse("person", args=[owner.own_person_id])).content.decode()

    browser.post(reverse("send-code", args=[owner.own_person_id]), {"channel": "sms"})
    browser.post(reverse("check-code", args=[owner.own_person_id]), {"code": digits()})

    owner.refresh_from_db()
    assert owner.is_paused_until_verified is False
    assert browser.get(reverse("start")).context["steps"][0].state == "done"


def test_a_wrong_code_says_how_many_tries_are_left_and_the_fifth_voids_it(browser: Client, ada: Person) -> None:
    browser.post(reverse("send-code", args=[ada.pk]), {"channel": "sms"})
    right = digits()
    said = []
    for _ in range(5):
        response = browser.post(reverse("check-code", args=[ada.pk]), {"code": wrong(right)})
        assert response.status_code == 422
        said += response.context["code_form"].errors["code"]
    after = browser.post(reverse("check-code", args=[ada.pk]), {"code": right})

    assert said == [
        "That code isn't right. 4 tries left.",
        "That code isn't right. 3 tries left.",
        "That code isn't right. 2 tries left.",
        "That code isn't right. 1 try left.",
        "This code was tried too often and no longer works. Ask for a new one.",
    ]
    assert after.status_code == 422
    assert "This code was tried too often" in after.content.decode()
    assert Number.objects.get(person=ada).verified_at is None


def test_an_old_code_says_that_it_expired(browser: Client, ada: Person) -> None:
    browser.post(reverse("send-code", args=[ada.pk]), {"channel": "sms"})
    code = digits()

    with time_machine.travel(world.NOW + timedelta(minutes=10, seconds=1), tick=False):
        response = browser.post(reverse("check-code", args=[ada.pk]), {"code": code})

    assert response.context["code_form"].errors == {"code": ["This code has expired. Ask for a new one."]}
    assert "This code has expired. Ask for a new one." in response.content.decode()
    assert Number.objects.get(person=ada).verified_at is None


@pytest.mark.parametrize("typed", ["12345", "1234567", "abcdef", "12 34", "١٢٣٤٥٦"])
def test_what_is_no_code_does_not_count_as_a_try(browser: Client, ada: Person, typed: str) -> None:
    browser.post(reverse("send-code", args=[ada.pk]), {"channel": "sms"})

    response = browser.post(reverse("check-code", args=[ada.pk]), {"code": typed})

    assert response.context["code_form"].errors == {"code": ["The code has 6 digits."]}
    assert VerificationCode.objects.get().checks == 0


def test_a_second_code_has_to_wait_a_minute_and_the_page_counts_down(browser: Client, ada: Person) -> None:
    browser.post(reverse("send-code", args=[ada.pk]), {"channel": "sms"})
    response = browser.post(reverse("send-code", args=[ada.pk]), {"channel": "whatsapp"}, follow=True)

    assert words_of(response) == [
        "Too many codes were asked for. Wait before asking for another one. You can try again in 1 minute."
    ]
    assert VerificationCode.objects.count() == 1
    assert 'data-wait="60"' in response.content.decode()


def test_anyone_else_gets_an_invite_and_a_call_can_not_be_asked_for(browser: Client, ada: Person) -> None:
    refused = browser.post(reverse("send-code", args=[ada.pk]), {"channel": "call"}, follow=True)
    assert words_of(refused) == ["Choose a text message or WhatsApp."]
    assert not VerificationCode.objects.exists()

    browser.post(reverse("send-code", args=[ada.pk]), {"channel": "sms"})

    assert list(VerificationCode.objects.values_list("is_invite", "channel")) == [(True, "sms")]


def test_a_person_who_stopped_gets_nothing_and_the_owner_a_link_to_hand_over(
    owner: Account, browser: Client, ada: Person
) -> None:
    acks.opt_out(ada.number.holder_id, via="sms", now=world.NOW)

    refused = browser.post(reverse("send-code", args=[ada.pk]), {"channel": "sms"}, follow=True)
    response = browser.post(reverse("hand-over-link", args=[ada.pk]))

    assert not VerificationCode.objects.exists()
    assert "Ada stopped all alerts" in refused.content.decode()
    link = response.context["link"]
    assert link in response.content.decode()
    page = Client().get(link.removeprefix("http://127.0.0.1:8000"))
    assert page.status_code == 200
    assert "Sam would like to send you alerts" in page.content.decode()


def test_a_new_link_ends_the_old_one(browser: Client, ada: Person) -> None:
    links = [browser.post(reverse("hand-over-link", args=[ada.pk])).context["link"] for _ in range(2)]

    statuses = [Client().get(link.removeprefix("http://127.0.0.1:8000")).status_code for link in links]

    assert statuses == [404, 200]


def test_renaming_takes_a_good_name_only(browser: Client, ada: Person) -> None:
    bad = browser.post(reverse("rename-person", args=[ada.pk]), {"name": "owner", "language": "en"})
    ada.refresh_from_db()
    assert bad.status_code == 422
    assert bad.context["form"].errors == {"name": ["“owner” always means the account's owner. Choose another name."]}
    assert ada.name == "Ada"

    browser.post(reverse("rename-person", args=[ada.pk]), {"name": "Ada L", "language": "fr"})

    ada.refresh_from_db()
    assert (ada.name, ada.language) == ("Ada L", "fr")


def test_removing_asks_first(browser: Client, ada: Person) -> None:
    asked = browser.get(reverse("remove-person", args=[ada.pk]))
    assert "Remove Ada?" in asked.content.decode()
    assert Number.objects.filter(person=ada).exists()

    response = browser.post(reverse("remove-person", args=[ada.pk]), follow=True)

    ada.refresh_from_db()
    assert words_of(response) == ["Ada is removed and gets no more alerts from this account."]
    assert ada.removed_at == world.NOW
    assert not Number.objects.filter(person=ada).exists()
    assert browser.get(reverse("person", args=[ada.pk])).status_code == 404


def test_another_number_can_become_the_owners(owner: Account, browser: Client, ada: Person) -> None:
    response = browser.post(reverse("pick-owner"), {"person": ada.pk}, follow=True)

    owner.refresh_from_db()
    assert owner.picked_person_id == ada.pk
    assert [row.recipient.shown for row in response.context["rows"]] == ["Sam", "Previous number"]


def test_a_strangers_person_can_not_become_the_owners(owner: Account, browser: Client, stranger: Account) -> None:
    response = browser.post(reverse("pick-owner"), {"person": stranger.own_person_id}, follow=True)

    owner.refresh_from_db()
    assert words_of(response) == ["Pick one of the people on the list."]
    assert owner.picked_person_id is None


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        ({}, "On its way by SMS"),
        ({"claimed_at": world.NOW, "sent_at": world.NOW}, "Sent by SMS at"),
        ({"claimed_at": world.NOW, "failure_reason": "R03"}, "The code could not be delivered by SMS."),
    ],
)
def test_the_waiting_page_says_how_the_code_is_doing(
    browser: Client, ada: Person, progress: dict[str, Any], words: str
) -> None:
    browser.post(reverse("send-code", args=[ada.pk]), {"channel": "sms"})
    VerificationCode.objects.update(**progress)

    line = browser.get(reverse("code-status", args=[ada.pk])).content.decode()

    assert words in line
    assert ("hx-get" in line) is (not progress)
    assert digits() not in line if not progress else True
