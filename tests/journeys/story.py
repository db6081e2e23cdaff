"""A story's stage: the product over HTTP, its worker, the phones, and one clock that moves them all together."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import time_machine
from django.conf import settings
from django.test import Client
from django.utils import timezone

from accounts import ledger, letters
from accounts.models import Account, LedgerEntry
from alerts import outbox
from alerts.models import Alert, Attempt
from breakpass.celery import app
from sandbox import Handset, Sandbox
from sandbox.records import Call, Mail, Message
from tests.factories import AccountFactory
from tests.journeys.site import OverTheWire, Visitor
from tests.mcp_client import McpClient, issue_token

SAM, ADA = "+12025550143", "+12025550171"
ROUNDS = 20


@dataclass
class Story:
    """`after(minutes=1)` lets time pass: whatever falls due on the way happens at its own moment, in order."""

    site: str
    sandbox: Sandbox
    clock: time_machine.Traveller
    nudges: list[tuple[str, tuple[int | str, ...]]]
    began_at: datetime
    is_worked: bool = True
    _closing: list[Callable[[], None]] = field(default_factory=list)

    # --- who is in it ---

    def account(self, name: str = "Sam", number: str | None = SAM, **fields: Any) -> Account:
        """A ready account of somebody with this phone, and 50 dollars; `name`@example.com signs in."""
        account = AccountFactory(owner_name=name, number=number, created_at=self.began_at, **fields)
        user = account.members.get().user
        user.email = f"{name.lower()}@example.com"
        user.save()
        return account

    def agent(self, account: Account, name: str = "Checkout monitor") -> McpClient:
        """A connected agent of the account, over a connection of its own."""
        wire = OverTheWire(self.site)
        self._closing.append(wire.close)
        return McpClient(wire, issue_token(account, client_name=name))

    def owner(self, account: Account) -> Visitor:
        """The account's owner in a browser, signed in."""
        client = Client()
        client.force_login(account.members.get().user, backend="django.contrib.auth.backends.ModelBackend")
        return self._browse({settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value})

    def anybody(self) -> Visitor:
        """Somebody in a browser, whom the site does not know."""
        return self._browse({})

    def _browse(self, cookies: dict[str, str]) -> Visitor:
        visitor = Visitor(self.site, cookies)
        self._closing.append(visitor.close)
        return visitor

    def phone(self, number: str) -> Handset:
        """A phone."""
        return self.sandbox.phone(number)

    # --- time ---

    @property
    def now(self) -> datetime:
        """The story's moment, on every clock."""
        return timezone.now()

    def after(self, *, minutes: float = 0, seconds: float = 0) -> None:
        """Let this much time pass."""
        self.until(self.now + timedelta(minutes=minutes, seconds=seconds))

    def until(self, moment: datetime) -> None:
        """Let time pass up to a moment."""
        self._work()
        while self.now < moment:
            at = min([moment, *(due for due in self._due() if due is not None)])
            self.clock.move_to(max(at, self.now))
            self.sandbox.advance((self.now - self.sandbox.clock.now()).total_seconds())
            self._work()

    def minute(self, offset_min: float) -> datetime:
        """So many minutes after the story began."""
        return self.began_at + timedelta(minutes=offset_min)

    def stop_working(self) -> None:
        """The broker and every worker go down: what is nudged is lost, nothing sweeps. Pages and webhooks go on."""
        self.is_worked = False

    def work_again(self) -> None:
        """They are back."""
        self.is_worked = True

    def _due(self) -> list[datetime | None]:
        """When something happens next: at the phones, in the queue, at a deadline. Each is later than now."""
        due = [self.sandbox.clock.next_due_at()]
        if self.is_worked:
            queued = Attempt.objects.exclude(due_at=None).order_by("due_at").values_list("due_at", flat=True)
            ending = Alert.objects.filter(ended_at=None).order_by("expires_at").values_list("expires_at", flat=True)
            due += [queued.first(), ending.first()]
        return due

    def _work(self) -> None:
        """What workers and beat do at this moment, until there is nothing left to do."""
        for _ in range(ROUNDS):
            self.sandbox.settle()
            nudged, self.nudges[:] = list(self.nudges), []
            if not self.is_worked:
                return
            for task, args in nudged:
                app.tasks[task](*args)
            assert outbox.sweep(self.now, clock=timezone.now).failed == 0
            letters.send_waiting(self.now)
            self.sandbox.settle()
            if not self.nudges and not outbox.due_ids(self.now):
                return
        raise AssertionError("There is always something more to do at this moment.")

    # --- what came of it ---

    def text(self, number: str, channel: str = "sms", *, contains: str = "") -> Message:
        """The next message on a phone that nobody looked at yet."""
        assert channel in ("sms", "whatsapp")
        return self.sandbox.expect_message(number, channel, contains=contains)  # type: ignore[arg-type]

    def call(self, number: str) -> Call:
        """The next call to a phone that nobody looked at yet."""
        return self.sandbox.expect_call(number)

    def letters(self, name: str) -> list[Mail]:
        """The e-mails to an owner."""
        return self.sandbox.mail(f"{name.lower()}@example.com")

    def end(self) -> None:
        """Nothing came that nobody looked at, the books balance, and no money is held for anything that has ended."""
        while self._closing:
            self._closing.pop()()
        self.sandbox.assert_nothing_unexpected()
        assert ledger.find_differences() == []
        assert list(LedgerEntry.objects.filter(kind="hold", settlement=None)) == []
        assert list(Attempt.objects.filter(status="sending")) == []


def shown(agent: McpClient, alert_id: str) -> dict[str, Any]:
    """An alert as its agent gets it now."""
    [alert] = agent.call("get_alert_status", {"alert_ids": [alert_id]})["alerts"]
    return dict(alert)


def attempts(alert: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    """These fields of each attempt, in order."""
    return [tuple(attempt[name] for name in names) for attempt in alert["attempts"]]


def moment(at: datetime) -> str:
    """A time as the server sends it."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
