"""`manage.py sweep`: one pass over everything that is due, with its report as JSON."""

import json
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from alerts import outbox


class Command(BaseCommand):
    """One pass; repeatable, and safe beside running workers."""

    help = "Do one pass over everything that is due: sends, questions to the carrier, deadlines, codes."

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep once and print what was done."""
        report = outbox.sweep(timezone.now(), clock=timezone.now)
        self.stdout.write(json.dumps(report.as_json()))
