"""Every cap, budget and brake: exact reason, message, wait and details, and what does not count."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Account, CapHit, Connection
from alerts import limits
from alerts.models import Alert, Attempt
from breakpass.errors import Refusal
from tests import world
from tests.world import NOW

pytestmark = pytest.mark.django_db
S, M, H = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def refused(account: Account, **arguments: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        world.send(account, **arguments)
    assert caught.value.code == "RATE_LIMITED"
    return caught.value


def copies(account: Account, count: int, *, at: Any, every: timedelta = S, channel: str = "whatsapp") -> list[Alert]:
    """So many accepted, delivered alerts, one after another from `at` on."""
    first = world.send(account, channel, "first of many", now=at).alert
    world.finish(first, settlement="charged", status="answered" if channel == "call" else "delivered", at=at)
    attempt = first.attempts.get()
    made = [first]
    for number in range(1, count):
        alert = Alert.objects.get(pk=first.pk)
        alert.pk, alert.code, alert.ack_token = None, f"B-{number:05d}", f"token-{number}"
        alert.created_at = at + number * every
        alert.save(force_insert=True)
        Attempt.objects.create(
            alert=alert,
            account=account,
            holder=alert.holder,
            seq=1,
            offset_min=0,
            kind=attempt.kind,
            channel=channel,
            status="answered" if channel == "call" else "delivered",
            scheduled_at=alert.created_at,
            claimed_at=alert.created_at,
            price_cents=0,
        )
        made.append(alert)
    return made


def test_the_21st_alert_to_a_holder_within_an_hour_is_refused_until_the_first_is_an_hour_old() -> None:
    account = world.open_account()
    copies(account, 20, at=NOW - 50 * M)
    refusal = refused(account)
    assert refusal.message == "Too many alerts to this recipient in the last hour (the limit is 20 an hour)."
    assert (refusal.details, refusal.retry_after_s) == ({"reason": "holder_per_hour"}, 600)
    assert account.alerts.count() == 20
    assert world.send(account, now=NOW + 10 * M).is_replay is False


def test_the_holders_hour_counts_alerts_of_other_accounts_too() -> None:
    copies(world.open_account(), 20, at=NOW - 30 * M)
    assert refused(world.open_account()).details == {"reason": "holder_per_hour"}


def test_the_wait_is_rounded_up_and_at_least_a_second() -> None:
    account = world.open_account()
    copies(account, 20, at=NOW - H + timedelta(milliseconds=1))
    assert refused(account).retry_after_s == 1


def test_the_11th_call_within_an_hour_is_refused_and_the_first_of_a_new_hour_goes() -> None:
    account = world.open_account()
    copies(account, 10, at=NOW - 50 * M, every=2 * M, channel="call")
    refusal = refused(account, channel="call")
    assert refusal.message == (
        "Too many calls to this recipient in the last hour (the limit is 10 calls an hour to one number)."
    )
    assert (refusal.details, refusal.retry_after_s) == ({"reason": "holder_calls_per_hour", "limit": 10}, 600)
    assert world.send(account, "whatsapp").is_replay is False
    assert world.send(account, "call", now=NOW + 10 * M).is_replay is False


def test_an_account_with_a_raised_limit_shows_its_own_figure() -> None:
    account = world.open_account(holder_calls_per_hour=12)
    copies(account, 12, at=NOW - 50 * M, channel="call")
    refusal = refused(account, channel="call")
    assert refusal.details == {"reason": "holder_calls_per_hour", "limit": 12}
    assert "(the limit is 12 calls an hour to one number)" in refusal.message


def test_planned_calls_count_so_that_an_accepted_workflow_never_overruns() -> None:
    account = world.open_account()
    copies(account, 8, at=NOW - 50 * M, every=M, channel="call")
    with pytest.raises(Refusal) as caught:
        world.run(account, "escalate")
    assert caught.value.details == {"reason": "holder_calls_per_hour", "limit": 10}
    assert world.run(account, "escalate", now=NOW + 12 * M).is_replay is False


def test_calls_that_were_skipped_and_free_setup_tests_do_not_count_as_calls() -> None:
    account = world.open_account()
    made = copies(account, 10, at=NOW - 50 * M, channel="call")
    Attempt.objects.filter(alert=made[0]).update(status="skipped", failure_code="CANCELLED", claimed_at=None)
    assert world.send(account, "call", "the tenth").is_replay is False
    Alert.objects.filter(pk=made[1].pk).update(is_setup_test=True)
    Attempt.objects.filter(status="scheduled").update(status="answered", claimed_at=NOW)
    assert world.send(account, "call", "the tenth again", now=NOW + M).is_replay is False


def test_a_direct_call_is_refused_while_the_number_has_one() -> None:
    account = world.open_account()
    holder = world.owner_holder(account)
    holder.live_call, holder.live_call_until = "someone-else", NOW + M
    holder.save()
    refusal = refused(account, channel="call")
    assert refusal.message == "A call to this recipient is already in progress."
    assert (refusal.details, refusal.retry_after_s) == ({"reason": "call_in_progress"}, 60)
    assert world.send(account, "call", now=NOW + M).is_replay is False


def test_a_direct_call_is_refused_while_another_is_due_and_not_yet_placed_and_a_workflow_waits() -> None:
    account = world.open_account()
    world.send(account, "call", "one")
    assert refused(account, channel="call", message="two").details == {"reason": "call_in_progress"}
    assert world.run(account, "escalate").is_replay is False


@pytest.mark.parametrize(
    ("count", "ago", "every", "now_plus", "reason", "wait"),
    [
        (10, 30 * S, S, 0 * S, "account_per_minute", 30),
        (100, 40 * M, 10 * S, 0 * S, "account_per_hour", 20 * 60),
        (500, 18 * H, M, 0 * S, "account_per_day", 5 * 3600),
    ],
)
def test_accounts_without_a_paid_plan_have_caps(
    settings: Settings, count: int, ago: timedelta, every: timedelta, now_plus: timedelta, reason: str, wait: int
) -> None:
    settings.HOLDER_ALERTS_PER_HOUR = 1000
    account = world.open_account(is_paid=False)
    copies(account, count, at=NOW - ago, every=every)
    refusal = refused(account)
    assert refusal.message == "Too many alerts for this account right now."
    assert (refusal.details, refusal.retry_after_s) == ({"reason": reason}, wait)
    other = world.open_account(number="+12025550199")
    assert world.send(other).is_replay is False


def test_a_paid_plan_has_no_account_wide_cap(settings: Settings) -> None:
    settings.HOLDER_ALERTS_PER_HOUR = 1000
    account = world.open_account()
    copies(account, 500, at=NOW - 30 * S, every=timedelta(milliseconds=10))
    assert world.send(account).is_replay is False


def test_a_new_account_sends_30_alerts_a_day_until_its_first_week_is_over() -> None:
    account = world.open_account(is_paid=False, at=NOW - timedelta(days=3))
    copies(account, 30, at=NOW - 10 * H, every=15 * M)
    refusal = refused(account)
    assert refusal.message == "This account has reached its daily alert limit. Try again tomorrow."
    assert (refusal.details, refusal.retry_after_s) == ({"reason": "new_account_per_day"}, 5 * 3600)
    assert world.send(account, message="tomorrow", now=NOW + 5 * H).is_replay is False
    Account.objects.filter(pk=account.pk).update(first_payment_at=NOW - timedelta(days=7))
    assert world.send(account).is_replay is False


def test_a_new_account_places_6_calls_a_day_planned_ones_included() -> None:
    account = world.open_account(is_paid=False, at=NOW - timedelta(days=3))
    copies(account, 4, at=NOW - 10 * H, every=H, channel="call")
    with pytest.raises(Refusal) as caught:
        world.run(account, "escalate")
    refusal = caught.value
    assert refusal.message == "This account has reached its daily call limit. Try again tomorrow."
    assert (refusal.details, refusal.retry_after_s) == (
        {"reason": "new_account_calls_per_day", "limit": 6},
        5 * 3600,
    )
    assert world.send(account, "call").is_replay is False
    Account.objects.filter(pk=account.pk).update(has_new_account_caps_lifted=True)
    assert world.run(account, "escalate").is_replay is False


def test_twenty_sends_of_a_channel_that_were_not_charged_stop_that_channel_for_the_hour() -> None:
    account = world.open_account()
    made = copies(account, 20, at=NOW - 3 * H, every=M)
    for number, alert in enumerate(made):
        world.finish(alert, settlement="released", status="failed", at=NOW - 55 * M + number * M)
    refusal = refused(account)
    assert refusal.message == (
        "Too many sends from this account didn't go through recently, so sending is paused for this account for now. "
        "Try again later."
    )
    assert refusal.details == {"reason": "unbilled_budget", "channel": "whatsapp", "window": "hour", "limit": 20}
    assert refusal.retry_after_s == 5 * 60
    assert world.send(account, "sms").is_replay is False
    assert world.send(account, now=NOW + 5 * M).is_replay is False


def test_sixty_such_sends_stop_the_channel_for_the_utc_day() -> None:
    account = world.open_account()
    for alert in copies(account, 60, at=NOW - 18 * H, every=10 * M):
        world.finish(alert, settlement="released", status="failed", at=alert.created_at)
    refusal = refused(account)
    assert refusal.details == {"reason": "unbilled_budget", "channel": "whatsapp", "window": "day", "limit": 60}
    assert refusal.retry_after_s == 5 * 3600
    assert world.send(account, now=NOW + 5 * H).is_replay is False


def test_what_was_charged_or_never_sent_is_not_in_the_budget(settings: Settings) -> None:
    settings.UNBILLED_PER_HOUR = 3
    account = world.open_account()
    made = copies(account, 4, at=NOW - 2 * H, every=M)
    world.finish(made[0], settlement="charged", status="delivered")
    world.finish(made[1], settlement="reduced", status="no_answer")
    world.finish(made[2], settlement="released", status="failed")
    world.finish(made[3], settlement="released", status="failed")
    Attempt.objects.filter(alert=made[3]).update(status="skipped", claimed_at=None)
    assert world.send(account).is_replay is False


def test_sends_on_their_way_that_could_fill_the_budget_hold_others_up(settings: Settings) -> None:
    settings.UNBILLED_PER_HOUR = 2
    account = world.open_account()
    world.send(account, message="one")
    world.send(account, message="two")
    refusal = refused(account, message="three")
    assert refusal.message == "Other sends from this account are still on their way. Try again in a moment."
    assert (refusal.details, refusal.retry_after_s) == ({"reason": "unbilled_send_busy", "channel": "whatsapp"}, 2)
    assert world.send(account, "sms", "three").is_replay is False
    for alert in Alert.objects.all():
        world.finish(alert, settlement="charged", status="delivered")
    assert world.send(account, message="three").is_replay is False


def rate_cap(reason: str = "holder_per_hour") -> Refusal:
    return Refusal("RATE_LIMITED", "…", details={"reason": reason}, retry_after_s=10)


def brake(connection: Connection, *ats: Any) -> None:
    for at in ats:
        limits.note_refusal(connection, rate_cap(), at)
    connection.refresh_from_db()


def test_three_caps_in_ten_minutes_pause_a_connection_for_fifteen() -> None:
    account = world.open_account(is_paid=False)
    connection = world.connect(account)
    brake(connection, NOW - 10 * M + S, NOW - M)
    assert connection.braked_until is None
    brake(connection, NOW)
    assert connection.braked_until == NOW + 15 * M
    refusal = refused(account, connection=connection, now=NOW + M)
    assert refusal.message == "This agent connection is paused for sending too fast."
    assert (refusal.details, refusal.retry_after_s) == ({"reason": "runaway_brake"}, 14 * 60)
    assert world.send(account, connection=world.connect(account, "another")).is_replay is False
    assert world.send(account, message="later", connection=connection, now=NOW + 15 * M).is_replay is False


def test_caps_that_lie_ten_minutes_apart_do_not_add_up() -> None:
    connection = world.connect(world.open_account(is_paid=False))
    brake(connection, NOW - 10 * M, NOW - M, NOW)
    assert connection.braked_until is None


def test_a_paid_plan_never_brakes_and_keeps_no_hits() -> None:
    account = world.open_account()
    connection = world.connect(account)
    brake(connection, NOW, NOW, NOW, NOW)
    assert connection.braked_until is None
    assert not CapHit.objects.exists()
    Connection.objects.filter(pk=connection.pk).update(braked_until=NOW + M)
    connection.refresh_from_db()
    assert world.send(account, connection=connection).is_replay is False


@pytest.mark.parametrize(
    "refusal",
    [
        rate_cap("call_in_progress"),
        rate_cap("unbilled_budget"),
        rate_cap("unbilled_send_busy"),
        rate_cap("runaway_brake"),
        Refusal("SERVICE_PAUSED", "…", details={"flag": "all"}),
    ],
)
def test_refusals_that_are_nobodys_haste_do_not_brake(refusal: Refusal) -> None:
    connection = world.connect(world.open_account(is_paid=False))
    for _ in range(5):
        limits.note_refusal(connection.pk, refusal, NOW)
    connection.refresh_from_db()
    assert connection.braked_until is None
    assert not CapHit.objects.exists()


def test_hours_and_days_that_hold_no_new_call_are_not_the_new_calls_fault() -> None:
    crowded = [NOW - timedelta(minutes=59 - minute) for minute in range(12)]
    assert limits.fit_hours(crowded, [NOW + 2 * H], limit=10) is True
    assert limits.fit_hours(crowded[2:], [NOW], limit=10) is False
    assert limits.fit_hours([], [NOW + minute * M for minute in range(10)], limit=10) is True
    assert limits.fit_hours([NOW + 59 * M], [NOW] * 9, limit=9) is False
    assert limits.fit_hours([NOW + 60 * M], [NOW] * 9, limit=9) is True
    assert limits.fit_days([NOW] * 9, [NOW + 6 * H], limit=6) is True
    assert limits.fit_days([NOW] * 6, [NOW + 4 * H], limit=6) is False
