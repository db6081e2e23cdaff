"""What all commands of staff share: JSON on standard output, a sentence on standard error, an account by e-mail."""

import json
from argparse import ArgumentTypeError
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.core.management import CommandError
from django.core.management.base import BaseCommand
from django.utils import timezone

from accounts.models import Account
from breakpass.errors import Refusal
from breakpass.nudge import wait_for_nudges

# A million dollars. More is a slip of the finger, and a few digits more would not fit the columns.
MAX_CENTS: Final = 100_000_000


class AnsweringCommand(BaseCommand):
    """A command that prints one JSON object; a Refusal becomes a sentence and exit code 1."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it and print what it answers."""
        try:
            answer = self.answer(options, timezone.now())
        except (Refusal, ValueError) as problem:
            raise CommandError(sentence(problem)) from problem
        self.stdout.write(json.dumps(answer))
        # A process that is about to end takes its unsent nudges along; the sweep would find them a little later.
        wait_for_nudges(0.5)

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """Do it; what it returns is printed."""
        raise NotImplementedError


def sentence(problem: Refusal | ValueError) -> str:
    """What to tell whoever typed the command: a refusal's message, or a ValueError's clause as a sentence."""
    if isinstance(problem, Refusal):
        return problem.message
    clause = str(problem)
    return f"{clause[:1].upper()}{clause[1:].removesuffix('.')}."


def cents(text: str) -> int:
    """An option's amount in whole US cents; what the least one may be is for the domain to say."""
    try:
        amount = int(text)
    except ValueError:
        amount = MAX_CENTS + 1
    if amount > MAX_CENTS:
        raise ArgumentTypeError(f"Write whole US cents, at most {MAX_CENTS}.")
    return amount


def refuse_in_production(what: str) -> None:
    """Whatever skips a check needs ALLOW_TEST_COMMANDS=1 in production (operations, Commands)."""
    if not settings.ALLOW_TEST_COMMANDS:
        raise CommandError(f"{what} skips a check and is refused in production. Set ALLOW_TEST_COMMANDS=1 to allow it.")


def account_by_email(email: str) -> Account:
    """The account a login belongs to."""
    account = Account.objects.filter(members__user__email__iexact=email.strip()).first()
    if account is None:
        raise CommandError("No account belongs to a login with this e-mail address.")
    return account
