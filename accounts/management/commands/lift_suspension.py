"""`manage.py lift_suspension`: let a suspended account send again."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from accounts import standing
from accounts.locking import locked
from accounts.management.answering import AnsweringCommand, account_by_email


class Command(AnsweringCommand):
    """Repeatable; `changed` says whether this call did it."""

    help = "Let a suspended account send again (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose account."""
        parser.add_argument("email")

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """The account's status afterwards."""
        with locked(account_by_email(options["email"]).pk) as account:
            changed = standing.lift_suspension(account, now=now)
        return {"account_id": account.pk, "status": str(account.status), "changed": changed}
