"""Accounts and people made by staff in one go, as far along in setup as wanted. Repeatable; changes what differs.

What skips a check (verified, paid) is for the edge to allow or not (operations, Commands).
"""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts import ledger, payments, people, plans, preferences
from accounts.locking import locked
from accounts.models import Account, Number, Person, User
from accounts.numbers import add_number, hash_number, parse_number
from breakpass.text import check_name, clean_name, rejection

FIRST_PAYMENT_CENTS: Final = 2500


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner as staff describe them. None leaves a thing as it is; `balance_cents` is what can be spent."""

    email: str
    name: str
    number: str
    is_verified: bool = False
    is_paid: bool = False
    plan: str | None = None
    residence: str | None = None
    balance_cents: int | None = None


def enrol_owner(owner: Owner, *, now: datetime) -> tuple[Account, str]:
    """Make or update the account of this login; the account, and the name its owner shows as.

    Refuses CONTENT_REJECTED (email, owner_name, number, residence), PLAN_NOT_FOUND and INSUFFICIENT_BALANCE.
    """
    email = owner.email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise rejection("email", "format", "Enter an e-mail address.") from None
    name = clean_name(owner.name)
    check_name(name, field="owner_name")
    e164 = parse_number(owner.number)
    with transaction.atomic():
        plan = plans.plan_named(owner.plan) if owner.plan is not None else None
        user = User.objects.filter(email__iexact=email).first() or User.objects.create_user(email)
        with locked(people.open_account(user, owner_name=name, now=now).pk) as account:
            account.owner_name = name
            account.save(update_fields=["owner_name"])
            person = people.open_own_person(account, now=now)
            number = Number.objects.filter(account=account, person=person).select_related("holder").first()
            if number is not None and number.holder.number_hash != hash_number(e164):
                people.remove(account, person, now=now)
                person, number = people.open_own_person(account, now=now), None
            number = number or add_number(account, person, e164=e164, now=now)
            if owner.is_verified:
                _verify(number, now)
            if owner.residence:
                preferences.confirm_residence(account, country=owner.residence.upper(), now=now)
            if plan is not None:
                plans.set_plan(account, plan, now=now)
            if owner.is_paid and account.first_payment_at is None:
                paid_cents = owner.balance_cents or FIRST_PAYMENT_CENTS
                payment = payments.record(account, amount_cents=paid_cents, method="staff", external_ref="", now=now)
                payments.confirm(account, payment, by=None, now=now)
            if owner.balance_cents is not None:
                _set_balance(account, owner.balance_cents, now)
            return account, people.shown_name(account, person)


def enrol_person(account: Account, *, name: str, number: str, is_verified: bool, now: datetime) -> str:
    """Make or rename the person with this number; the name they show as. Needs the locked account.

    Refuses CONTENT_REJECTED (name, number).
    """
    e164 = parse_number(number)
    known = (
        Number.objects.filter(account=account, holder__number_hash=hash_number(e164)).select_related("person").first()
    )
    person: Person
    if known is None:
        person = people.add(account, name=name, now=now)
        known = add_number(account, person, e164=e164, now=now)
    else:
        person = known.person
        people.rename(account, person, name=name)
    if is_verified:
        _verify(known, now)
    return people.shown_name(account, person)


def _verify(number: Number, now: datetime) -> None:
    """As if the right code had come; also for someone who stopped. A verification that still counts stays as it is."""
    if number.verified_at is None or number.is_opted_out():
        number.verified_at = now
        number.save(update_fields=["verified_at"])


def _set_balance(account: Account, balance_cents: int, now: datetime) -> None:
    difference = balance_cents - account.available_cents
    if balance_cents < 0:
        raise ValueError("the balance is 0 or more")
    if difference:
        note = "balance set by staff"
        ledger.adjust(account, amount_cents=difference, ref=f"staff:{uuid.uuid4()}", note=note, now=now)
