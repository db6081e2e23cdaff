"""get_setup_status through MCP, `recipients`: the people as an agent knows them, their channels, prices and room."""

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from accounts import people, plans
from accounts.locking import locked
from accounts.models import Account, Country, Holder, Person, Plan, Rate
from alerts import acks, sending
from alerts.models import Alert
from tests.contract.course import Course, following
from tests.factories import NOW, NumberFactory, PersonFactory
from tests.mcp_client import McpClient

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def course() -> Iterator[Course]:
    """Time and the carrier in the test's hands."""
    with following() as begun:
        yield begun


def named(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """The one entry of `recipients` with this name."""
    [found] = [each for each in answer["recipients"] if each["name"] == name]
    return dict(found)


def price(country: str, channel: str, **changes: Any) -> None:
    """Change one rate as staff would."""
    assert Rate.objects.filter(country=country, channel=channel).update(**changes) == 1


def own_person(account: Account) -> Person:
    """The person of the owner's own number."""
    return Person.objects.get(pk=account.own_person_id or 0)


def add(account: Account, name: str, number: str, *, is_verified: bool = True) -> Person:
    """Someone with a number."""
    person = PersonFactory(account=account, name=name)
    NumberFactory(person=person, e164=number, verified_at=NOW if is_verified else None)
    return person


def pick(account: Account, person: Person) -> None:
    """Settings > Your number."""
    with locked(account.pk) as held:
        people.pick_owner_person(held, person)


def shown(mcp: McpClient) -> tuple[list[tuple[str, bool]], str | None, str | None]:
    """Who is on the account, the default recipient, and the owner's name."""
    answer = mcp.call("get_setup_status")
    each = [(entry["name"], entry["is_owner"]) for entry in answer["recipients"]]
    return each, answer["default_recipient"], answer["owner_name"]


def test_without_a_name_in_settings_the_owner_is_owner(mcp: McpClient, account: Account) -> None:
    Account.objects.update(owner_name="")
    assert shown(mcp) == ([("Owner", True)], "Owner", None)
    assert mcp.call("send_sms", {"message": "Hello.", "recipient": "OWNER"})["recipient"] == "owner"


def test_once_another_number_is_picked_the_own_one_is_the_previous_number(mcp: McpClient, account: Account) -> None:
    work = add(account, "Work phone", "+12025550171")
    assert shown(mcp) == ([("Sam", True), ("Work phone", False)], "Sam", "Sam")
    pick(account, work)
    assert shown(mcp) == ([("Sam", True), ("Previous number", False)], "Sam", "Sam")
    assert mcp.call("send_sms", {"message": "Hello.", "recipient": "previous NUMBER"})["recipient"] == "Previous number"
    assert Alert.objects.get().person_id == account.own_person_id
    mcp.call("send_sms", {"message": "Hello again."})
    assert Alert.objects.get(message="Hello again.").person_id == work.pk
    assert mcp.refusal("send_sms", {"message": "Hello.", "recipient": "Work phone"})["code"] == "RECIPIENT_NOT_FOUND"


def test_the_own_number_keeps_its_name_and_gets_its_place_back(mcp: McpClient, account: Account) -> None:
    with locked(account.pk) as held:
        people.rename(held, own_person(account), name="Sam")
    work = add(account, "Work phone", "+12025550171")
    pick(account, work)
    Account.objects.update(owner_name="Samuel")
    assert shown(mcp) == ([("Samuel", True), ("Sam", False)], "Samuel", "Samuel")
    pick(account, own_person(account))
    assert shown(mcp) == ([("Samuel", True), ("Work phone", False)], "Samuel", "Samuel")


def test_without_an_own_number_nobody_is_the_owner(mcp: McpClient, account: Account) -> None:
    add(account, "Ada", "+12025550171")
    with locked(account.pk) as held:
        people.remove(held, own_person(account), now=NOW)
    assert shown(mcp) == ([("Ada", False)], None, "Sam")


def test_names_may_repeat_and_people_without_a_number_are_not_listed(mcp: McpClient, account: Account) -> None:
    add(account, "Ada", "+12025550171")
    add(account, "Ada", "+12025550172", is_verified=False)
    PersonFactory(account=account, name="No number")
    PersonFactory(name="Somebody else's", number="+12025550173")
    assert shown(mcp)[0] == [("Sam", True), ("Ada", False), ("Ada", False)]


def test_stopping_takes_no_verification_back(mcp: McpClient, account: Account) -> None:
    acks.opt_out(Holder.objects.get().pk, via="sms", now=NOW)
    answer = mcp.call("get_setup_status")
    assert (answer["account_state"], named(answer, "Sam")["verified"]) == ("ready", True)


def test_a_number_paused_by_the_plan_is_listed_as_it_is(mcp: McpClient, account: Account) -> None:
    add(account, "Ada", "+12025550171")
    one = Plan.objects.create(name="One number", is_paid=True, number_cap=1)
    with locked(account.pk) as held:
        plans.set_plan(held, one, now=NOW)
    assert named(mcp.call("get_setup_status"), "Ada")["verified"] is True
    refused = mcp.refusal("send_sms", {"message": "Hello.", "recipient": "Ada"})
    assert (refused["code"], refused["details"]) == ("RECIPIENT_NOT_VERIFIED", {"reason": "plan_limit"})


# --- channels, prices, room


@pytest.mark.parametrize(
    ("number", "channels", "prices", "room"),
    [
        ("+12025550171", ("unknown", "available", "available"), (3, 3, 8), (600, 98, 61, 150)),
        ("+14165550171", ("unknown", "available", "available"), (3, 3, 8), (600, 98, 61, 150)),
        ("+17875550171", ("unknown", "available", "available"), (3, 3, 8), (600, 98, 61, 150)),
        ("+525512345678", ("unknown", "available", "available"), (6, 14, 35), (600, 149, None, 150)),
        ("+447700900123", ("unknown", "available", "available"), (5, 9, 18), (600, 160, None, 150)),
        ("+5351234567", ("no", "unavailable", "unavailable"), (None, None, None), (None, None, None, None)),
    ],
)
def test_capability_price_and_room_by_where_the_number_is(
    mcp: McpClient,
    account: Account,
    number: str,
    channels: tuple[str, ...],
    prices: tuple[int | None, ...],
    room: tuple[int | None, ...],
) -> None:
    add(account, "Ada", number)
    entry = named(mcp.call("get_setup_status"), "Ada")
    assert tuple(entry["channels"].values()) == channels
    assert list(entry["channels"]) == ["whatsapp", "sms", "call"]
    assert entry["price_cents"] == dict(zip(("whatsapp", "sms", "call"), prices, strict=True))
    assert entry["max_chars"] == dict(zip(("whatsapp", "sms", "sms_confirm_link", "call"), room, strict=True))


def test_a_long_host_leaves_less_room_for_text_beside_the_link(mcp: McpClient, settings: Settings) -> None:
    settings.LINK_BASE_URL = "https://alerts.a-rather-long-host.example.com"
    entry = named(mcp.call("get_setup_status"), "Sam")
    # A space, the host, "/a/", and a token of nine characters.
    assert entry["max_chars"]["sms_confirm_link"] == 98 - (1 + len(settings.LINK_BASE_URL) + 3 + 9)
    assert entry["max_chars"]["sms"] == 98


@pytest.mark.parametrize("known", ["yes", "no", "unknown"])
def test_whatsapp_is_what_is_known_of_the_number(mcp: McpClient, known: str) -> None:
    Holder.objects.update(whatsapp=known)
    entry = named(mcp.call("get_setup_status"), "Sam")
    assert entry["channels"]["whatsapp"] == known
    # The channel is offered there, whoever holds the number.
    assert (entry["price_cents"]["whatsapp"], entry["max_chars"]["whatsapp"]) == (3, 600)


@pytest.mark.parametrize(
    ("channel", "status", "shown_as"),
    [
        ("whatsapp", "coming_soon", "no"),
        ("whatsapp", "unavailable", "no"),
        ("sms", "coming_soon", "coming_soon"),
        ("sms", "unavailable", "unavailable"),
        ("call", "coming_soon", "unavailable"),
        ("call", "unavailable", "unavailable"),
    ],
)
def test_a_channel_that_is_not_offered_has_no_price_and_no_room(
    mcp: McpClient, channel: str, status: str, shown_as: str
) -> None:
    price("US", channel, status=status)
    entry = named(mcp.call("get_setup_status"), "Sam")
    assert entry["channels"][channel] == shown_as
    assert (entry["price_cents"][channel], entry["max_chars"][channel]) == (None, None)
    assert sum(cents is None for cents in entry["price_cents"].values()) == 1


def test_a_country_that_staff_switched_off_offers_nothing(mcp: McpClient) -> None:
    Country.objects.filter(code="US").update(is_offered=False)
    entry = named(mcp.call("get_setup_status"), "Sam")
    assert entry["channels"] == {"whatsapp": "no", "sms": "unavailable", "call": "unavailable"}
    assert set(entry["price_cents"].values()) == set(entry["max_chars"].values()) == {None}


@pytest.mark.parametrize(
    ("setting", "channel", "shown_as"),
    [
        ("TWILIO_WHATSAPP_FROM", "whatsapp", "no"),
        ("TWILIO_CONTENT_SID_ALERT", "whatsapp", "no"),
        ("TWILIO_CONTENT_SID_ALERT_ACK", "whatsapp", "no"),
        ("TWILIO_SMS_FROM", "sms", "unavailable"),
        ("TWILIO_VOICE_FROM", "call", "unavailable"),
    ],
)
def test_a_channel_without_a_sender_or_template_is_not_offered(
    mcp: McpClient, settings: Settings, setting: str, channel: str, shown_as: str
) -> None:
    setattr(settings, setting, "")
    entry = named(mcp.call("get_setup_status"), "Sam")
    assert (entry["channels"][channel], entry["price_cents"][channel]) == (shown_as, None)


def test_a_rate_that_demands_a_test_shows_its_price_before_and_after(
    mcp: McpClient, account: Account, course: Course
) -> None:
    Rate.objects.filter(country="US", channel="sms").update(needs_test=True)
    entry = named(mcp.call("get_setup_status"), "Sam")
    assert (entry["channels"]["sms"], entry["price_cents"]["sms"]) == ("available", 3)
    refused = mcp.refusal("send_sms", {"message": "Hello."})
    assert (refused["code"], refused["details"]["reason"]) == ("CHANNEL_UNAVAILABLE", "test_alert_pending")
    with locked(account.pk) as held:
        assert held.own_person is not None
        test = sending.start_test(held, held.own_person, channel="sms", now=NOW)
    assert mcp.refusal("send_sms", {"message": "Hello."})["details"]["reason"] == "test_alert_pending"
    course.run()
    course.report(test.code, 1, "delivered")
    assert mcp.call("send_sms", {"message": "Hello."})["status"] == "queued"
