"""Idempotency keys and the minute of repeats (cases, 21)."""

from datetime import timedelta
from typing import Any

import pytest

from alerts import keys
from alerts.models import Alert, IdempotencyKey
from breakpass.errors import Refusal
from tests import world
from tests.world import NOW

pytestmark = pytest.mark.django_db
S, H = timedelta(seconds=1), timedelta(hours=1)


def test_case_21_one_key_gives_one_alert_and_a_replay_that_charges_nothing() -> None:
    account = world.open_account()
    first = world.run(account, "escalate", key="k1")
    account.refresh_from_db()
    held = account.reserved_cents
    again = world.run(account, "escalate", key="k1", now=NOW + 23 * H)
    account.refresh_from_db()
    assert (first.is_replay, again.is_replay) == (False, True)
    assert again.alert.pk == first.alert.pk
    assert account.alerts.count() == 1
    assert account.reserved_cents == held == 23


@pytest.mark.parametrize(
    "changed",
    [
        {"message": "Checkout is back."},
        {"workflow_id": "inform"},
        {"recipient": "Ada"},
        {"agent_name": "Somebody else"},
        {"use_case": "checkout"},
        {"event_reference": "e-1"},
    ],
)
def test_case_21_one_key_with_another_payload_is_a_conflict_and_starts_nothing(changed: dict[str, Any]) -> None:
    account = world.open_account()
    world.add_person(account, "Ada", number=world.ADA_NUMBER)
    world.run(account, key="k1")
    with pytest.raises(Refusal) as caught:
        world.run(account, key="k1", now=NOW + S, **changed)
    assert caught.value.code == "IDEMPOTENCY_CONFLICT"
    assert caught.value.details == {}
    assert account.alerts.count() == 1


def test_case_21_a_key_is_one_payload_even_for_another_tool() -> None:
    account = world.open_account()
    world.send(account, "whatsapp", idempotency_key="k1")
    with pytest.raises(Refusal) as caught:
        world.send(account, "sms", idempotency_key="k1")
    assert caught.value.code == "IDEMPOTENCY_CONFLICT"


def test_what_reads_the_same_once_cleaned_and_defaulted_is_the_same_request() -> None:
    account = world.open_account()
    connection = world.connect(account, "Checkout monitor")
    first = world.send(account, message="Checkout *is* failing", connection=connection, idempotency_key="k1")
    again = world.send(
        account,
        message="Checkout is\u200b failing ",
        recipient=" OWNER ",
        agent_name="Checkout monitor",
        require_ack=False,
        connection=connection,
        idempotency_key="k1",
        now=NOW + S,
    )
    assert again.is_replay is True
    assert again.alert.pk == first.alert.pk


def test_a_name_in_composed_and_in_separate_characters_is_the_same_request() -> None:
    account = world.open_account()
    world.add_person(account, "Jos\u00e9", number=world.ADA_NUMBER)
    first = world.run(account, key="k1", recipient="Jos\u00e9")
    again = world.run(account, key="k1", recipient="JOSE\u0301", now=NOW + S)
    assert again.is_replay is True
    assert again.alert.pk == first.alert.pk


def test_case_21_a_key_used_again_after_its_alert_failed_gives_the_failed_alert() -> None:
    account = world.open_account()
    first = world.run(account, "inform", key="k1").alert
    world.finish(first, settlement="released", status="failed")
    again = world.run(account, "inform", key="k1", now=NOW + H)
    assert (again.is_replay, again.alert.pk, again.alert.status) == (True, first.pk, "failed")


def test_case_21_one_key_on_two_accounts_gives_two_alerts() -> None:
    one, two = world.open_account(), world.open_account(number=world.ADA_NUMBER)
    assert world.run(one, key="k1").is_replay is False
    assert world.run(two, key="k1").is_replay is False
    assert (one.alerts.count(), two.alerts.count()) == (1, 1)


def test_case_21_a_refused_call_does_not_use_up_its_key() -> None:
    account = world.open_account(balance_cents=0)
    with pytest.raises(Refusal) as caught:
        world.run(account, "inform", key="k1")
    assert caught.value.code == "INSUFFICIENT_BALANCE"
    assert world.leaves_nothing(account)
    richer = world.open_account(number=world.ADA_NUMBER)
    assert world.run(richer, "inform", key="k1").is_replay is False


def test_after_24_hours_a_key_is_free_again() -> None:
    account = world.open_account()
    first = world.run(account, key="k1", message="one")
    assert world.run(account, key="k1", message="one", now=NOW + 24 * H - S).is_replay is True
    second = world.run(account, key="k1", message="two", now=NOW + 24 * H)
    assert second.is_replay is False
    assert second.alert.pk != first.alert.pk
    assert world.run(account, key="k1", message="two", now=NOW + 47 * H).is_replay is True
    assert IdempotencyKey.objects.count() == 1


def test_old_keys_are_forgotten_and_young_ones_kept() -> None:
    account = world.open_account()
    world.run(account, "inform", key="old", now=NOW - 24 * H)
    world.run(account, "inform", key="young", now=NOW - 23 * H)
    assert keys.prune(NOW) == 1
    assert [row.key for row in IdempotencyKey.objects.all()] == ["young"]


@pytest.mark.parametrize(
    ("after", "is_replay"),
    [(timedelta(milliseconds=3), True), (59 * S, True), (60 * S, True), (61 * S, False)],
)
def test_case_21_without_a_key_the_same_send_within_a_minute_is_the_same_alert(
    after: timedelta, is_replay: bool
) -> None:
    account = world.open_account()
    first = world.send(account, "sms")
    again = world.send(account, "sms", "Checkout  is failing.", now=NOW + after)
    assert again.is_replay is is_replay
    assert (again.alert.pk == first.alert.pk) is is_replay
    account.refresh_from_db()
    assert account.reserved_cents == (4 if is_replay else 8)


def test_another_channel_person_or_text_is_another_send() -> None:
    account = world.open_account()
    world.add_person(account, "Ada", number=world.ADA_NUMBER)
    world.send(account, "sms")
    assert world.send(account, "whatsapp").is_replay is False
    assert world.send(account, "sms", recipient="Ada").is_replay is False
    assert world.send(account, "sms", "Checkout is failing!").is_replay is False
    assert world.send(account, "sms", recipient="owner").is_replay is True
    assert Alert.objects.count() == 4


def test_a_workflow_is_never_taken_for_a_direct_send() -> None:
    account = world.open_account()
    world.run(account, "inform")
    assert world.send(account, "whatsapp").is_replay is False


def test_the_hash_does_not_depend_on_the_order_of_arguments() -> None:
    assert keys.hash_request("t", {"a": 1, "b": 2}) == keys.hash_request("t", {"b": 2, "a": 1})
    assert keys.hash_request("t", {"a": 1}) != keys.hash_request("u", {"a": 1})
