"""Builds the objects of tests. An account from here is ready to send: paid, resident, its owner's number verified."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from django.db.models import Model
from factory.declarations import LazyAttribute, SelfAttribute, Sequence, SubFactory
from factory.django import DjangoModelFactory

from accounts import ledger
from accounts.locking import locked
from accounts.models import Account, Connection, Holder, Member, Number, Person, Plan, User
from accounts.numbers import country_of, hash_number
from accounts.sealing import seal

NOW = datetime(2026, 10, 3, 19, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=30)


M = TypeVar("M", bound=Model)


class Factory(DjangoModelFactory[M]):
    """Calling a factory gives the object it builds, which type checkers would not know without being told."""

    class Meta:
        abstract = True

    if TYPE_CHECKING:

        def __new__(cls, **kwargs: Any) -> M: ...  # type: ignore[misc]  # a factory makes a model


class UserFactory(Factory[User]):
    """A login without a password."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    email = Sequence(lambda n: f"owner{n}@example.com")


class PlanFactory(Factory[Plan]):
    """A paid plan for ten numbers."""

    class Meta:
        model = Plan

    name = Sequence(lambda n: f"Plan {n}")
    is_paid = True
    number_cap = 10


class HolderFactory(Factory[Holder]):
    """Whoever holds `e164`; the same number gives the same holder."""

    class Meta:
        model = Holder
        django_get_or_create = ("number_hash",)

    class Params:
        e164 = Sequence(lambda n: f"+1202555{n % 10000:04d}")

    number_hash = LazyAttribute(lambda o: hash_number(o.e164))
    country = LazyAttribute(lambda o: country_of(o.e164))


class AccountFactory(Factory[Account]):
    """A ready account. `balance_cents` comes by the ledger; `number=None` leaves the owner without a number.

    `is_verified=False`, `first_payment_at=None` and `residence_confirmed_at=None` take a step of setup back.
    """

    class Meta:
        model = Account
        skip_postgeneration_save = True

    owner_name = "Sam"
    residence = "US"
    residence_confirmed_at = LONG_AGO
    first_payment_at = LONG_AGO
    workflows_updated_at = LONG_AGO
    created_at = LONG_AGO

    @classmethod
    def _create(cls, model_class: type[Account], *args: Any, **kwargs: Any) -> Account:
        balance_cents = kwargs.pop("balance_cents", 5000)
        e164 = kwargs.pop("number", "")
        is_verified = kwargs.pop("is_verified", True)
        user = kwargs.pop("user", None) or UserFactory()
        account = model_class.objects.create(*args, **kwargs)
        Member.objects.create(account=account, user=user, is_owner=True, created_at=account.created_at)
        person = Person.objects.create(account=account, created_at=account.created_at)
        account.own_person = person
        account.save(update_fields=["own_person"])
        if e164 is not None:
            verified_at = LONG_AGO if is_verified else None
            NumberFactory(person=person, verified_at=verified_at, **({"e164": e164} if e164 else {}))
        if balance_cents:
            with locked(account.pk) as held:
                ledger.top_up(held, amount_cents=balance_cents, ref="payment:first", now=account.created_at)
            account.balance_cents = balance_cents
        return account


class PersonFactory(Factory[Person]):
    """Someone else on an account; `number` adds a verified number with those digits, True any number."""

    class Meta:
        model = Person
        skip_postgeneration_save = True

    account = SubFactory(AccountFactory)
    name = Sequence(lambda n: f"Person {n}")
    created_at = NOW - timedelta(days=20)

    @classmethod
    def _create(cls, model_class: type[Person], *args: Any, **kwargs: Any) -> Person:
        number = kwargs.pop("number", None)
        person = model_class.objects.create(*args, **kwargs)
        if number:
            NumberFactory(person=person, **({"e164": number} if isinstance(number, str) else {}))
        return person


class NumberFactory(Factory[Number]):
    """A verified number; `verified_at=None` for one that waits for its code."""

    class Meta:
        model = Number

    class Params:
        e164 = Sequence(lambda n: f"+1202556{n % 10000:04d}")

    person = SubFactory(PersonFactory)
    account = SelfAttribute("person.account")
    holder = LazyAttribute(lambda o: HolderFactory(e164=o.e164))
    sealed = LazyAttribute(lambda o: seal(o.e164))
    verified_at = LONG_AGO
    created_at = LONG_AGO


class ConnectionFactory(Factory[Connection]):
    """An agent that may act for an account."""

    class Meta:
        model = Connection

    account = SubFactory(AccountFactory)
    client_id = Sequence(lambda n: f"client-{n}")
    name = "Checkout monitor"
    created_at = LONG_AGO
