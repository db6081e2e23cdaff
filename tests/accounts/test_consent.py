"""Nobody is sent anything before they agree, and nothing after they stopped until they agree again.

Told as agents, owners and the person see it: tools by MCP, pages by their forms, the phone by what the carrier was
asked to send and by what it reports.
"""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.locking import locked
from accounts.models import Holder, Letter, Number, VerificationCode
from alerts import sending
from alerts.carriers.base import Refused
from alerts.models import Alert
from breakpass.errors import Refusal
from tests.accounts.sides import ADA, OPTED_OUT, Side, newest_digits
from tests.contract.course import Course, send, shown
from tests.factories import NumberFactory, PersonFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("load_rates", "course")]


def test_before_the_person_agrees_they_get_one_invitation_and_nothing_else(course: Course) -> None:
    side = Side("+12025550143", is_verified=False)
    for error in side.refusals():
        assert (error["code"], error["details"]) == ("RECIPIENT_NOT_VERIFIED", {"reason": "pending"})
    course.run()
    assert course.sent == []
    side.invite()
    digits = newest_digits()
    course.run()
    [invitation] = course.sent
    assert invitation.to == ADA
    for said in ("Sam invites you", digits, "Reply STOP to opt out."):
        assert said in invitation.text
    assert len(side.refusals()) == 4
    page = side.page()
    assert Client().post(f"{page}code/", {"code": digits}).status_code == 302
    assert side.number.verified_at == timezone.now()
    code = send(side.agent, "sms", recipient="Ada")
    course.run()
    assert [one.to for one in course.sent] == [ADA, ADA]
    assert shown(side.agent, code)["recipient"] == "Ada"


def test_an_invitation_that_was_stopped_on_its_way_is_not_sent(course: Course) -> None:
    side = Side("+12025550143", is_verified=False)
    side.invite()
    digits = newest_digits()
    course.write(ADA, "STOP")
    course.run()
    assert course.sent == []
    assert Client().post(f"{side.page()}code/", {"code": digits}).status_code == 422
    assert side.number.verified_at is None


def test_a_code_from_before_the_stop_is_held_back_even_where_the_stop_has_not_come_round(course: Course) -> None:
    side = Side("+12025550143", is_verified=False)
    side.invite()
    Holder.objects.filter(pk=side.number.holder_id).update(opted_out_at=timezone.now(), opted_out_via="sms")
    course.run()
    assert course.sent == []
    assert VerificationCode.objects.get().claimed_at is None


# --- after a stop


def test_start_turns_nothing_on_again(course: Course, mine: Side) -> None:
    course.write(ADA, "STOP")
    for word in ("START", "unstop", "YES"):
        course.wait(seconds=1)
        course.write(ADA, word)
        course.write(f"whatsapp:{ADA}", word, OptOutType="START")
    assert mine.refusals() == [OPTED_OUT] * 4


def test_the_owner_cannot_have_anything_sent_but_is_told_to_hand_over_the_link(course: Course, mine: Side) -> None:
    course.write(ADA, "STOP")
    course.wait(minutes=5)
    for channel in ("sms", "whatsapp", "call"):
        address = reverse("send-code", args=[mine.number.person_id])
        answer = mine.browser.post(address, {"channel": channel}, follow=True)
        said = [str(message) for message in answer.context["messages"]]
        assert len(said) == 1
        if channel != "call":
            assert said[0].endswith("Hand over the link to their own page: there they can ask for a code themselves.")
    with locked(mine.account.pk) as held, pytest.raises(Refusal) as refused:
        sending.start_test(held, mine.number.person, channel="sms", now=timezone.now())
    assert refused.value.as_error() == OPTED_OUT
    course.wait(minutes=5)
    assert course.sent == []
    assert not VerificationCode.objects.exists()
    assert not Alert.objects.exists()


def test_only_an_invite_and_a_code_asked_for_by_the_person_bring_them_back_and_on_that_account_only(
    course: Course, mine: Side, theirs: Side
) -> None:
    course.write(ADA, "STOP")
    course.wait(minutes=5)
    page, phone = mine.page(), Client()
    assert "You stopped alerts to this number." in phone.get(page).content.decode()
    phone.post(f"{page}send-code/", {"channel": "sms"})
    digits = newest_digits()
    course.run()
    assert [one.to for one in course.sent] == [ADA]
    assert mine.refusals() == [OPTED_OUT] * 4
    phone.post(f"{page}code/", {"code": digits})
    assert not mine.number.is_opted_out()
    assert send(mine.agent, "sms", recipient="Ada").startswith("A-")
    assert theirs.refusals() == [OPTED_OUT] * 4
    # And stopping again stops that too.
    course.wait(minutes=5)
    course.write(ADA, "stop")
    assert mine.refusals() == [OPTED_OUT] * 4
    told = Letter.objects.filter(kind="opted_out").values_list("account_id", flat=True)
    assert sorted(told) == sorted([mine.account.pk, mine.account.pk, theirs.account.pk])


def test_where_the_carrier_still_refuses_the_person_is_told_to_text_start_first(course: Course, mine: Side) -> None:
    course.write(ADA, "STOP")
    course.wait(minutes=5)
    page, phone = mine.page(), Client()
    course.carrier.answers = [Refused(21610, 400)]
    phone.post(f"{page}send-code/", {"channel": "sms"})
    course.run()
    shown_page = phone.get(page).content.decode()
    assert "text START to our number first, then ask again" in shown_page
    assert VerificationCode.objects.get().failure_reason == "R05"
    course.write(ADA, "START")
    course.wait(minutes=1)
    phone.post(f"{page}send-code/", {"channel": "sms"})
    digits = newest_digits()
    course.run()
    phone.post(f"{page}code/", {"code": digits})
    assert not mine.number.is_opted_out()


def test_a_person_removed_and_added_again_is_still_stopped(course: Course, mine: Side) -> None:
    course.write(ADA, "STOP")
    mine.browser.post(reverse("remove-person", args=[mine.number.person_id]))
    assert not Number.objects.filter(pk=mine.number_pk).exists()
    typed = {"name": "Ada again", "country": "US", "number": ADA, "language": "en"}
    mine.browser.post(reverse("add-person"), typed)
    number = Number.objects.get(person__name="Ada again")
    mine.browser.post(reverse("send-code", args=[number.person_id]), {"channel": "sms"})
    course.wait(minutes=5)
    assert course.sent == []
    assert mine.agent.refusal("send_sms", {"message": "Hello.", "recipient": "Ada again"}) == OPTED_OUT


# --- how often


def asked(course: Course, side: Side) -> str:
    """The owner asks for an invitation, which leaves at once; what the page says against it, if anything."""
    address = reverse("send-code", args=[side.number.person_id])
    answer = side.browser.post(address, {"channel": "sms"}, follow=True)
    course.run()
    return " ".join(str(message) for message in answer.context["messages"])


def test_one_number_is_asked_once_a_minute_three_times_in_ten_and_ten_times_a_day(course: Course) -> None:
    side = Side("+12025550143", is_verified=False)
    assert asked(course, side) == ""
    course.wait(seconds=59)
    assert "Too many codes were asked for." in asked(course, side)
    course.wait(seconds=1)
    assert asked(course, side) == ""
    course.wait(minutes=1)
    assert asked(course, side) == ""
    course.wait(minutes=7, seconds=59)
    assert "Too many codes were asked for." in asked(course, side)
    for _ in range(7):
        course.wait(minutes=10)
        assert asked(course, side) == ""
    course.wait(minutes=10)
    assert "Too many codes were asked for." in asked(course, side)
    assert VerificationCode.objects.count() == len(course.sent) == 10
    # The same number on another account has no allowance of its own; the next UTC day is a new one.
    other = Side("+12025550144", is_verified=False)
    assert "Too many codes were asked for." in asked(course, other)
    course.clock.move_to(timezone.now().replace(hour=0, minute=0) + timedelta(days=1))
    assert asked(course, other) == ""


def test_an_account_and_an_address_have_allowances_of_their_own(course: Course) -> None:
    side = Side("+12025550143", is_verified=False)
    for index in range(31):
        person = PersonFactory(account=side.account, name=f"Person {index}")
        number = NumberFactory(person=person, e164=f"+1202555{1000 + index}", verified_at=None)
        side.number_pk = number.pk
        said = asked(course, side)
        if index in (19, 29):
            assert said == ""
        # Twenty an hour from one address; thirty a day for one account.
        if index == 20:
            assert "Too many codes were asked for." in said
            course.wait(minutes=60)
            assert asked(course, side) == ""
        if index == 30:
            assert "Too many codes were asked for." in said
    assert VerificationCode.objects.count() == len(course.sent) == 30
