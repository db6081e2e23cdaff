"""Numbers: read, hidden, found by hash, counted against the plan, opted out."""

from datetime import timedelta

import pytest
from django.db import connection
from pytest_django import Settings

from accounts import numbers
from accounts.e164 import country_of, hash_number, mask, parse_number
from accounts.locking import locked
from accounts.models import Account, Holder, Number
from accounts.plans import set_plan
from accounts.sealing import seal, unseal
from breakpass.errors import Refusal
from tests.factories import LONG_AGO, NOW, AccountFactory, HolderFactory, NumberFactory, PersonFactory, PlanFactory


@pytest.mark.parametrize(
    ("raw", "country", "e164"),
    [
        ("+1 (202) 555-0143", "", "+12025550143"),
        ("202-555-0143", "US", "+12025550143"),
        ("020 7946 0018", "GB", "+442079460018"),
        ("06 12 34 56 78", "fr", "+33612345678"),
        ("+49 1512 3456789", "US", "+4915123456789"),
        ("tel:+12025550143", "", "+12025550143"),
    ],
)
def test_a_number_is_read_as_people_write_it(raw: str, country: str, e164: str) -> None:
    assert parse_number(raw, default_country=country) == e164


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("", "Enter a phone number with + and its country code."),
        ("Sam", "Enter a phone number with + and its country code."),
        ("2025550143", "Enter a phone number with + and its country code."),
        ("+1202555", "This isn't a phone number that can be reached. Check its digits."),
        ("+999123456789", "Enter a phone number with + and its country code."),
        ("+19005550143", "This kind of number can't get alerts. Use a mobile or landline number."),
        ("+881612345678", "This kind of number can't get alerts. Use a mobile or landline number."),
        ("+12025550190", "This is one of BreakPass's own numbers. Enter the person's number."),
    ],
)
def test_what_is_no_number_to_reach_is_refused_without_repeating_it(raw: str, why: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_number(raw)
    assert (refused.value.code, refused.value.message) == ("CONTENT_REJECTED", why)
    assert refused.value.details == {"field": "number", "rule": "format"}


def test_a_made_up_number_is_taken_on_a_development_machine_only(settings: Settings) -> None:
    assert parse_number("+447700900123") == "+447700900123"
    assert country_of("+447700900123") == "GB"
    assert country_of("+15550001111") == "US"
    settings.PRODUCTION = True
    with pytest.raises(Refusal):
        parse_number("+447700900123")
    assert parse_number("+12025550143") == "+12025550143"


@pytest.mark.parametrize(
    ("e164", "country"),
    [("+12025550143", "US"), ("+14165550143", "CA"), ("+17875550143", "PR"), ("+18765550143", "JM")],
)
def test_the_country_is_the_numbers_not_the_calling_codes(e164: str, country: str) -> None:
    assert country_of(e164) == country


def test_a_masked_number_shows_its_calling_code_and_two_digits() -> None:
    assert mask("+12025550143") == "+1 ••• ••• ••43"
    assert mask("+442079460018") == "+44 ••• ••• ••18"


def test_the_hash_depends_on_the_key(settings: Settings) -> None:
    first = hash_number("+12025550143")
    assert len(first) == 64
    assert hash_number("+12025550143") == first
    assert hash_number("+12025550144") != first
    settings.NUMBER_HASH_KEY = "another key"
    assert hash_number("+12025550143") != first


def test_what_is_sealed_hides_and_opens_again_also_after_a_new_key(settings: Settings) -> None:
    settings.NUMBER_KEYS = ["an old secret"]
    sealed = seal("+12025550143")
    assert b"2025550143" not in sealed
    assert seal("+12025550143") != sealed
    settings.NUMBER_KEYS = ["4YEBbXYgXZkEnXLuVIeXYTfvoW2BbGyHhKUdE6BGGxE=", "an old secret"]
    assert unseal(sealed) == "+12025550143"
    assert unseal(memoryview(seal("x"))) == "x"


@pytest.mark.django_db
def test_the_digits_are_nowhere_in_the_database_and_come_back_for_the_carrier() -> None:
    account = AccountFactory(number=None)
    assert account.own_person is not None
    with locked(account.pk) as held:
        number = numbers.add_number(held, account.own_person, e164="+12025550143", now=NOW)
    number.refresh_from_db()
    assert numbers.reveal(number) == "+12025550143"
    assert number.is_verified is False
    assert number.holder.country == "US"
    with connection.cursor() as cursor:
        cursor.execute("SELECT n::text, h::text FROM accounts_number n JOIN accounts_holder h ON h.id = n.holder_id")
        assert "2025550143" not in str(cursor.fetchall())


@pytest.mark.django_db
def test_two_accounts_share_the_holder_of_one_number() -> None:
    first, second = AccountFactory(number="+12025550143"), AccountFactory(number=None)
    assert second.own_person is not None
    with locked(second.pk) as held:
        number = numbers.add_number(held, second.own_person, e164="+12025550143", now=NOW)
    assert number.holder == Number.objects.get(account=first).holder
    assert Holder.objects.count() == 1


@pytest.mark.django_db
def test_a_number_is_on_an_account_once_and_a_person_has_one() -> None:
    account = AccountFactory(number="+12025550143")
    person = PersonFactory(account=account)
    assert account.own_person is not None
    with locked(account.pk) as held:
        with pytest.raises(Refusal) as twice:
            numbers.add_number(held, person, e164="+12025550143", now=NOW)
        with pytest.raises(Refusal) as second:
            numbers.add_number(held, account.own_person, e164="+12025550144", now=NOW)
    assert twice.value.message == "This number is on your account already."
    assert second.value.details == {"field": "number", "rule": "format"}
    assert Number.objects.count() == 1


def paused(account: Account) -> list[bool]:
    """Which of the account's numbers the plan pauses, the oldest first."""
    return list(
        Number.objects.filter(account=account).order_by("created_at", "pk").values_list("is_over_plan", flat=True)
    )


@pytest.mark.django_db
def test_the_newest_numbers_over_the_plans_cap_are_paused_and_come_back_with_room() -> None:
    account = AccountFactory(plan=PlanFactory(number_cap=2))
    second = PersonFactory(account=account)
    NumberFactory(person=second, created_at=LONG_AGO + timedelta(days=1))
    third = PersonFactory(account=account)
    with locked(account.pk) as held:
        added = numbers.add_number(held, third, e164="+12025550143", now=NOW)
    assert added.is_over_plan is True
    assert paused(account) == [False, False, True]
    with locked(account.pk) as held:
        set_plan(held, PlanFactory(number_cap=1), now=NOW)
    assert paused(account) == [False, True, True]
    with locked(account.pk) as held:
        set_plan(held, None, now=NOW)
    assert paused(account) == [False, False, False]


@pytest.mark.django_db
def test_a_stop_holds_on_every_account_until_each_verifies_again() -> None:
    holder = HolderFactory(e164="+12025550143")
    here = NumberFactory(person=PersonFactory(), e164="+12025550143", verified_at=LONG_AGO)
    there = NumberFactory(person=PersonFactory(), e164="+12025550143", verified_at=LONG_AGO)
    assert numbers.opt_out(holder, via="sms", now=NOW) is True
    assert (holder.opted_out_at, holder.opted_out_via) == (NOW, "sms")
    for number in Number.objects.select_related("holder").filter(holder=holder):
        assert number.is_opted_out() is True
        assert number.is_verified is True
    Number.objects.filter(pk=here.pk).update(verified_at=NOW + timedelta(minutes=1))
    assert Number.objects.get(pk=here.pk).is_opted_out() is False
    assert Number.objects.get(pk=there.pk).is_opted_out() is True


@pytest.mark.django_db
def test_stopping_again_changes_something_only_after_a_new_verification() -> None:
    number = NumberFactory(e164="+12025550143")
    assert numbers.opt_out(number.holder, via="sms", now=NOW) is True
    assert numbers.opt_out(number.holder, via="key", now=NOW + timedelta(minutes=5)) is False
    assert Holder.objects.get(pk=number.holder_id).opted_out_via == "sms"
    Number.objects.update(verified_at=NOW + timedelta(minutes=10))
    assert numbers.opt_out(number.holder, via="key", now=NOW + timedelta(minutes=20)) is True
    kept = Holder.objects.get(pk=number.holder_id)
    assert (kept.opted_out_at, kept.opted_out_via) == (NOW + timedelta(minutes=20), "key")
