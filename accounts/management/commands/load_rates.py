"""`manage.py load_rates`: rates and plans that are missing; never overwrites what staff edited."""

from datetime import datetime
from typing import Any

from accounts import plans, rates
from accounts.management.answering import AnsweringCommand


class Command(AnsweringCommand):
    """Part of every release."""

    help = "Add countries, rates and plans that are missing (JSON)."

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """How many rates were added."""
        plans.ensure_plans()
        return {"rates_added": rates.load_csv()}
