"""Any story, several things of it at the same moment: one end each, every hold settled once, nothing sent afterwards.

Real commits and threads. Two accounts alert the same person, so that they share the line, the opt-out and its locks.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import count, pairwise
from threading import Barrier
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.ledger import find_differences
from accounts.locking import locked
from accounts.models import Account, LedgerEntry
from alerts import acks, delivery, outbox, sending, timers
from alerts.carriers.base import Outgoing, Refused, Report, Sent, Throttled, Unknown, Unreachable
from alerts.models import Alert, Attempt, CarrierCall
from tests import world
from tests.carrier import FakeCarrier
from tests.world import NOW

pytestmark = pytest.mark.django_db(transaction=True)

BALANCE = 1000
MESSAGE_WORDS = ["queued", "sent", "delivered", "read", "undelivered", "canceled"]
CALL_WORDS = ["initiated", "ringing", "in-progress", "completed", "busy", "no-answer", "failed"]
PROBLEMS: dict[str, Exception] = {
    "refused": Refused(30008, 400),
    "stopped": Refused(21610, 400),
    "throttled": Throttled(3),
    "unreachable": Unreachable(),
    "unknown": Unknown(),
}
# After these nothing is at the carrier for certain, and the same attempt may go again.
NOTHING_WENT = (Throttled, Unreachable)

alert_index = st.integers(0, 1)
reports = st.tuples(
    st.just("report"),
    alert_index,
    st.integers(0, 4),
    st.sampled_from(MESSAGE_WORDS),
    st.sampled_from(CALL_WORDS),
    st.sampled_from([None, 21610, 30007, 63024]),
    st.integers(0, 4),
)
works = st.tuples(st.just("work"))
ends = st.tuples(st.sampled_from(["acknowledge", "cancel", "acknowledge", "cancel", "opt_out"]), alert_index)
answers = st.tuples(st.just("answer"), st.sampled_from(sorted(PROBLEMS)))
event = st.one_of(reports, reports, reports, works, works, ends, answers)
moments = st.lists(st.tuples(st.integers(1, 300), st.lists(event, min_size=1, max_size=4)), max_size=8)
workflow_ids = st.sampled_from(["inform", "acknowledge", "escalate", "escalate"])
_numbers = count(1000)


class Ledgering(FakeCarrier):
    """A carrier that keeps what became of each request."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[tuple[str, type]] = []

    def _take(self, outgoing: Outgoing) -> Sent:
        try:
            sent = super()._take(outgoing)
        except Exception as problem:
            self.outcomes.append((outgoing.ref, type(problem)))
            raise
        self.outcomes.append((outgoing.ref, Sent))
        return sent


def at_once(actions: list[Callable[[], Any]]) -> None:
    """Run all of them at the same moment, each with a connection of its own; an error of any is the test's."""
    barrier = Barrier(len(actions))

    def run(action: Callable[[], Any]) -> None:
        try:
            barrier.wait(timeout=20)
            action()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        list(pool.map(run, actions))


class Story:
    """Two alerts of two accounts to one number, and all that happens to them."""

    def __init__(self, workflows: list[str]) -> None:
        # The breaker looks back a minute, to the example before this one.
        CarrierCall.objects.all().delete()
        number = f"+1202555{next(_numbers)}"
        self.now = NOW
        self.carrier = Ledgering()
        self.accounts = [world.open_account(number=number, balance_cents=BALANCE) for _ in workflows]
        runs = zip(self.accounts, workflows, strict=True)
        self.alerts = [world.run(account, key, now=NOW).alert for account, key in runs]
        self.ends: dict[int, tuple[str, datetime]] = {}

    def work(self) -> None:
        """A worker's pass."""
        assert outbox.sweep(self.now, carrier=self.carrier).failed == 0

    def action(self, what: tuple[Any, ...]) -> Callable[[], Any]:
        """What an event does."""
        match what:
            case ("report", index, place, *said):
                return self.report(self.alerts[index], place, *said)
            case ("answer", problem):
                return lambda: self.carrier.answers.append(PROBLEMS[problem])
            case ("acknowledge", index):
                alert = self.alerts[index]
                return lambda: acks.acknowledge(Alert.objects.get(pk=alert.pk), via="portal", now=self.now)
            case ("cancel", index):
                return lambda: self.cancel(self.alerts[index])
            case ("opt_out", index):
                return lambda: acks.opt_out(self.alerts[index].holder_id, via="sms", now=self.now)
        return self.work

    def cancel(self, alert: Alert) -> None:
        """Its agent stops it."""
        with locked(alert.account_id) as account:
            sending.cancel(account, alert.code, by="agent", now=self.now)

    def report(
        self, alert: Alert, place: int, message: str, call: str, error: int | None, sequence: int
    ) -> Callable[[], Any]:
        """The carrier says something of one of the attempts that it has, twice."""
        had = list(Attempt.objects.filter(alert=alert, claimed_at__isnull=False).order_by("seq"))
        if not had:
            return self.work
        attempt = had[place % len(had)]
        is_call = attempt.channel == "call"
        said = Report(
            source="callback",
            sid=attempt.carrier_sid or f"XX{attempt.pk}",
            status=call if is_call else message,
            error_code=None if is_call else error,
            sequence=sequence if is_call else None,
            duration_s=20 if call == "completed" and is_call else None,
        )
        return lambda: [delivery.record(str(attempt.ref), said, now=self.now) for _ in range(2)]

    def let_happen(self, wait_s: int, events: list[tuple[Any, ...]]) -> None:
        """A moment: its events at once, a worker too. What was over stays as it is, and nothing goes for it."""
        self.now += timedelta(seconds=wait_s)
        over = set(self.ends)
        before = len(self.carrier.requests)
        at_once([*(self.action(what) for what in events), self.work])
        self.work()
        self.watch(over, before)

    def watch(self, over: set[int], before: int) -> None:
        """Compare with how things stood before the moment."""
        owners = dict(Attempt.objects.filter(alert__in=self.alerts).values_list("ref", "alert_id"))
        went = {owners[ref] for ref in owners if str(ref) in {one.ref for one in self.carrier.requests[before:]}}
        assert not went & over
        for alert in Alert.objects.filter(pk__in=[one.pk for one in self.alerts]):
            if alert.pk in over:
                assert (alert.status, alert.ended_at) == self.ends[alert.pk]
            elif alert.ended_at is not None:
                self.ends[alert.pk] = (alert.status, alert.ended_at)

    def end_well(self) -> None:
        """Let all the time pass that any timer needs, then see that everything is over and adds up."""
        for _ in range(36):
            self.now += timedelta(minutes=5)
            over, before = set(self.ends), len(self.carrier.requests)
            self.work()
            self.watch(over, before)
        assert set(self.ends) == {alert.pk for alert in self.alerts}
        for account, alert in zip(self.accounts, self.alerts, strict=True):
            self.adds_up(account, alert)
        assert find_differences() == []
        taken = Counter(ref for ref, what in self.carrier.outcomes if what not in NOTHING_WENT)
        assert max(taken.values(), default=1) == 1
        self.shared_the_line()

    def adds_up(self, account: Account, alert: Alert) -> None:
        """One account's money, and what was held for its attempts."""
        attempts = list(Attempt.objects.filter(alert=alert).order_by("seq"))
        ended_at = self.ends[alert.pk][1]
        assert [one.status for one in attempts if one.status in ("scheduled", "sending", "sent", "ringing")] == []
        assert [one.due_at for one in attempts if one.due_at is not None] == []
        assert [one.seq for one in attempts if one.claimed_at is not None and one.claimed_at > ended_at] == []
        assert sum(one.kind == "fallback" for one in attempts) <= 1
        assert all((one.held_at is None) is (one.settlement == "") for one in attempts)
        entries = LedgerEntry.objects.filter(account=account)
        assert entries.filter(kind="hold", settlement=None).count() == 0
        settled = Counter(entries.filter(kind__in=["capture", "release"]).values_list("ref", flat=True))
        assert set(settled.values()) <= {1}
        assert set(settled) == set(entries.filter(kind="hold").values_list("ref", flat=True))
        account.refresh_from_db()
        charged = sum(one.charged_cents for one in attempts)
        assert (account.balance_cents, account.reserved_cents) == (BALANCE - charged, 0)

    def shared_the_line(self) -> None:
        """No call began while another one to the number could still be going on."""
        calls = Attempt.objects.filter(alert__in=self.alerts, channel="call", claimed_at__isnull=False)
        for one, other in pairwise(calls.select_related("alert").order_by("claimed_at", "pk")):
            assert one.claimed_at is not None
            assert other.claimed_at is not None
            free_at = timers.line_busy_until(one, one.claimed_at)
            assert other.claimed_at >= min(free_at, one.ended_at or free_at)


@pytest.fixture(autouse=True)
def _clean_cache() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workflows=st.tuples(workflow_ids, workflow_ids), told=moments)
def test_any_two_stories_about_one_person_end_once_and_add_up(
    workflows: tuple[str, str], told: list[tuple[int, list[tuple[Any, ...]]]]
) -> None:
    story = Story(list(workflows))
    story.work()
    story.watch(set(), 0)
    for wait_s, events in told:
        story.let_happen(wait_s, events)
    story.end_well()
