"""Whatever happens, in whatever order: one end, every hold settled once, sums that add up, nothing sent later."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.ledger import find_differences
from accounts.locking import locked
from accounts.models import Account, LedgerEntry
from alerts import acks, closing, delivery, outbox
from alerts.carriers.base import Refused, Report, Throttled, Unknown, Unreachable
from alerts.models import Alert, Attempt
from tests.alerts.rows import ESCALATE, NOON, attempts_of, make_account, make_alert, make_number, make_rates, money_of
from tests.carrier import FakeCarrier

pytestmark = pytest.mark.django_db

MESSAGE_WORDS = ["queued", "sent", "delivered", "read", "undelivered", "failed", "canceled", "foo"]
CALL_WORDS = ["initiated", "ringing", "in-progress", "completed", "busy", "no-answer", "failed", "canceled"]
ERRORS = [None, 21610, 30003, 30007, 63024, 63033, 39999]
reports = st.tuples(
    st.just("report"),
    st.integers(0, 4),
    st.sampled_from(MESSAGE_WORDS),
    st.sampled_from(CALL_WORDS),
    st.sampled_from(ERRORS),
    st.sampled_from([None, 404, 480, 486, 503]),
    st.integers(0, 4),
    st.integers(0, 20),
)
passes = st.tuples(st.just("pass"), st.integers(1, 400))
answers = st.tuples(st.just("answer"), st.sampled_from(["refused", "throttled", "unreachable", "unknown", "stopped"]))
ends = st.tuples(st.sampled_from(["acknowledge", "cancel", "opt_out"]))
stories = st.lists(st.one_of(reports, reports, reports, passes, passes, answers, ends), max_size=18)
PROBLEMS: dict[str, Exception] = {
    "refused": Refused(30008, 400),
    "throttled": Throttled(3),
    "unreachable": Unreachable(),
    "unknown": Unknown(),
    "stopped": Refused(21610, 400),
}


class Story:
    """One alert and all that happens to it."""

    def __init__(self, account: Account, *, requires_ack: bool) -> None:
        self.account, self.now = account, NOON
        number = make_number(account)
        self.alert = make_alert(
            number,
            ESCALATE,
            workflow_key="escalate",
            requires_ack=requires_ack,
            deadline_min=12,
            has_sms_fallback=True,
            max_attempts=5,
        )
        self.carrier = FakeCarrier()
        self.sent_after_the_end = 0

    def sweep(self) -> None:
        """One pass; whether anything goes out for an alert that is over is what this is all about."""
        is_over = Alert.objects.get(pk=self.alert.pk).ended_at is not None
        before = len(self.carrier.requests)
        assert outbox.sweep(self.now, carrier=self.carrier).failed == 0
        self.sent_after_the_end += (len(self.carrier.requests) - before) if is_over else 0

    def happen(self, what: tuple[Any, ...]) -> None:
        """One event of the story."""
        match what:
            case ("pass", seconds):
                self.now += timedelta(seconds=seconds)
            case ("answer", problem):
                self.carrier.answers.append(PROBLEMS[problem])
            case ("acknowledge",):
                acks.acknowledge(Alert.objects.get(pk=self.alert.pk), via="portal", now=self.now)
            case ("opt_out",):
                acks.opt_out(self.alert.holder_id, via="sms", now=self.now)
            case ("cancel",):
                self.cancel()
            case ("report", index, *said):
                self.hear(index, *said)
        self.sweep()

    def cancel(self) -> None:
        """The owner stops it."""
        with locked(self.account.pk) as account:
            alert = Alert.objects.get(pk=self.alert.pk)
            closing.close(account, alert, to="cancelled", now=self.now, cancelled_at=self.now, cancelled_by="owner")

    def hear(
        self, index: int, message: str, call: str, error: int | None, sip: int | None, sequence: int, length_s: int
    ) -> None:
        """The carrier reports on one of the attempts that it has."""
        had = [one for one in attempts_of(self.alert) if one.claimed_at is not None]
        if not had:
            return
        attempt = had[index % len(had)]
        is_call = attempt.channel == "call"
        report = Report(
            source="callback",
            sid=attempt.carrier_sid or f"XX{attempt.pk}",
            status=call if is_call else message,
            error_code=None if is_call else error,
            sip_code=sip if is_call else None,
            sequence=sequence if is_call else None,
            duration_s=length_s if is_call and call == "completed" else None,
        )
        for _ in range(2):
            delivery.record(str(attempt.ref), report, now=self.now)


def ends_well(story: Story) -> None:
    """What must be true of every story, once its time is long over."""
    for _ in range(40):
        story.now += timedelta(minutes=5)
        story.sweep()
    alert = Alert.objects.get(pk=story.alert.pk)
    attempts = attempts_of(story.alert)
    assert alert.ended_at is not None
    assert story.sent_after_the_end == 0
    assert [one.status for one in attempts if one.status in ("scheduled", "sending", "sent", "ringing")] == []
    assert [one.due_at for one in attempts if one.due_at is not None] == []
    assert len({outgoing.ref for outgoing in story.carrier.requests}) <= 5
    assert sum(one.kind == "fallback" for one in attempts) <= 1
    assert find_differences() == []
    entries = LedgerEntry.objects.filter(account=story.account)
    assert entries.filter(kind="hold", settlement=None).count() == 0
    assert all((one.held_at is None) is (one.settlement == "") for one in attempts)
    assert money_of(story.account) == (1000 - sum(one.charged_cents for one in attempts), 0)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=stories, requires_ack=st.booleans())
def test_any_story_ends_once_and_adds_up(story: list[tuple[Any, ...]], requires_ack: bool) -> None:
    point = transaction.savepoint()
    try:
        tell(story, requires_ack=requires_ack)
    finally:
        transaction.savepoint_rollback(point)


def tell(story: list[tuple[Any, ...]], *, requires_ack: bool) -> None:
    """Let it all happen to a new alert, and look at it after each event and at the end."""
    make_rates()
    told = Story(make_account(), requires_ack=requires_ack)
    told.sweep()
    status_at_the_end = ""
    for event in story:
        told.happen(event)
        alert = Alert.objects.get(pk=told.alert.pk)
        if status_at_the_end:
            assert alert.status == status_at_the_end
        elif alert.ended_at is not None:
            status_at_the_end = alert.status
    ends_well(told)
    assert Attempt.objects.filter(alert=told.alert).count() in (4, 5)
