"""What all commands of staff share: JSON on standard output, a sentence on standard error, an account by e-mail."""

import json
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.core.management.base import BaseCommand
from django.utils import timezone

from accounts.models import Account
from breakpass.errors import Refusal
from breakpass.nudge import wait_for_nudges


class AnsweringCommand(BaseCommand):
    """A command that prints one JSON object; a Refusal becomes a sentence and exit code 1."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it and print what it answers."""
        try:
            answer = self.answer(options, timezone.now())
        except (Refusal, ValueError) as problem:
            raise CommandError(problem.message if isinstance(problem, Refusal) else str(problem)) from problem
        self.stdout.write(json.dumps(answer))
        # A process that is about to end takes its unsent nudges along; the sweep would find them a little later.
        wait_for_nudges(0.5)

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """Do it; what it returns is printed."""
        raise NotImplementedError


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
