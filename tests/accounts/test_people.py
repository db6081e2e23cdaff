"""People by name: how the owner shows, who is found, what a name may be."""

import pytest
from django.db import IntegrityError, transaction
from pytest_django import DjangoAssertNumQueries

from accounts import people
from accounts.locking import locked
from accounts.models import Account, Number, Person, VerificationCode
from breakpass.errors import Refusal
from tests.factories import NOW, AccountFactory, NumberFactory, PersonFactory, UserFactory

pytestmark = pytest.mark.django_db


def shown(account: Account) -> list[tuple[str, bool]]:
    """Everyone's name, and whether they are the owner."""
    account.refresh_from_db()
    return [(each.shown, each.is_owner) for each in people.list_recipients(account)]


def own_person(account: Account) -> Person:
    """The person of the owner's own number."""
    assert account.own_person is not None
    return account.own_person


def test_the_owner_shows_as_the_name_from_settings_else_owner() -> None:
    account = AccountFactory(owner_name="Sam")
    assert shown(account) == [("Sam", True)]
    Account.objects.filter(pk=account.pk).update(owner_name="")
    assert shown(account) == [("Owner", True)]


def test_once_another_number_is_picked_the_own_one_keeps_its_name_or_is_the_previous_number() -> None:
    account = AccountFactory(owner_name="Sam")
    work = PersonFactory(account=account, name="Work phone", number=True)
    with locked(account.pk) as held:
        people.pick_owner_person(held, work)
    assert shown(account) == [("Sam", True), ("Previous number", False)]
    with locked(account.pk) as held:
        people.rename(held, own_person(account), name="Old phone")
    assert shown(account) == [("Sam", True), ("Old phone", False)]
    with locked(account.pk) as held:
        people.pick_owner_person(held, own_person(account))
    assert shown(account) == [("Sam", True), ("Work phone", False)]


def test_everyone_is_listed_in_one_query_the_owner_first(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    account = AccountFactory()
    for name in ("Ada", "Bo", "Cy"):
        PersonFactory(account=account, name=name, number=True)
    PersonFactory(account=account, name="No number yet")
    PersonFactory(name="A stranger", number=True)
    with django_assert_num_queries(1):
        found = people.list_recipients(account)
    # The own person came first, because the account did.
    assert [each.shown for each in found] == ["Sam", "Ada", "Bo", "Cy", "No number yet"]
    assert [each.number is None for each in found] == [False, False, False, False, True]


@pytest.mark.parametrize("name", ["ada", "ADA", "  Ada "])
def test_a_name_is_found_in_any_case_and_with_spaces_around(name: str) -> None:
    account = AccountFactory()
    person = PersonFactory(account=account, name="Ada", number=True)
    found = people.find_recipient(account, name)
    assert (found.person, found.shown, found.was_named) == (person, "Ada", True)
    assert found.number is not None
    assert found.holder == found.number.holder


def test_accents_match_however_they_are_composed() -> None:
    account = AccountFactory()
    person = PersonFactory(account=account, name="Zo\u00eb", number=True)
    assert people.find_recipient(account, "zoe\u0308").person == person


def test_owner_and_nobody_both_mean_the_owner_but_are_told_apart() -> None:
    account = AccountFactory()
    named, unnamed = people.find_recipient(account, "Owner"), people.find_recipient(account, None)
    assert named.person == unnamed.person == account.own_person
    assert (named.was_named, unnamed.was_named) == (True, False)
    assert people.find_recipient(account, "sam").person == account.own_person


@pytest.mark.parametrize("name", ["Eve", "", "Ad", "No number yet", "Gone"])
def test_whoever_is_not_on_the_account_with_a_number_is_not_found(name: str) -> None:
    account = AccountFactory()
    PersonFactory(account=account, name="Ada", number=True)
    PersonFactory(account=account, name="No number yet")
    PersonFactory(account=account, name="Gone", removed_at=NOW)
    PersonFactory(name="Eve", number=True)
    with pytest.raises(Refusal) as refused:
        people.find_recipient(account, name)
    assert refused.value.as_error() == {
        "code": "RECIPIENT_NOT_FOUND",
        "message": "No one on this account has that name. Use a name from `recipients` in `get_setup_status`, or "
        "`owner` for the user's own number.",
    }


def test_a_shared_name_is_ambiguous() -> None:
    account = AccountFactory()
    PersonFactory(account=account, name="Ada", number=True)
    PersonFactory(account=account, name="ADA", number=True)
    with pytest.raises(Refusal) as refused:
        people.find_recipient(account, "ada")
    assert refused.value.code == "RECIPIENT_AMBIGUOUS"
    assert refused.value.message == (
        "Two or more people on the account share the name, so nothing was sent. The owner renames one in Settings > "
        "Phone numbers."
    )


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("x" * 31, "max_length"),
        ("...", "format"),
        ("owner", "format"),
        ("\uff4f\uff57\uff4e\uff45\uff52", "format"),
        ("ow\u200bner", "format"),
        (" OWNER ", "format"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(name: str, rule: str) -> None:
    account = AccountFactory()
    with pytest.raises(Refusal) as refused, locked(account.pk) as held:
        people.add(held, name=name, now=NOW)
    assert refused.value.code == "CONTENT_REJECTED"
    assert (refused.value.details["field"], refused.value.details["rule"]) == ("name", rule)
    assert Person.objects.filter(account=account).count() == 1


def test_the_database_keeps_owner_for_the_owner_too() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        PersonFactory(name="Owner")


def test_a_name_is_cleaned_and_may_repeat() -> None:
    account = AccountFactory()
    with locked(account.pk) as held:
        first = people.add(held, name="  Ada \n Lovelace ", now=NOW, language="de")
        second = people.add(held, name="Ada Lovelace", now=NOW)
    assert (first.name, first.language) == ("Ada Lovelace", "de")
    assert (second.name, second.language) == ("Ada Lovelace", "en")


def test_renaming_the_owners_number_renames_the_owner_but_saving_it_unchanged_does_not() -> None:
    account = AccountFactory(owner_name="Sam")
    with locked(account.pk) as held:
        people.rename(held, own_person(account), name="Samuel", language="fr")
    assert shown(account) == [("Samuel", True)]
    work = PersonFactory(account=account, name="Work phone", number=True)
    with locked(account.pk) as held:
        people.pick_owner_person(held, work)
        people.rename(held, work, name="Work phone", language="fr")
    assert shown(account) == [("Samuel", True), ("Samuel", False)]


def test_a_removed_person_loses_number_and_codes_and_is_forgotten_as_owner() -> None:
    account = AccountFactory()
    work = PersonFactory(account=account, name="Work phone", number="+12025550143")
    number = Number.objects.get(person=work)
    VerificationCode.objects.create(
        number=number,
        number_hash=number.holder.number_hash,
        account=account,
        channel="sms",
        code_hash="x",
        sealed=b"x",
        created_at=NOW,
        expires_at=NOW,
    )
    with locked(account.pk) as held:
        people.pick_owner_person(held, work)
        people.remove(held, work, now=NOW)
    assert shown(account) == [("Sam", True)]
    assert account.picked_person is None
    assert not Number.objects.filter(pk=number.pk).exists()
    code = VerificationCode.objects.get()
    assert (code.number, code.closed_at, code.sealed) == (None, NOW, None)
    NumberFactory(person=PersonFactory(account=account), e164="+12025550143")


def test_removing_the_own_number_makes_room_for_another() -> None:
    account = AccountFactory()
    old = own_person(account)
    with locked(account.pk) as held:
        people.remove(held, old, now=NOW)
        assert held.own_person is None
        new = people.open_own_person(held, now=NOW)
        assert people.open_own_person(held, now=NOW) == new
    assert new != old
    assert shown(account) == [("Sam", True)]


def test_only_a_person_of_the_account_with_a_number_can_be_picked() -> None:
    account = AccountFactory()
    for person in (PersonFactory(account=account), PersonFactory(number=True)):
        with pytest.raises(Refusal) as refused, locked(account.pk) as held:
            people.pick_owner_person(held, person)
        assert refused.value.code == "RECIPIENT_NOT_FOUND"
    account.refresh_from_db()
    assert account.picked_person is None


def test_an_account_opens_once_per_login() -> None:
    user = UserFactory()
    account = people.open_account(user, owner_name=" Sam ", now=NOW)
    assert people.open_account(user, owner_name="Other", now=NOW) == account
    assert (account.owner_name, account.workflows_version, account.own_person is None) == ("Sam", 1, False)
    member = account.members.get()
    assert (member.user, member.is_owner) == (user, True)
    assert people.list_recipients(account)[0].number is None
