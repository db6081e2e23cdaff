"""`manage.py set_rate`: one channel's price or availability in one country."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from accounts import rates
from accounts.management.answering import AnsweringCommand, cents
from accounts.models import Rate


class Command(AnsweringCommand):
    """Changes what is given and prints the rate as it is now."""

    help = "Set a country's price or availability for a channel (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where, and what to change."""
        parser.add_argument("country", help="ISO code, such as US")
        parser.add_argument("channel", choices=Rate.Channel.values)
        parser.add_argument("--price-cents", type=cents)
        parser.add_argument("--reduced-cents", type=cents, help="of a call that nobody picks up")
        parser.add_argument("--status", choices=Rate.Status.values)

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """The rate."""
        rates.load_csv()
        rate = rates.set_rate(
            options["country"],
            options["channel"],
            price_cents=options["price_cents"],
            reduced_cents=options["reduced_cents"],
            status=options["status"],
        )
        return {
            "country": rate.country_id,
            "channel": rate.channel,
            "status": str(rate.status),
            "price_cents": rate.price_cents,
            "reduced_cents": rate.reduced_cents,
        }
