"""`manage.py create_owner`: an account with its owner, from nothing to ready if asked."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from accounts.enrolling import Owner, enrol_owner
from accounts.management.answering import AnsweringCommand, cents, refuse_in_production

SKIPS = ("verified", "paid", "residence", "balance_cents")


class Command(AnsweringCommand):
    """Repeatable: a second call changes what differs and prints the same."""

    help = "Create or update an account with its owner (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Who, and how far setup goes."""
        parser.add_argument("email")
        parser.add_argument("--name", required=True)
        parser.add_argument("--number", required=True, help="with + and the country code")
        parser.add_argument("--verified", action="store_true", help="skip the code")
        parser.add_argument("--paid", action="store_true", help="as if a first payment was confirmed")
        parser.add_argument("--plan", help="a plan's name, such as Free or Plus")
        parser.add_argument("--residence", help="ISO code of the country the owner lives in")
        parser.add_argument("--balance-cents", type=cents, help="what can be spent afterwards, in US cents")

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """The account's id, its login's address and the owner's name."""
        for option in SKIPS:
            if options[option] not in (None, False):
                refuse_in_production(f"--{option.replace('_', '-')}")
        account, person = enrol_owner(
            Owner(
                email=options["email"],
                name=options["name"],
                number=options["number"],
                is_verified=options["verified"],
                is_paid=options["paid"],
                plan=options["plan"],
                residence=options["residence"],
                balance_cents=options["balance_cents"],
            ),
            now=now,
        )
        return {"account_id": account.pk, "email": options["email"].strip().lower(), "person": person}
