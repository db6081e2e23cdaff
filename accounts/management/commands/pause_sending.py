"""`manage.py pause_sending`: stop a scope of sending (docs/operations.md, Pauses)."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from accounts import pauses
from accounts.management.answering import AnsweringCommand, account_by_email
from accounts.models import Pause


class Command(AnsweringCommand):
    """Repeatable: an open pause takes the new reason, and more countries."""

    help = "Pause sending for a scope (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to pause, and why."""
        parser.add_argument("flag", choices=Pause.FLAGS)
        parser.add_argument("--reason", required=True, help="for staff; agents are not told")
        parser.add_argument("--countries", nargs="+", default=[], metavar="CC", help="with `destination`: ISO codes")
        parser.add_argument("--account", metavar="EMAIL", help="with `account`: whose")

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """The pause as it is now."""
        account = account_by_email(options["account"]) if options["account"] else None
        pause = pauses.pause(
            options["flag"], reason=options["reason"], countries=options["countries"], account=account, now=now
        )
        return {"flag": pause.flag, "countries": pause.countries.split(), "account_id": pause.account_id}
