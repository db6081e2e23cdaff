"""`manage.py seed_demo`: a ready demo owner for a development machine, and a link that signs them in once."""

import io
import json
import urllib.request
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand

from accounts.demo import LINK_TTL_S, demo_link
from accounts.models import User

EMAIL = "demo@example.com"
NAME = "Sam"
# Fictional, and none of the sandbox's senders.
NUMBER = "+12025550110"
BALANCE_CENTS = 5000


class Command(BaseCommand):
    """Repeatable: the owner stays who they are; every call prints a fresh link."""

    help = "Create the demo owner and print a one-time sign-in link (JSON). Not in production."

    def handle(self, *args: Any, **options: Any) -> None:
        """Rates, a paid and verified owner, a link."""
        if not settings.ALLOW_TEST_COMMANDS or settings.PRODUCTION:
            raise CommandError("seed_demo is for development machines only (ENVIRONMENT=production is set).")
        call_command("load_rates", stdout=io.StringIO())
        if not User.objects.filter(email=EMAIL).exists():
            call_command(
                "create_owner",
                EMAIL,
                name=NAME,
                number=NUMBER,
                verified=True,
                paid=True,
                residence="US",
                balance_cents=BALANCE_CENTS,
                stdout=io.StringIO(),
            )
        if settings.SANDBOX_URL:
            self._show_phone()
        user = User.objects.get(email=EMAIL)
        answer = {"email": EMAIL, "person": NAME, "sign_in_url": demo_link(user), "expires_in_s": LINK_TTL_S}
        self.stdout.write(json.dumps(answer))

    def _show_phone(self) -> None:
        """Put the demo owner's phone among the sandbox's, before anything was sent to it."""
        phone = json.dumps({"number": NUMBER, "name": NAME}).encode()
        address = f"{settings.SANDBOX_URL}/sandbox/api/phones"
        request = urllib.request.Request(address, phone, {"Content-Type": "application/json"}, method="POST")
        try:
            urllib.request.urlopen(request, timeout=3).close()
        except OSError:
            self.stderr.write("The sandbox did not answer; its phone appears with the first message.")
