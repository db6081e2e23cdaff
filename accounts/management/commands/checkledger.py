"""`manage.py checkledger`: does every balance equal the ledger's sums, and is every hold settled or open?"""

import json
from typing import Any

from django.core.management import CommandError
from django.core.management.base import BaseCommand

from accounts import ledger
from accounts.models import Account


class Command(BaseCommand):
    """Prints what it found either way; exit code 1 on a difference."""

    help = "Compare balances and holds with the ledger (JSON)."

    def handle(self, *args: Any, **options: Any) -> None:
        """Look at every account."""
        differences = ledger.find_differences()
        self.stdout.write(json.dumps({"accounts": Account.objects.count(), "differences": differences}))
        if differences:
            raise CommandError("The ledger and the balances differ.")
