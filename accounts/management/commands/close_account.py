"""`manage.py close_account`: close an account for good."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from accounts import standing
from accounts.locking import locked
from accounts.management.answering import AnsweringCommand, account_by_email


class Command(AnsweringCommand):
    """Repeatable; `changed` says whether this call did it."""

    help = "Close an account for good (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose account."""
        parser.add_argument("email")
        parser.add_argument("--reason", default="", help="for staff; the owner is not told")

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """The account's status afterwards."""
        with locked(account_by_email(options["email"]).pk) as account:
            changed = standing.close(account, reason=options["reason"], now=now)
        return {"account_id": account.pk, "status": str(account.status), "changed": changed}
