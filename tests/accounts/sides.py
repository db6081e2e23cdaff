"""Accounts that know one person, Ada: as their agents and their owners' browsers meet her."""

from datetime import timedelta
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import invites
from accounts.locking import locked
from accounts.models import Account, Number, User, VerificationCode
from accounts.sealing import unseal
from tests.factories import AccountFactory, NumberFactory, PersonFactory
from tests.mcp_client import McpClient, issue_token

ADA = "+12025550171"
OPTED_OUT = {
    "code": "RECIPIENT_OPTED_OUT",
    "message": "This person stopped all BreakPass alerts to the number. Only a new invite and verification restart "
    "them.",
}
SENDS: dict[str, dict[str, str]] = {
    "send_whatsapp": {},
    "send_sms": {},
    "make_call": {},
    "start_workflow": {"workflow_id": "acknowledge", "idempotency_key": "k-after"},
}


class Side:
    """One account that knows Ada: its agent, its owner's browser, and her row on it."""

    def __init__(self, owner_number: str, *, is_verified: bool = True) -> None:
        self.account: Account = AccountFactory(number=owner_number)
        person = PersonFactory(account=self.account, name="Ada")
        verified_at = timezone.now() - timedelta(days=9) if is_verified else None
        self.number_pk = NumberFactory(person=person, e164=ADA, verified_at=verified_at).pk
        self.agent = McpClient(Client(), issue_token(self.account))
        self.browser = Client()
        owner = User.objects.get(member__account=self.account)
        self.browser.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")

    @property
    def number(self) -> Number:
        """Ada's row as it is now."""
        return Number.objects.select_related("holder", "person").get(pk=self.number_pk)

    def refusals(self) -> list[dict[str, Any]]:
        """What each of the senders says of Ada."""
        arguments = {"message": "Is anyone there?", "recipient": "Ada"}
        return [self.agent.refusal(tool, {**arguments, **more}) for tool, more in SENDS.items()]

    def page(self) -> str:
        """The link to Ada's own page, handed over by this owner."""
        with locked(self.account.pk) as held:
            return invites.renew_link(held, self.number).removeprefix("http://127.0.0.1:8000")

    def invite(self, channel: str = "sms") -> None:
        """The owner asks for an invitation to be sent."""
        address = reverse("send-code", args=[self.number.person_id])
        assert self.browser.post(address, {"channel": channel}).status_code == 302


def newest_digits() -> str:
    """The code that was made last, as its text will say it."""
    sealed = VerificationCode.objects.latest("pk").sealed
    assert sealed is not None
    return unseal(bytes(sealed))
