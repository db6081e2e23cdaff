"""Accepting alerts: the order of refusals, what is planned, held and written, and that a refusal leaves nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from accounts import pauses
from accounts.locking import locked
from accounts.models import Account, Country, Holder, Number
from alerts import sending
from alerts.carriers import templates
from alerts.models import Alert, Attempt, CarrierCall
from breakpass.errors import Refusal
from tests import world
from tests.world import NOW
from workflows import saved
from workflows.plan import Step

pytestmark = pytest.mark.django_db
M = timedelta(minutes=1)


def refusal_of(call: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        call()
    return caught.value


def test_a_workflow_is_accepted_with_its_plan_its_attempts_and_the_money_of_minute_0() -> None:
    account = world.open_account()
    connection = world.connect(account)
    accepted = world.run(
        account, "escalate", connection=connection, use_case="checkout", event_reference="e-1", recipient="Owner"
    )
    alert = Alert.objects.get(pk=accepted.alert.pk)
    assert (alert.status, alert.recipient, alert.is_to_owner) == ("queued", "owner", True)
    assert (alert.message, alert.agent_name) == ("Checkout is failing.", "Checkout monitor")
    assert (alert.use_case, alert.event_reference, alert.connection) == ("checkout", "e-1", connection)
    assert (alert.requires_ack, alert.expires_at, alert.plan.max_cost_cents) == (True, NOW + 12 * M, 67)
    assert (alert.plan.has_sms_fallback, alert.plan.max_attempts) == (True, 5)
    rows = list(alert.attempts.order_by("seq"))
    assert [(row.channel, row.due_at, row.price_cents, row.reduced_cents) for row in rows] == [
        ("whatsapp", NOW, 3, 0),
        ("call", NOW, 20, 5),
        ("call", NOW + M, 20, 5),
        ("call", NOW + 2 * M, 20, 5),
    ]
    assert [row.held_at for row in rows] == [NOW, NOW, None, None]
    account.refresh_from_db()
    assert (account.balance_cents, account.reserved_cents) == (2400, 23)
    held = account.entries.filter(kind="hold").values_list("ref", "reserved_delta_cents")
    assert set(held) == {(rows[0].ledger_ref, 3), (rows[1].ledger_ref, 20)}


def test_starting_a_workflow_takes_at_most_twelve_queries(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    account = world.open_account()
    connection = world.connect(account)
    with locked(account.pk) as held:
        saved.save(
            held,
            "inform",
            steps=[Step(0, "message")],
            requires_ack=True,
            has_sms_fallback=True,
            max_attempts=3,
            now=NOW,
        )
    with locked(account.pk) as held, django_assert_max_num_queries(12):
        sending.start_workflow(
            held, connection, workflow_id="escalate", message="Checkout is failing.", idempotency_key="k", now=NOW
        )


def test_a_direct_send_is_a_plan_of_one_step_without_a_deadline_to_show() -> None:
    account = world.open_account()
    alert = world.send(account, "sms").alert
    assert (alert.workflow_key, alert.requires_ack, alert.expires_at) == ("", False, NOW + 75 * M)
    assert [(row.kind, row.channel) for row in alert.attempts.all()] == [("message", "sms")]
    asked = world.send(account, "call", require_ack=True).alert
    assert (asked.requires_ack, asked.expires_at) == (True, NOW + 60 * M)
    account.refresh_from_db()
    assert account.reserved_cents == 24


def test_a_price_of_nothing_is_held_all_the_same() -> None:
    account = world.open_account(balance_cents=0)
    world.set_rate("US", "sms", price_cents=0)
    alert = world.send(account, "sms").alert
    assert list(account.entries.values_list("kind", "ref", "reserved_delta_cents")) == [
        ("hold", alert.attempts.get().ledger_ref, 0)
    ]


def test_everything_due_at_minute_0_is_held_together_or_not_at_all() -> None:
    account = world.open_account(balance_cents=22)
    refusal = refusal_of(lambda: world.run(account, "escalate"))
    assert refusal.code == "INSUFFICIENT_BALANCE"
    assert refusal.details == {"price_cents": 23, "balance_cents": 22}
    assert world.leaves_nothing(account)
    assert world.run(world.open_account(balance_cents=23, number=world.ADA_NUMBER), "escalate").is_replay is False


def test_the_alert_keeps_the_version_it_started_with() -> None:
    account = world.open_account()
    before = world.run(account, "inform", "one").alert
    with locked(account.pk) as held:
        saved.save(
            held,
            "inform",
            steps=[Step(0, "message"), Step(5, "message")],
            requires_ack=True,
            has_sms_fallback=False,
            max_attempts=2,
            now=NOW,
        )
    account.refresh_from_db()
    after = world.run(account, "inform", "two").alert
    assert (Alert.objects.get(pk=before.pk).plan.version, len(before.plan.steps)) == (1, 1)
    assert (after.plan.version, len(after.plan.steps), after.requires_ack) == (2, 2, True)
    assert after.plan.has_sms_fallback is False
    assert [row.reminder for row in after.attempts.order_by("seq")] == ["", "Reminder 2 of 2: "]


def test_the_agents_name_is_given_or_the_connections_or_the_services() -> None:
    account = world.open_account()
    long = world.connect(account, "The checkout monitor of the shop in the harbour")
    assert world.send(account, message="1", agent_name="  Ops\u200b bot ").alert.agent_name == "Ops bot"
    assert world.send(account, message="2", connection=long).alert.agent_name == "The checkout monitor of the sh"
    assert world.send(account, message="3").alert.agent_name == "BreakPass"


# ---- refusals, one by one ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "field", "rule"),
    [
        ({"message": " \u200b "}, "message", "empty"),
        ({"message": "x" * 601}, "message", "max_length"),
        ({"message": "🚨"}, "message", "emoji_only"),
        ({"message": "see https://bit.ly/x"}, "message", "link_shortener"),
        ({"agent_name": "x" * 31}, "agent_name", "max_length"),
        ({"agent_name": "\u200b"}, "agent_name", "empty"),
        ({"use_case": "Check_out"}, "use_case", "format"),
        ({"use_case": "x" * 41}, "use_case", "max_length"),
        ({"event_reference": "x" * 101}, "event_reference", "max_length"),
        ({"idempotency_key": "x" * 65}, "idempotency_key", "max_length"),
        ({"idempotency_key": " "}, "idempotency_key", "empty"),
    ],
)
def test_fields_are_checked_before_anything_else(arguments: dict[str, Any], field: str, rule: str) -> None:
    account = world.open_account(status="suspended")
    refusal = refusal_of(lambda: world.send(account, **arguments))
    assert (refusal.code, refusal.details["field"], refusal.details["rule"]) == ("CONTENT_REJECTED", field, rule)
    assert world.leaves_nothing(account)


def test_an_unknown_workflow_is_refused_with_the_ids_there_are() -> None:
    account = world.open_account()
    refusal = refusal_of(lambda: world.run(account, "wake-everyone"))
    assert refusal.code == "WORKFLOW_NOT_FOUND"
    assert refusal.details == {"available": ["inform", "acknowledge", "escalate"]}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": "suspended"}, "This BreakPass account is suspended."),
        ({"status": "closed"}, "This BreakPass account is closed."),
        (
            {"is_paused_until_verified": True},
            "Sending is paused until a phone number on the account is verified again.",
        ),
    ],
)
def test_an_account_that_may_not_act_sends_nothing(fields: dict[str, Any], message: str) -> None:
    account = world.open_account(**fields)
    for call in (lambda: world.send(account), lambda: world.run(account)):
        refusal = refusal_of(call)
        assert (refusal.code, refusal.message, refusal.details) == ("ACCOUNT_SUSPENDED", message, {})
    assert world.leaves_nothing(account)


def test_every_pause_that_concerns_the_send_refuses_it_and_names_no_country() -> None:
    account = world.open_account()
    for flag, more in (
        ("all", {}),
        ("account", {"account": account}),
        ("whatsapp", {}),
        ("destination", {"countries": ["US"]}),
    ):
        stop = pauses.pause(flag, reason="test", now=NOW, **more)
        for call in (lambda: world.send(account), lambda: world.run(account, "escalate")):
            refusal = refusal_of(call)
            assert (refusal.code, refusal.details) == ("SERVICE_PAUSED", {"flag": flag})
            assert (refusal.message, refusal.retry_after_s) == (
                "Sending is paused right now. Try again later.",
                300,
            )
        stop.delete()
    assert world.leaves_nothing(account)
    pauses.pause("call", reason="test", now=NOW)
    assert refusal_of(lambda: world.run(account, "escalate")).details == {"flag": "call"}
    assert world.run(account, "inform").is_replay is False


def test_an_unfinished_setup_says_what_is_missing() -> None:
    account = world.open_account()
    Account.objects.filter(pk=account.pk).update(first_payment_at=None, residence_confirmed_at=None)
    refusal = refusal_of(lambda: world.run(account))
    assert refusal.code == "SETUP_INCOMPLETE"
    assert [blocker["code"] for blocker in refusal.details["blockers"]] == ["payment_needed", "residence_needed"]
    assert "setup_url" not in refusal.details
    Number.objects.update(verified_at=None)
    Account.objects.update(first_payment_at=NOW, residence_confirmed_at=NOW)
    refusal = refusal_of(lambda: world.run(account))
    assert [blocker["code"] for blocker in refusal.details["blockers"]] == ["verification_needed"]
    assert refusal.details["setup_url"].endswith("/start/")
    assert world.leaves_nothing(account)


def test_people_are_found_by_name_and_two_of_a_name_by_nobody() -> None:
    account = world.open_account()
    world.add_person(account, "Ada", number=world.ADA_NUMBER)
    assert world.run(account, "inform", recipient=" aDA ").alert.recipient == "Ada"
    assert refusal_of(lambda: world.run(account, recipient="Bob")).code == "RECIPIENT_NOT_FOUND"
    world.add_person(account, "ada", number="+12025550188")
    assert refusal_of(lambda: world.run(account, recipient="Ada")).code == "RECIPIENT_AMBIGUOUS"
    assert account.alerts.count() == 1


@pytest.mark.parametrize(
    ("fields", "recipient", "reason"),
    [
        ({"verified_at": None}, "Ada", "pending"),
        ({"is_over_plan": True}, "Ada", "plan_limit"),
        ({"verified_at": None}, None, "number_not_verified"),
        ({"is_over_plan": True}, None, "number_paused"),
    ],
)
def test_a_number_that_may_not_be_reached_says_why(fields: dict[str, Any], recipient: str | None, reason: str) -> None:
    account = world.open_account()
    ada = world.add_person(account, "Ada", number=world.ADA_NUMBER)
    wanted = ada.pk if recipient else world.owner_number(account).pk
    Number.objects.filter(pk=wanted).update(**fields)
    refusal = refusal_of(lambda: world.run(account, recipient=recipient))
    assert (refusal.code, refusal.details) == ("RECIPIENT_NOT_VERIFIED", {"reason": reason})
    assert world.leaves_nothing(account)


def test_someone_who_opted_out_gets_nothing_until_verified_again() -> None:
    account = world.open_account()
    Holder.objects.update(opted_out_at=NOW - M)
    assert refusal_of(lambda: world.run(account)).code == "RECIPIENT_OPTED_OUT"
    assert world.leaves_nothing(account)
    Number.objects.update(verified_at=NOW)
    assert world.run(account).is_replay is False


def test_a_channel_that_cannot_be_used_refuses_with_what_can() -> None:
    account = world.open_account()
    Holder.objects.update(whatsapp="no")
    refusal = refusal_of(lambda: world.send(account, "whatsapp"))
    assert refusal.code == "CHANNEL_UNAVAILABLE"
    assert refusal.message == "This number isn't on WhatsApp. Use SMS or a call."
    assert refusal.details == {"channel": "whatsapp", "reason": "no_whatsapp", "available_channels": ["sms", "call"]}
    assert world.leaves_nothing(account)
    assert [step.channel for step in world.run(account, "inform").alert.plan.steps] == ["sms"]


def test_a_workflow_names_the_steps_that_have_no_channel() -> None:
    account = world.open_account()
    world.set_rate("US", "call", status="coming_soon")
    refusal = refusal_of(lambda: world.run(account, "escalate"))
    assert refusal.details == {
        "channel": "call",
        "reason": "coming_soon",
        "available_channels": ["whatsapp", "sms"],
        "unavailable_steps": [{"offset_min": minute, "kind": "call", "channel": "call"} for minute in (0, 1, 2)],
    }
    assert world.leaves_nothing(account)


def test_an_sms_outside_the_us_and_canada_can_be_sent_but_not_acknowledged() -> None:
    world.offer("GB")
    account = world.open_account(number=world.LONDON_NUMBER)
    refusal = refusal_of(lambda: world.send(account, "sms", require_ack=True))
    assert refusal.message == (
        "An SMS can be acknowledged only on a US or Canadian number. Send it without acknowledgement, or by WhatsApp "
        "or a call."
    )
    assert refusal.details == {
        "channel": "sms",
        "reason": "sms_ack_us_ca_only",
        "available_channels": ["whatsapp", "sms", "call"],
    }
    assert world.leaves_nothing(account)
    assert world.send(account, "sms", "x" * 160).is_replay is False


def test_a_link_in_an_sms_outside_the_us_and_canada_is_refused() -> None:
    world.offer("GB")
    account = world.open_account(number=world.LONDON_NUMBER)
    refusal = refusal_of(lambda: world.send(account, "sms", "See https://example.com/1"))
    assert refusal.details == {"field": "message", "rule": "sms_link"}
    assert world.send(account, "whatsapp", "See https://example.com/1").is_replay is False


@pytest.mark.parametrize(
    ("channel", "more", "fits"),
    [("sms", {}, 98), ("sms", {"require_ack": True}, 61), ("call", {}, 150), ("whatsapp", {}, 600)],
)
def test_a_text_that_does_not_fit_the_channel_is_refused(channel: str, more: dict[str, Any], fits: int) -> None:
    account = world.open_account()
    refusal = refusal_of(lambda: world.send(account, channel, "x" * (fits + 1), **more))
    assert refusal.code == "CONTENT_REJECTED"
    if channel != "whatsapp":
        assert refusal.details["shorten_by"] == 1
    assert world.leaves_nothing(account)
    assert world.send(account, channel, "x" * fits, **more).is_replay is False


def test_a_workflow_by_sms_is_measured_with_its_link_and_its_longest_reminder() -> None:
    account = world.open_account()
    Holder.objects.update(whatsapp="no")
    room = 98 - 37 - len("Reminder 3 of 3: ")
    refusal = refusal_of(lambda: world.run(account, "acknowledge", "x" * (room + 1)))
    assert (refusal.details["rule"], refusal.details["shorten_by"]) == ("sms_length", 1)
    assert world.leaves_nothing(account)
    assert world.run(account, "acknowledge", "x" * room).is_replay is False


def test_a_whatsapp_alert_is_accepted_even_when_its_fallback_would_not_fit() -> None:
    alert = world.run(world.open_account(), "inform", "x" * 600).alert
    assert alert.plan.has_sms_fallback is True


def test_a_changed_template_refuses_whatsapp_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    account = world.open_account()
    monkeypatch.setattr(templates, "known", lambda template: "differs" if template == "alert" else "fits")
    assert refusal_of(lambda: world.send(account, "whatsapp")).code == "TEMPLATE_MISMATCH"
    assert refusal_of(lambda: world.run(account, "inform")).code == "TEMPLATE_MISMATCH"
    assert world.leaves_nothing(account)
    assert world.send(account, "sms").is_replay is False
    assert world.send(account, "whatsapp", require_ack=True).is_replay is False


def test_while_the_carrier_only_fails_nothing_is_created() -> None:
    account = world.open_account()
    for _ in range(5):
        CarrierCall.objects.create(channel="sms", succeeded=False, created_at=NOW - timedelta(seconds=59))
    refusal = refusal_of(lambda: world.run(account))
    assert (refusal.code, refusal.retry_after_s, refusal.details) == ("PROVIDER_ERROR", 30, {})
    assert world.leaves_nothing(account)
    CarrierCall.objects.create(channel="sms", succeeded=True, created_at=NOW - timedelta(seconds=1))
    assert world.run(account).is_replay is False


def test_the_first_refusal_of_the_fixed_order_answers() -> None:
    """Every reason at once, then one after another is taken away (behaviour, Order of refusals)."""
    account = world.open_account(balance_cents=0, is_paid=False, status="suspended")
    number = world.add_person(account, "Ada", number=world.ADA_NUMBER)
    Account.objects.filter(pk=account.pk).update(first_payment_at=None)
    Holder.objects.update(opted_out_at=NOW, whatsapp="no", live_call="x", live_call_until=NOW + M)
    Number.objects.filter(pk=number.pk).update(is_over_plan=True)
    stop = pauses.pause("all", reason="test", now=NOW)
    Country.objects.filter(code="US").update(is_offered=False)
    arguments: dict[str, Any] = {"channel": "call", "message": "\u200b", "recipient": "Eve"}
    seen = []

    def next_code(fix: Callable[[], object]) -> None:
        seen.append(refusal_of(lambda: world.send(account, **arguments)).code)
        fix()

    next_code(lambda: arguments.update(message="x" * 151))
    next_code(lambda: Account.objects.update(status="active"))
    next_code(lambda: stop.delete())
    next_code(lambda: Account.objects.update(first_payment_at=NOW - timedelta(days=30)))
    next_code(lambda: arguments.update(recipient="Ada"))
    next_code(lambda: Number.objects.filter(pk=number.pk).update(verified_at=NOW + M))
    next_code(lambda: Number.objects.filter(pk=number.pk).update(is_over_plan=False))
    next_code(lambda: Country.objects.filter(code="US").update(is_offered=True))
    next_code(lambda: arguments.update(message="x" * 150))
    next_code(lambda: Holder.objects.update(live_call="", live_call_until=None))
    next_code(lambda: None)
    assert seen == [
        "CONTENT_REJECTED",
        "ACCOUNT_SUSPENDED",
        "SERVICE_PAUSED",
        "SETUP_INCOMPLETE",
        "RECIPIENT_NOT_FOUND",
        "RECIPIENT_OPTED_OUT",
        "RECIPIENT_NOT_VERIFIED",
        "CHANNEL_UNAVAILABLE",
        "CONTENT_REJECTED",
        "RATE_LIMITED",
        "INSUFFICIENT_BALANCE",
    ]
    assert world.leaves_nothing(account)


def test_a_replay_is_given_even_to_an_account_that_may_not_send_any_more() -> None:
    account = world.open_account()
    first = world.run(account, "inform", key="k").alert
    direct = world.send(account, "sms").alert
    Account.objects.filter(pk=account.pk).update(status="suspended")
    assert world.run(account, "inform", key="k").alert.pk == first.pk
    assert world.send(account, "sms").alert.pk == direct.pk
    assert refusal_of(lambda: world.run(account, "inform", key="l")).code == "ACCOUNT_SUSPENDED"


# ---- the notice, setup tests, cancelling -----------------------------------------------------------------------------


def fail_today(account: Account, numbers: range) -> None:
    for number in numbers:
        alert = world.send(account, "sms", f"failing {number}", now=NOW - (60 - number) * M).alert
        world.finish(alert, settlement="released", status="failed", at=NOW - (60 - number) * M)


def test_after_the_fifth_failed_send_of_the_day_sends_carry_the_notice(settings: Settings) -> None:
    account = world.open_account()
    fail_today(account, range(4))
    assert world.send(account, "sms", "fifth").notice is None
    fail_today(account, range(4, 5))
    accepted = world.send(account, "sms", "sixth")
    assert accepted.notice == "From now on today, texts that carriers block as spam are charged at the normal price."
    assert accepted.alert.charges_spam_blocks is True
    assert world.run(account, "inform").notice == accepted.notice
    assert world.send(account, "sms", "tomorrow", now=NOW + timedelta(hours=5)).notice is None
    settings.CHARGE_SPAM_BLOCKS = False
    switched_off = world.send(account, "sms", "rule off")
    assert (switched_off.notice, switched_off.alert.charges_spam_blocks) == (None, False)


@pytest.mark.parametrize("channel", ["whatsapp", "sms", "call"])
def test_a_setup_test_is_free_and_goes_before_any_payment(channel: str) -> None:
    account = world.open_account(balance_cents=0, is_paid=False)
    Account.objects.filter(pk=account.pk).update(first_payment_at=None, residence_confirmed_at=None)
    world.set_rate("US", channel, needs_test=True)
    with locked(account.pk) as held:
        assert held.own_person is not None
        alert = sending.start_test(held, held.own_person, channel=channel, now=NOW)
    attempt = alert.attempts.get()
    assert (alert.is_setup_test, alert.requires_ack, alert.agent_name) == (True, True, "BreakPass")
    assert (attempt.channel, attempt.price_cents, attempt.reduced_cents) == (channel, 0, 0)
    assert alert.plan.max_cost_cents == 0
    assert refusal_of(lambda: world.send(account, channel)).code == "SETUP_INCOMPLETE"


def test_setup_tests_stay_within_the_accounts_caps_and_need_a_verified_number() -> None:
    account = world.open_account(is_paid=False)
    Account.objects.filter(pk=account.pk).update(first_payment_at=None)

    def start(now: Any) -> Alert:
        with locked(account.pk) as held:
            assert held.own_person is not None
            return sending.start_test(held, held.own_person, channel="call", now=now)

    for number in range(6):
        start(NOW + number * 2 * M)
        Attempt.objects.update(status="answered", claimed_at=NOW)
    refusal = refusal_of(lambda: start(NOW + 20 * M))
    assert refusal.details == {"reason": "new_account_calls_per_day", "limit": 6}
    Number.objects.update(verified_at=None)
    assert refusal_of(lambda: start(NOW)).code == "RECIPIENT_NOT_VERIFIED"
    assert account.alerts.count() == 6


def test_a_test_outside_the_us_asks_for_no_acknowledgement_by_sms() -> None:
    world.offer("GB")
    account = world.open_account(number=world.LONDON_NUMBER)
    with locked(account.pk) as held:
        assert held.own_person is not None
        alert = sending.start_test(held, held.own_person, channel="sms", now=NOW)
    assert (alert.requires_ack, alert.message) == (False, "Your test alert arrived. Everything works.")


def test_cancelling_stops_what_is_unsent_and_releases_its_money() -> None:
    account = world.open_account()
    alert = world.run(account, "escalate").alert
    with locked(account.pk) as held:
        cancelled = sending.cancel(held, alert.code.lower(), by="agent", now=NOW + M)
    assert (cancelled.status, cancelled.cancelled_by, cancelled.cancelled_at) == ("cancelled", "agent", NOW + M)
    assert {row.status for row in alert.attempts.all()} == {"skipped"}
    account.refresh_from_db()
    assert (account.balance_cents, account.reserved_cents) == (2400, 0)
    with locked(account.pk) as held:
        again = sending.cancel(held, alert.code, by="owner", now=NOW + 2 * M)
    assert (again.status, again.cancelled_by, again.cancelled_at) == ("cancelled", "agent", NOW + M)


def test_an_alert_that_ended_stays_as_it_is_and_a_strangers_is_not_found() -> None:
    account, stranger = world.open_account(), world.open_account(number=world.ADA_NUMBER)
    alert = world.run(account, "inform").alert
    world.finish(alert, settlement="charged", status="delivered")
    with locked(account.pk) as held:
        assert sending.cancel(held, alert.code, by="agent", now=NOW).status == "delivered"
    with locked(stranger.pk) as held:
        refusal = refusal_of(lambda: sending.cancel(held, alert.code, by="agent", now=NOW))
    assert (refusal.code, refusal.details) == ("ALERT_NOT_FOUND", {"not_found": [alert.code]})


def test_public_ids_that_are_taken_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    account = world.open_account()
    taken = world.run(account, "inform", "one").alert.code
    codes = iter([taken, "A-222222", "A-333333"])
    monkeypatch.setattr("alerts.accepting.new_code", lambda prefix: next(codes))
    assert world.run(account, "inform", "two").alert.code == "A-222222"
