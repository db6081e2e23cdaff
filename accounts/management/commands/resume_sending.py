"""`manage.py resume_sending`: lift a pause (docs/operations.md, Pauses)."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from accounts import pauses
from accounts.management.answering import AnsweringCommand, account_by_email
from accounts.models import Pause


class Command(AnsweringCommand):
    """Repeatable; `changed` says whether there was such a pause."""

    help = "Lift a pause of sending (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to lift."""
        parser.add_argument("flag", choices=Pause.FLAGS)
        parser.add_argument("--countries", nargs="+", default=[], metavar="CC", help="only these destinations")
        parser.add_argument("--account", metavar="EMAIL", help="with `account`: whose")

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """Whether anything was lifted."""
        account = account_by_email(options["account"]) if options["account"] else None
        changed = pauses.resume(options["flag"], countries=options["countries"], account=account, now=now)
        return {"flag": options["flag"], "changed": changed}
