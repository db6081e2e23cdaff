"""`manage.py add_person`: someone else to reach on an owner's account."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from accounts.enrolling import enrol_person
from accounts.locking import locked
from accounts.management.answering import AnsweringCommand, account_by_email, refuse_in_production


class Command(AnsweringCommand):
    """Repeatable: the number says who it is, so a second call renames."""

    help = "Add a person with a number to an owner's account (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose account, and who."""
        parser.add_argument("email")
        parser.add_argument("--name", required=True)
        parser.add_argument("--number", required=True, help="with + and the country code")
        parser.add_argument("--verified", action="store_true", help="skip the code")

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """The person's name."""
        if options["verified"]:
            refuse_in_production("--verified")
        with locked(account_by_email(options["email"]).pk) as account:
            name = enrol_person(
                account, name=options["name"], number=options["number"], is_verified=options["verified"], now=now
            )
        return {"person": name}
