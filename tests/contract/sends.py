"""Sends through MCP over HTTP: fixed prices, what a refusal may not leave behind, and what the carrier then says."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.locking import locked
from accounts.models import Account, Connection, Country, Holder, LedgerEntry, Number, Person, Plan, Rate
from alerts import acks, delivery, outbox, sending
from alerts.carriers.base import Report
from alerts.models import Alert, Attempt
from tests.carrier import FakeCarrier
from tests.factories import PersonFactory, PlanFactory
from tests.mcp_client import McpClient

MESSAGE = "Checkout is failing."
OWNER_NUMBER, ADA_NUMBER = "+12025550143", "+12025550171"
CHANNELS = {"send_whatsapp": "whatsapp", "send_sms": "sms", "make_call": "call"}
TOOLS = [*CHANNELS, "start_workflow"]
# Full and reduced US cents, all different, so that a mix-up shows.
CENTS = {"whatsapp": (3, 0), "sms": (4, 0), "call": (20, 5)}
# A number of each kind of SMS sender: +1 with a footer, a number with a prefix, a name with neither.
NUMBERS = {"us_ca": ADA_NUMBER, "numeric": "+32470123456", "alphanumeric": "+447700900123"}
COUNTRIES = {"US": "us_ca", "BE": "numeric", "GB": "alphanumeric"}


def offer(country: str, *, sender: str) -> None:
    """A country in which all three channels can be used at `CENTS`."""
    Country.objects.create(code=country)
    Rate.objects.bulk_create(
        Rate(
            country_id=country,
            channel=channel,
            status="available",
            price_cents=full,
            reduced_cents=reduced,
            sender=sender if channel == "sms" else "",
        )
        for channel, (full, reduced) in CENTS.items()
    )


def change_rate(country: str, channel: str, **changes: Any) -> None:
    """Change one rate as staff would."""
    assert Rate.objects.filter(country_id=country, channel=channel).update(**changes) == 1


def holder_of(person: Person) -> Holder:
    """Who holds a person's number."""
    return Number.objects.select_related("holder").get(person=person).holder


def acknowledge(alert: Alert) -> None:
    """The person acknowledges on the portal, now."""
    assert acks.acknowledge(alert, via="portal", now=timezone.now()) == "acknowledged"


@dataclass(frozen=True, slots=True)
class Trace:
    """All that a send can leave behind on an account, and what it can take up of the number."""

    alerts: int
    attempts: int
    keys: int
    entries: int
    balance_cents: int
    reserved_cents: int
    live_calls: int

    @classmethod
    def of(cls, account: Account) -> "Trace":
        """As it is now."""
        row = Account.objects.get(pk=account.pk)
        return cls(
            alerts=row.alerts.count(),
            attempts=row.attempts.count(),
            keys=row.idempotency_keys.count(),
            entries=row.entries.count(),
            balance_cents=row.balance_cents,
            reserved_cents=row.reserved_cents,
            live_calls=Holder.objects.exclude(live_call="").count(),
        )


@dataclass
class Sender:
    """An agent of `account`: `send` what must be accepted, `refused` what must not."""

    account: Account
    mcp: McpClient
    carrier: FakeCarrier = field(default_factory=FakeCarrier)
    _keys: int = 0

    def arguments(self, tool: str, **more: Any) -> dict[str, Any]:
        """The least a tool needs, and `more`; None takes an argument out."""
        least: dict[str, Any] = {"message": MESSAGE}
        if tool == "start_workflow":
            self._keys += 1
            least |= {"workflow_id": "escalate", "idempotency_key": f"key-{self._keys}"}
        return {name: value for name, value in {**least, **more}.items() if value is not None}

    def send(self, tool: str, **more: Any) -> dict[str, Any]:
        """The answer of a send that must be accepted."""
        return self.mcp.call(tool, self.arguments(tool, **more))

    def refused(self, tool: str, **more: Any) -> dict[str, Any]:
        """The error of a send that must be refused, having left nothing behind and held nothing."""
        before = Trace.of(self.account)
        error = self.mcp.refusal(tool, self.arguments(tool, **more))
        assert Trace.of(self.account) == before
        assert self.mcp.text == error["message"]
        return error

    def rejected(self, tool: str, **more: Any) -> dict[str, Any]:
        """The details of a send whose fields or content are refused."""
        error = self.refused(tool, **more)
        assert error["code"] == "CONTENT_REJECTED"
        assert set(error) == {"code", "message", "details"}
        return {"message": error["message"], **error["details"]}

    def alert(self, answer: dict[str, Any]) -> Alert:
        """The row behind an answer."""
        return Alert.objects.get(account=self.account, code=answer["alert_id"])

    def status(self, answer: dict[str, Any]) -> dict[str, Any]:
        """How the alert behind an answer stands now, as the agent is told."""
        alerts = self.mcp.call("get_alert_status", {"alert_ids": [answer["alert_id"]]})["alerts"]
        assert len(alerts) == 1
        found: dict[str, Any] = alerts[0]
        return found

    def money(self) -> tuple[int, int]:
        """(what can be spent, what is reserved), as the agent is told."""
        answer = self.mcp.call("get_setup_status")
        return answer["balance_cents"], answer["reserved_cents"]

    def work(self) -> None:
        """A worker does all that is due at this moment of the clock."""
        assert outbox.sweep(timezone.now(), carrier=self.carrier).failed == 0

    def report(self, answer: dict[str, Any], status: str, *, seq: int = 1, **more: Any) -> None:
        """The carrier reports on an attempt."""
        self.hear(self.alert(answer), status, seq=seq, **more)

    def hear(self, alert: Alert, status: str, *, seq: int = 1, **more: Any) -> None:
        """The carrier reports on an attempt of this alert."""
        attempt = Attempt.objects.get(alert=alert, seq=seq)
        report = Report(source="callback", sid=attempt.carrier_sid, status=status, **more)
        delivery.record(str(attempt.ref), report, now=timezone.now())

    def fail(self, tool: str = "send_whatsapp", *, error_code: int = 30008, **more: Any) -> dict[str, Any]:
        """A send that the carrier took and could not deliver."""
        answer = self.send(tool, **more)
        self.work()
        self.report(answer, "undelivered", error_code=error_code)
        return answer

    def deliver(self, tool: str = "send_whatsapp", **more: Any) -> dict[str, Any]:
        """A send that arrived."""
        answer = self.send(tool, **more)
        self.work()
        if tool == "make_call":
            self.report(answer, "completed", sequence=3, duration_s=20)
        else:
            self.report(answer, "delivered")
        return answer

    def test(self, channel: str, *, arrives: bool) -> Alert:
        """A setup test from the owner's page, to the owner's number."""
        with locked(self.account.pk) as account:
            assert account.own_person is not None
            alert = sending.start_test(account, account.own_person, channel=channel, now=timezone.now())
        self.work()
        if channel == "call":
            self.hear(alert, "completed" if arrives else "no-answer", sequence=3, duration_s=20 if arrives else None)
        else:
            self.hear(alert, "delivered" if arrives else "undelivered", error_code=None if arrives else 30008)
        return alert

    def add(self, name: str, number: str | bool = True) -> Person:
        """Another verified person on the account."""
        return PersonFactory(account=self.account, name=name, number=number)

    def owner_holder(self) -> Holder:
        """Who holds the owner's number."""
        assert self.account.own_person is not None
        return holder_of(self.account.own_person)

    def set(self, **fields: Any) -> None:
        """Change columns of the account."""
        Account.objects.filter(pk=self.account.pk).update(**fields)

    def pay_for_plan(self) -> Plan:
        """Put the account on a paid plan."""
        plan = PlanFactory()
        self.set(plan=plan)
        return plan

    def connection(self) -> Connection:
        """The agent's grant."""
        return Connection.objects.get(account=self.account)

    def set_balance(self, cents: int) -> None:
        """Bring what can be spent to `cents` by one entry of the ledger."""
        row = Account.objects.get(pk=self.account.pk)
        delta = cents - row.available_cents
        LedgerEntry.objects.create(
            account=row,
            kind="adjust",
            balance_delta_cents=delta,
            reserved_delta_cents=0,
            ref=f"test:{row.entries.count()}",
            note="a test",
            created_at=timezone.now(),
        )
        self.set(balance_cents=row.balance_cents + delta)


@contextmanager
def counting_queries() -> Iterator[list[int]]:
    """Fills the list with how many queries ran, without the savepoints that stand for BEGIN and COMMIT in a test."""
    counted: list[int] = []
    with CaptureQueriesContext(connection) as captured:
        yield counted
    counted.append(sum("SAVEPOINT" not in query["sql"] for query in captured.captured_queries))


def sent_time(moment: datetime) -> str:
    """A time as the server sends it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
