"""The people on an account, by name: shown, found, added, renamed, removed; and who the owner is (seed 001)."""

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import IntegrityError, transaction

from accounts.locking import require_locked
from accounts.models import Account, Holder, Member, Number, Person, User, VerificationCode
from accounts.numbers import recount_plan
from breakpass.errors import Refusal
from breakpass.text import check_name, clean_name, rejection

OWNER: Final = "owner"
NOT_FOUND: Final = (
    "No one on this account has that name. Use a name from `recipients` in `get_setup_status`, or `owner` for the "
    "user's own number."
)
AMBIGUOUS: Final = (
    "Two or more people on the account share the name, so nothing was sent. The owner renames one in Settings > "
    "Phone numbers."
)


@dataclass(frozen=True, slots=True)
class Recipient:
    """A person as an alert can reach them. `was_named`: the call said whom, even if it said `owner`."""

    person: Person
    number: Number | None
    holder: Holder | None
    shown: str
    is_owner: bool
    was_named: bool


def shown_name(account: Account, person: Person) -> str:
    """The name agents see and use (seed 001, `recipients[].name`; behaviour, Numbers).

    The owner shows as the name from Settings, else "Owner"; the owner's own number, once another one is picked, as its
    own name, else "Previous number".
    """
    if person.pk == account.owner_person_id:
        return account.owner_name or "Owner"
    return person.name or "Previous number"


def label_of(name: str | None, shown: str) -> str:
    """What answers show for whoever was asked for by `name`: `owner` when that was the word, else the saved name."""
    return OWNER if name is not None and fold_name(name) == OWNER else shown


def list_recipients(account: Account) -> list[Recipient]:
    """Everyone on the account, the owner first, then in the order they came, with number and holder. One query."""
    people = account.people.filter(removed_at=None).select_related("number__holder").order_by("created_at", "pk")
    found = [_recipient(account, person, was_named=True) for person in people]
    return sorted(found, key=lambda recipient: not recipient.is_owner)


def find_recipient(account: Account, name: str | None) -> Recipient:
    """Whom a call means: by name in any case, `owner`, or nobody named (the owner). One query.

    Only people with a number count. Refuses RECIPIENT_NOT_FOUND and RECIPIENT_AMBIGUOUS (seed 001, Errors).
    """
    reachable = [each for each in list_recipients(account) if each.number is not None]
    wanted = fold_name(name) if name is not None else OWNER
    if wanted == OWNER:
        found = [each for each in reachable if each.is_owner]
    else:
        found = [each for each in reachable if fold_name(each.shown) == wanted]
    if not found:
        raise Refusal("RECIPIENT_NOT_FOUND", NOT_FOUND)
    if len(found) > 1:
        raise Refusal("RECIPIENT_AMBIGUOUS", AMBIGUOUS)
    return found[0] if name is not None else _recipient(account, found[0].person, was_named=False)


def add(account: Account, *, name: str, now: datetime, language: str = "en") -> Person:
    """A person without a number yet. Names may repeat. Refuses CONTENT_REJECTED, field `name`. Needs the lock."""
    require_locked(account)
    return Person.objects.create(account=account, name=_checked(name), language=language, created_at=now)


def rename(account: Account, person: Person, *, name: str, language: str | None = None) -> None:
    """Another name, and language if given. Renaming the owner's number changes the owner's name too, since it shows so.

    Refuses CONTENT_REJECTED, field `name`. Needs the locked account.
    """
    require_locked(account)
    cleaned = _checked(name)
    is_owner = person.pk == account.owner_person_id
    if is_owner and cleaned != (person.name or shown_name(account, person)):
        account.owner_name = cleaned
        account.save(update_fields=["owner_name"])
    person.name = cleaned
    person.language = language or person.language
    person.save(update_fields=["name", "language"])


def remove(account: Account, person: Person, *, now: datetime) -> None:
    """Take a person off the account: the number and its digits are deleted, open codes void. Needs the locked account.

    Alerts that still run to the number find it gone at their next step.
    """
    require_locked(account)
    VerificationCode.objects.filter(number__person=person, closed_at=None).update(closed_at=now, sealed=None)
    Number.objects.filter(account=account, person=person).delete()
    person.removed_at = now
    person.save(update_fields=["removed_at"])
    if person.pk == account.own_person_id:
        account.own_person = None
    if person.pk == account.picked_person_id:
        account.picked_person = None
    account.save(update_fields=["own_person", "picked_person"])
    recount_plan(account, now=now)


def pick_owner_person(account: Account, person: Person) -> None:
    """Settings > Your number: whom an alert reaches when nobody is named. Needs the locked account.

    Refuses RECIPIENT_NOT_FOUND for someone without a number or of another account.
    """
    require_locked(account)
    if not Number.objects.filter(account=account, person=person, person__removed_at=None).exists():
        raise Refusal("RECIPIENT_NOT_FOUND", "Pick one of the people on the account who has a number.")
    account.picked_person = None if person.pk == account.own_person_id else person
    account.save(update_fields=["picked_person"])


def open_own_person(account: Account, *, now: datetime) -> Person:
    """The person of the owner's own number, made when there is none. Needs the locked account."""
    require_locked(account)
    if account.own_person is None:
        account.own_person = Person.objects.create(account=account, created_at=now)
        account.save(update_fields=["own_person"])
    return account.own_person


def open_account(user: User, *, owner_name: str, now: datetime) -> Account:
    """An account with this login as its owner, and the owner's own person; the one there is when it has one already."""
    found = Account.objects.filter(members__user=user).first()
    if found is not None:
        return found
    name = clean_name(owner_name)
    if name:
        check_name(name, field="owner_name")
    try:
        with transaction.atomic():
            account = Account.objects.create(owner_name=name, workflows_updated_at=now, created_at=now)
            Member.objects.create(account=account, user=user, is_owner=True, created_at=now)
            account.own_person = Person.objects.create(account=account, created_at=now)
            account.save(update_fields=["own_person"])
    except IntegrityError:
        # The same login opened one at the same moment.
        return Account.objects.get(members__user=user)
    return account


def _recipient(account: Account, person: Person, *, was_named: bool) -> Recipient:
    number: Number | None = getattr(person, "number", None)
    return Recipient(
        person=person,
        number=number,
        holder=number.holder if number else None,
        shown=shown_name(account, person),
        is_owner=person.pk == account.owner_person_id,
        was_named=was_named,
    )


def _checked(name: str) -> str:
    cleaned = clean_name(name)
    check_name(cleaned, field="name")
    # Wide and ornamental letters too: nobody could tell that name from the word.
    if fold_name(unicodedata.normalize("NFKC", cleaned)) == OWNER:
        raise rejection("name", "format", "`owner` always means the account's owner. Choose another name.")
    return cleaned


def fold_name(name: str) -> str:
    """The form in which two names are compared: whatever their case and outer spaces (behaviour, Numbers)."""
    return unicodedata.normalize("NFC", name).strip().casefold()
