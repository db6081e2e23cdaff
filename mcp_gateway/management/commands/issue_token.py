"""`issue_token EMAIL --client NAME [--scopes "…"]`: an access token for a headless agent, as JSON."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management import CommandError

from accounts.management.answering import AnsweringCommand, refuse_in_production
from accounts.models import User
from breakpass.times import iso
from mcp_gateway import grants


class Command(AnsweringCommand):
    """Skips sign-in and consent, so it is refused in production unless ALLOW_TEST_COMMANDS=1."""

    help = "Issue an access token for an agent without a browser (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The owner's e-mail, the agent's name, what it may do."""
        parser.add_argument("email")
        parser.add_argument("--client", required=True, help="the agent's name, as the owner sees it")
        parser.add_argument("--scopes", default=" ".join(settings.OAUTH_SCOPES), help="separated by spaces")

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """`{"access_token", "expires_at", "scopes"}`; each call gives a fresh token of the same connection."""
        refuse_in_production("issue_token")
        name = " ".join(options["client"].split())
        if not 1 <= len(name) <= 80:
            raise CommandError("--client takes 1 to 80 characters.")
        asked = options["scopes"].split()
        unknown = sorted(set(asked) - set(settings.OAUTH_SCOPES))
        if unknown or not asked:
            raise CommandError(f"--scopes takes some of: {' '.join(settings.OAUTH_SCOPES)}")
        user = User.objects.filter(email__iexact=options["email"], is_active=True, member__isnull=False).first()
        if user is None:
            raise CommandError("No active login with an account has this e-mail address: create_owner makes one.")
        scopes = tuple(scope for scope in settings.OAUTH_SCOPES if scope in asked)
        issued = grants.issue(user, client_name=name, scopes=scopes, now=now)
        return {"access_token": issued.access_token, "expires_at": iso(issued.expires_at), "scopes": list(scopes)}
