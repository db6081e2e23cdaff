"""The pages of the people who get alerts: agreeing by the link, and stopping, without telling who is known."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts import invites
from accounts.locking import locked
from accounts.models import Account, Holder, Letter, Number, VerificationCode
from alerts import acks
from alerts.models import Alert
from tests import world
from tests.portal.test_people import digits, wrong
from tests.portal.test_start import words_of

UNKNOWN_NUMBER = "+12025550109"


@pytest.fixture
def ada(owner: Account) -> Number:
    """Invited, not verified."""
    return world.add_person(owner, "Ada", number=world.ADA_NUMBER, is_verified=False)


def link_of(number: Number) -> str:
    """The path of the holder's own page."""
    with locked(number.account_id) as account:
        return invites.renew_link(account, number).removeprefix("http://127.0.0.1:8000")


@pytest.mark.parametrize("channel", ["sms", "whatsapp", "call"])
def test_the_holder_agrees_with_a_code_they_asked_for(ada: Number, channel: str) -> None:
    link, client = link_of(ada), Client()
    assert "Sam would like to send you alerts" in client.get(link).content.decode()

    client.post(f"{link}send-code/", {"channel": channel})
    assert VerificationCode.objects.get().channel == channel
    response = client.post(f"{link}code/", {"code": digits()}, follow=True)

    ada.refresh_from_db()
    assert ada.verified_at == world.NOW
    assert "You get alerts from Sam" in response.content.decode()


def test_opening_the_link_agrees_to_nothing(ada: Number) -> None:
    Client().get(link_of(ada))

    ada.refresh_from_db()
    assert ada.verified_at is None
    assert not VerificationCode.objects.exists()


def test_a_wrong_code_is_said_beside_the_field(ada: Number) -> None:
    link, client = link_of(ada), Client()
    client.post(f"{link}send-code/", {"channel": "sms"})

    response = client.post(f"{link}code/", {"code": wrong(digits())})

    assert response.status_code == 422
    assert response.context["code_form"].errors == {"code": ["That code isn't right. 4 tries left."]}
    ada.refresh_from_db()
    assert ada.verified_at is None


def test_who_stopped_can_come_back_by_the_link_and_is_told_about_start(ada: Number) -> None:
    acks.opt_out(ada.holder_id, via="sms", now=world.NOW)
    link, client = link_of(ada), Client()
    assert "text START to our number first" in client.get(link).content.decode()

    client.post(f"{link}send-code/", {"channel": "sms"})

    assert VerificationCode.objects.count() == 1


def test_an_unknown_or_removed_link_is_not_found(ada: Number) -> None:
    link = link_of(ada)
    ada.delete()

    assert Client().get(link).status_code == 404
    assert Client().get("/join/unknown/").status_code == 404
    assert Client().post("/join/unknown/send-code/", {"channel": "sms"}).status_code == 404


def stop_page(client: Client, number: str, channel: str = "sms") -> Any:
    """Ask on the public page for the code that stops a number."""
    return client.post(reverse("stop"), {"country": "US", "number": number, "channel": channel}, follow=True)


def test_the_code_stops_everything_on_every_account(owner: Account, stranger: Account) -> None:
    ours = world.add_person(owner, "Ada", number=world.ADA_NUMBER)
    theirs = world.add_person(stranger, "Ada too", number=world.ADA_NUMBER)
    alert = world.run(owner, recipient="Ada").alert
    client = Client()

    stop_page(client, world.ADA_NUMBER)
    response = client.post(reverse("stop-code"), {"code": digits()})

    assert "No more alerts to this number" in response.content.decode()
    holder = Holder.objects.get(pk=ours.holder_id)
    assert (holder.opted_out_at, holder.opted_out_via) == (world.NOW, "page")
    assert all(Number.objects.get(pk=pk).is_opted_out() for pk in (ours.pk, theirs.pk))
    alert.refresh_from_db()
    assert (alert.status, alert.failure_code) == ("failed", "RECIPIENT_OPTED_OUT")
    assert set(Letter.objects.values_list("account_id", "kind")) == {
        (owner.pk, "opted_out"),
        (stranger.pk, "opted_out"),
    }


def test_asking_alone_stops_nothing(owner: Account) -> None:
    stop_page(Client(), world.OWNER_NUMBER)

    assert Holder.objects.filter(opted_out_at__isnull=False).count() == 0


def test_a_wrong_code_stops_nothing(owner: Account) -> None:
    client = Client()
    stop_page(client, world.OWNER_NUMBER)

    response = client.post(reverse("stop-code"), {"code": wrong(digits())})

    assert response.context["form"].errors == {"code": ["That code isn't right, or it has expired. Ask for a new one."]}
    assert Holder.objects.filter(opted_out_at__isnull=False).count() == 0


def without_tokens(response: Any) -> str:
    """A page without what differs from load to load."""
    lines = response.content.decode().splitlines()
    return "\n".join(line for line in lines if "csrfmiddlewaretoken" not in line)


def test_known_and_unknown_numbers_get_the_same_pages(owner: Account) -> None:
    known, unknown, stopped = Client(), Client(), Client()
    gone = world.add_person(owner, "Kim", number="+12025550172")
    acks.opt_out(gone.holder_id, via="sms", now=world.NOW)

    answers = [
        (stop_page(client, number), client.post(reverse("stop-code"), {"code": "000000"}))
        for client, number in ((known, world.OWNER_NUMBER), (unknown, UNKNOWN_NUMBER), (stopped, "+12025550172"))
    ]

    asked = [(first.redirect_chain, without_tokens(first)) for first, _ in answers]
    checked = [(second.status_code, without_tokens(second)) for _, second in answers]
    assert asked[0] == asked[1] == asked[2]
    assert checked[0] == checked[1] == checked[2]
    assert VerificationCode.objects.count() == 1
    assert not Holder.objects.filter(number_hash__isnull=True).exists()


def test_asking_again_at_once_looks_the_same_and_sends_no_second_code(owner: Account) -> None:
    client = Client()

    first = stop_page(client, world.OWNER_NUMBER)
    second = stop_page(client, world.OWNER_NUMBER)

    assert without_tokens(first) == without_tokens(second)
    assert VerificationCode.objects.count() == 1


def test_one_address_can_not_ask_for_ever(owner: Account) -> None:
    statuses = [stop_page(Client(), UNKNOWN_NUMBER).status_code for _ in range(11)]

    assert statuses == [200] * 10 + [429]


def test_a_bad_number_is_said_beside_the_field() -> None:
    response = stop_page(Client(), "12")

    assert response.status_code == 422
    assert response.context["form"].errors == {
        "number": ["This isn't a phone number that can be reached. Check its digits."]
    }


def test_the_code_page_alone_leads_back_to_the_number() -> None:
    response = Client().post(reverse("stop-code"), {"code": "123456"})

    assert response["Location"] == reverse("stop")


def test_the_link_alone_can_not_stop_a_number(ada: Number) -> None:
    """An owner has that link too, and could otherwise cut a number off from every account."""
    link, client = link_of(ada), Client()

    response = client.post(f"{link}stop/")

    assert response["Location"] == reverse("stop-code")
    assert Holder.objects.get(pk=ada.holder_id).opted_out_at is None
    client.post(reverse("stop-code"), {"code": digits()})
    assert Holder.objects.get(pk=ada.holder_id).opted_out_at == world.NOW
    assert not Alert.objects.exists()
    assert words_of(client.get(reverse("stop"))) == []
