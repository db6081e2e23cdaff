"""Where an account is in setup: states, blockers, links, and the whole get_setup_status answer."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts import ledger, numbers, readiness, standing
from accounts.channels import ChannelState
from accounts.ledger import HoldRequest
from accounts.locking import locked
from accounts.models import Account, Country, Holder, Number, Rate
from breakpass.errors import Refusal
from tests.factories import NOW, AccountFactory, NumberFactory, PersonFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("load_rates")]
START = "http://127.0.0.1:8000/start/"
PAYMENT = {"code": "payment_needed", "message": "Payment is missing: the owner adds balance first."}
RESIDENCE = {"code": "residence_needed", "message": "The owner has not confirmed their country of residence."}
VERIFICATION = {"code": "verification_needed", "message": "No phone number on the account is verified yet."}


@pytest.fixture(autouse=True)
def base_url(settings: Any) -> None:
    """Links as an installation of its own has them."""
    settings.BASE_URL = "http://127.0.0.1:8000"


def max_chars(sms_sender: str, states: dict[str, ChannelState]) -> dict[str, int | None]:
    """Tells apart what it was called with."""
    room = {"us_ca": 98, "numeric": 149, "alphanumeric": 160}[sms_sender]
    return {
        "whatsapp": 600 if states["whatsapp"].is_offered else None,
        "sms": room if states["sms"].is_offered else None,
        "sms_confirm_link": None,
        "call": 150 if states["call"].is_offered else None,
    }


def status(account: Account, *, is_connected: bool = True) -> dict[str, Any]:
    """The answer for the account as its row is now."""
    fresh = Account.objects.select_related("plan").get(pk=account.pk)
    return readiness.setup_status(fresh, is_connected=is_connected, max_chars=max_chars, now=NOW)


def linked(blocker: dict[str, str], place: str) -> dict[str, str]:
    """A blocker as it reads once payment is there."""
    return {**blocker, "action_url": f"{START}#{place}"}


def test_a_ready_account_gives_the_whole_answer() -> None:
    Rate.objects.filter(country="US", channel="whatsapp").update(price_cents=3)
    Rate.objects.filter(country="US", channel="sms").update(price_cents=4)
    Rate.objects.filter(country="US", channel="call").update(price_cents=8)
    account = AccountFactory(balance_cents=2500)
    with locked(account.pk) as held:
        ledger.hold(held, [HoldRequest("attempt:1", 60), HoldRequest("attempt:2", 40)], now=NOW)
        ledger.capture(held, ref="attempt:2", amount_cents=40, now=NOW)
    assert status(account) == {
        "account_state": "ready",
        "readiness": {"account_connected": True, "delivery_ready": True, "agent_guidance_configured": False},
        "onboarding_complete": True,
        "blockers": [],
        "recipients": [
            {
                "name": "Sam",
                "is_owner": True,
                "verified": True,
                "channels": {"whatsapp": "unknown", "sms": "available", "call": "available"},
                "price_cents": {"whatsapp": 3, "sms": 4, "call": 8},
                "max_chars": {"whatsapp": 600, "sms": 98, "sms_confirm_link": None, "call": 150},
            }
        ],
        "default_recipient": "Sam",
        "owner_name": "Sam",
        "balance_cents": 2400,
        "reserved_cents": 60,
        "spent_today_cents": 40,
        "workflows_version": 1,
        "setup_url": START,
    }


@pytest.mark.parametrize("people", [0, 1, 7])
def test_the_answer_takes_five_queries_for_any_number_of_people(
    people: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    account = AccountFactory()
    for index in range(people):
        person = PersonFactory(account=account)
        NumberFactory(person=person, e164=f"+4915123456{index:03d}" if index % 2 else f"+1416555{index:04d}")
    Rate.objects.filter(country="US").update(needs_test=True)
    with django_assert_max_num_queries(6):  # one of them reads the account
        assert len(status(account)["recipients"]) == people + 1


@pytest.mark.parametrize(
    ("missing", "state", "blockers"),
    [
        ({"first_payment_at": None}, "payment_needed", [PAYMENT]),
        (
            {"first_payment_at": None, "residence_confirmed_at": None, "is_verified": False},
            "payment_needed",
            [PAYMENT, RESIDENCE, VERIFICATION],
        ),
        ({"residence_confirmed_at": None}, "verification_needed", [linked(RESIDENCE, "residence")]),
        ({"is_verified": False}, "verification_needed", [linked(VERIFICATION, "number")]),
        (
            {"residence_confirmed_at": None, "number": None},
            "verification_needed",
            [linked(RESIDENCE, "residence"), linked(VERIFICATION, "number")],
        ),
    ],
)
def test_what_is_missing_shows_in_order_with_links_only_once_payment_is_there(
    missing: dict[str, Any], state: str, blockers: list[dict[str, str]]
) -> None:
    account = AccountFactory(**missing)
    answer = status(account)
    is_paid = account.first_payment_at is not None
    assert (answer["account_state"], answer["blockers"]) == (state, blockers)
    assert answer["readiness"]["delivery_ready"] is False
    assert answer["onboarding_complete"] is False
    assert answer.get("setup_url") == (START if is_paid else None)
    assert readiness.blockers(account) == blockers
    with pytest.raises(Refusal) as refused:
        readiness.check_ready(account)
    assert refused.value.code == "SETUP_INCOMPLETE"
    assert refused.value.message == f"Setup isn't finished. {blockers[0]['message']}"
    expected: dict[str, Any] = {"blockers": blockers}
    assert refused.value.details == (expected | {"setup_url": START} if is_paid else expected)


def test_any_verified_number_is_enough_and_a_ready_account_is_not_refused() -> None:
    account = AccountFactory(is_verified=False)
    PersonFactory(account=account, number=True)
    assert status(account)["account_state"] == "ready"
    readiness.check_ready(account)
    readiness.check_standing(account)


def test_a_number_that_stopped_still_counts_as_verified() -> None:
    account = AccountFactory()
    numbers.opt_out(Holder.objects.get(), via="sms", now=NOW)
    answer = status(account)
    assert (answer["account_state"], answer["recipients"][0]["verified"]) == ("ready", True)


def test_an_account_without_agent_is_not_onboarded() -> None:
    answer = status(AccountFactory(), is_connected=False)
    assert answer["readiness"]["account_connected"] is False
    assert answer["readiness"]["delivery_ready"] is True
    assert answer["onboarding_complete"] is False


def test_a_suspended_account_is_answered_and_may_not_send() -> None:
    account = AccountFactory()
    with locked(account.pk) as held:
        standing.suspend(held, reason="spam", now=NOW)
    answer = status(account)
    assert answer["account_state"] == "suspended"
    assert answer["readiness"]["delivery_ready"] is False
    assert answer["blockers"] == []
    account.refresh_from_db()
    with pytest.raises(Refusal) as refused:
        readiness.check_standing(account)
    assert (refused.value.code, refused.value.message) == (
        "ACCOUNT_SUSPENDED",
        "This BreakPass account is suspended.",
    )


def test_a_closed_account_is_refused_even_its_setup_status() -> None:
    account = AccountFactory()
    with locked(account.pk) as held:
        standing.close(held, now=NOW)
    with pytest.raises(Refusal) as refused:
        status(account)
    assert refused.value.as_error() == {"code": "ACCOUNT_SUSPENDED", "message": "This BreakPass account is closed."}


def test_sends_paused_until_a_number_is_verified_read_so() -> None:
    account = AccountFactory()
    with locked(account.pk) as held:
        standing.pause_until_verified(held)
    answer = status(account)
    sentence = "Sending is paused until a phone number on the account is verified again."
    assert answer["account_state"] == "verification_needed"
    assert answer["blockers"] == [{"code": "verification_needed", "message": sentence, "action_url": f"{START}#number"}]
    account.refresh_from_db()
    with pytest.raises(Refusal) as refused:
        readiness.check_standing(account)
    assert (refused.value.code, refused.value.message) == ("ACCOUNT_SUSPENDED", sentence)


def test_without_an_owner_number_there_is_no_default_recipient() -> None:
    account = AccountFactory(number=None, owner_name="")
    PersonFactory(account=account, name="Ada", number=True)
    answer = status(account)
    assert [each["name"] for each in answer["recipients"]] == ["Ada"]
    assert (answer["default_recipient"], answer["owner_name"]) == (None, None)
    nobody = status(AccountFactory(number=None))
    assert (nobody["recipients"], nobody["default_recipient"]) == ([], None)


def test_the_picked_number_is_the_default_under_the_owners_name() -> None:
    account = AccountFactory()
    work = PersonFactory(account=account, name="Work phone", number=True)
    Account.objects.filter(pk=account.pk).update(picked_person=work)
    answer = status(account)
    shown = [(each["name"], each["is_owner"]) for each in answer["recipients"]]
    assert shown == [("Sam", True), ("Previous number", False)]
    assert answer["default_recipient"] == "Sam"


def channels_of(account: Account) -> tuple[dict[str, str], dict[str, int | None], dict[str, int | None]]:
    """The owner's channels, prices and room."""
    recipient = status(account)["recipients"][0]
    return recipient["channels"], recipient["price_cents"], recipient["max_chars"]


def test_a_channel_that_is_not_offered_has_no_price_and_no_room() -> None:
    account = AccountFactory()
    Rate.objects.filter(country="US", channel="sms").update(status="coming_soon")
    Rate.objects.filter(country="US", channel="call").update(status="unavailable")
    Holder.objects.update(whatsapp="yes")
    channels, prices, room = channels_of(account)
    assert channels == {"whatsapp": "yes", "sms": "coming_soon", "call": "unavailable"}
    assert (prices["sms"], prices["call"]) == (None, None)
    assert room == {"whatsapp": 600, "sms": None, "sms_confirm_link": None, "call": None}


def test_in_a_country_that_is_switched_off_nothing_is_offered(settings: Any) -> None:
    account = AccountFactory()
    Country.objects.filter(code="US").update(is_offered=False)
    channels, prices, _ = channels_of(account)
    assert channels == {"whatsapp": "no", "sms": "unavailable", "call": "unavailable"}
    assert set(prices.values()) == {None}
    Country.objects.filter(code="US").update(is_offered=True)
    settings.TWILIO_SMS_FROM = settings.TWILIO_SMS_FROM_ALPHANUMERIC = ""
    assert channels_of(account)[0]["sms"] == "unavailable"


def test_the_owners_price_limit_hides_no_price() -> None:
    account = AccountFactory(max_price_cents=0)
    Rate.objects.filter(country="US").update(price_cents=5, reduced_cents=0)
    channels, prices, _ = channels_of(account)
    assert channels["call"] == "available"
    assert set(prices.values()) == {5}


def test_no_answer_holds_a_number_or_a_country() -> None:
    account = AccountFactory(number="+12025550143")
    said = repr(status(account))
    assert Number.objects.count() == 1
    assert "555" not in said
    assert "US" not in said
