"""`manage.py stop_number`: a person asked by e-mail to be left alone (behaviour, E-mail stop)."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from accounts.management.answering import AnsweringCommand
from accounts.numbers import parse_number
from alerts import acks


class Command(AnsweringCommand):
    """Repeatable; `changed` says whether this call did it. The number is in no answer and no log."""

    help = "Stop all alerts to a number, from every account, at its holder's request (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which number."""
        parser.add_argument("number", metavar="+E164")

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """Whether the number could be reached before."""
        return {"changed": acks.stop_number(parse_number(options["number"]), via="email", now=now)}
