"""Verification codes: who may ask for one, how often, by what; and what a guess is worth (cases, 18)."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from accounts import codes, numbers, pauses, standing
from accounts.locking import locked
from accounts.models import Account, Country, Holder, Number, Rate, VerificationCode
from accounts.people import remove
from accounts.sealing import unseal
from breakpass.errors import Refusal
from tests.factories import LONG_AGO, NOW, AccountFactory, NumberFactory, PersonFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("load_rates")]
MINUTE = timedelta(minutes=1)


@pytest.fixture
def account() -> Account:
    """An account whose owner's number waits for its code."""
    return AccountFactory(number="+12025550143", is_verified=False)


@pytest.fixture
def number(account: Account) -> Number:
    """The owner's number."""
    return Number.objects.select_related("holder").get(account=account)


def ask(number: Number, at: Any = NOW, **asked: Any) -> VerificationCode:
    """Ask for a code by SMS, or as said."""
    with locked(number.account_id) as held:
        return codes.request_code(held, number, now=at, **{"channel": "sms", **asked})


def digits_of(code: VerificationCode) -> str:
    """What the person would read."""
    assert code.sealed is not None
    return unseal(code.sealed)


def wrong(code: VerificationCode) -> str:
    """Six digits that are not the code's."""
    return f"{(int(digits_of(code)) + 1) % 1_000_000:06d}"


def check(number: Number, digits: str, at: Any = NOW) -> None:
    """Type the digits in."""
    with locked(number.account_id) as held:
        codes.check_code(held, number, code=digits, now=at)


def refusal_of(number: Number, digits: str, at: Any = NOW) -> Refusal:
    """Why the digits were not taken; the number stays as it was."""
    before = Number.objects.get(pk=number.pk).verified_at
    with pytest.raises(Refusal) as refused:
        check(number, digits, at)
    assert Number.objects.get(pk=number.pk).verified_at == before
    return refused.value


def refusal_to_ask(number: Number, at: Any = NOW, **asked: Any) -> Refusal:
    """Why no code is sent; none is made."""
    before = VerificationCode.objects.count()
    with pytest.raises(Refusal) as refused:
        ask(number, at, **asked)
    assert VerificationCode.objects.count() == before
    return refused.value


def test_the_right_code_verifies_once_and_wipes_itself(number: Number) -> None:
    code = ask(number)
    digits = digits_of(code)
    assert len(digits) == 6
    assert digits not in code.code_hash
    check(number, digits, NOW + MINUTE)
    assert number.verified_at == NOW + MINUTE
    code.refresh_from_db()
    assert (code.closed_at, code.sealed, code.checks) == (NOW + MINUTE, None, 1)
    assert refusal_of(number, digits, NOW + MINUTE).code == "CODE_EXPIRED"


def test_a_request_wakes_the_task_that_sends_it(
    number: Number, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted: list[tuple[str, tuple[int | str, ...]]] = []
    monkeypatch.setattr("breakpass.nudge._post", lambda task, args: posted.append((task, args)))
    with django_capture_on_commit_callbacks(execute=True):
        code = ask(number)
    assert posted == [("alerts.send_code", (code.pk,))]


def test_case_18_five_wrong_codes_void_the_code_and_the_number_is_not_locked(number: Number) -> None:
    code = ask(number)
    said = [refusal_of(number, wrong(code)) for _ in range(5)]
    assert [each.code for each in said] == ["CODE_WRONG"] * 4 + ["CODE_VOID"]
    assert [each.details.get("checks_left") for each in said] == [4, 3, 2, 1, None]
    assert said[0].message == "That code isn't right. 4 tries left."
    assert said[3].message == "That code isn't right. 1 try left."
    late = refusal_of(number, digits_of(code))
    assert (late.code, late.message) == (
        "CODE_VOID",
        "This code was tried too often and no longer works. Ask for a new one.",
    )
    fresh = ask(number, NOW + MINUTE)
    check(number, digits_of(fresh), NOW + MINUTE)
    assert number.is_verified


def test_case_18_the_old_code_after_a_resend_is_wrong(number: Number) -> None:
    old = ask(number)
    old_digits = digits_of(old)
    new = ask(number, NOW + MINUTE)
    old.refresh_from_db()
    assert (old.closed_at, old.sealed) == (NOW + MINUTE, None)
    if old_digits != digits_of(new):
        assert refusal_of(number, old_digits, NOW + MINUTE).code == "CODE_WRONG"
    check(number, digits_of(new), NOW + MINUTE)
    assert number.is_verified


def test_case_18_a_code_works_for_ten_minutes_only(number: Number) -> None:
    code = ask(number)
    said = refusal_of(number, digits_of(code), NOW + 10 * MINUTE)
    assert (said.code, said.message) == ("CODE_EXPIRED", "This code has expired. Ask for a new one.")
    check(number, digits_of(code), NOW + 10 * MINUTE - timedelta(milliseconds=1))
    assert number.is_verified


def test_without_a_code_there_is_nothing_to_check(number: Number) -> None:
    assert refusal_of(number, "000000").code == "CODE_EXPIRED"


def test_another_accounts_code_for_the_same_number_verifies_nothing_here(number: Number) -> None:
    theirs = NumberFactory(person=PersonFactory(), e164="+12025550143", verified_at=None)
    code = ask(theirs)
    assert refusal_of(number, digits_of(code)).code == "CODE_EXPIRED"
    check(theirs, digits_of(code))
    assert Number.objects.get(pk=number.pk).verified_at is None


def test_verifying_lifts_the_pause_that_waited_for_it(account: Account, number: Number) -> None:
    with locked(account.pk) as held:
        standing.pause_until_verified(held)
    check(number, digits_of(ask(number)))
    account.refresh_from_db()
    assert account.is_paused_until_verified is False


def test_one_a_minute_three_in_ten_minutes_ten_a_day(number: Number) -> None:
    ask(number)
    said = refusal_to_ask(number, NOW + timedelta(seconds=20.5))
    assert (said.code, said.retry_after_s) == ("RATE_LIMITED", 40)
    assert said.message == "Too many codes were asked for. Wait before asking for another one."
    ask(number, NOW + MINUTE)
    ask(number, NOW + 2 * MINUTE)
    assert refusal_to_ask(number, NOW + 3 * MINUTE).retry_after_s == 7 * 60
    day = NOW.replace(hour=1)
    VerificationCode.objects.all().delete()
    for index in range(10):
        ask(number, day + index * 10 * MINUTE)
    said = refusal_to_ask(number, day + timedelta(hours=5))
    assert (said.code, said.retry_after_s) == ("RATE_LIMITED", 18 * 3600)
    ask(number, day.replace(hour=0) + timedelta(days=1))


def test_the_caps_of_a_number_hold_across_accounts_and_after_it_was_removed(account: Account, number: Number) -> None:
    ask(number)
    theirs = NumberFactory(person=PersonFactory(), e164="+12025550143", verified_at=None)
    assert refusal_to_ask(theirs, NOW + timedelta(seconds=30)).retry_after_s == 30
    with locked(account.pk) as held:
        remove(held, number.person, now=NOW)
    assert VerificationCode.objects.get().number is None
    assert VerificationCode.objects.get().closed_at == NOW
    assert refusal_to_ask(theirs, NOW + timedelta(seconds=30)).retry_after_s == 30


def test_an_account_and_an_address_have_caps_of_their_own(number: Number, settings: Settings) -> None:
    settings.CODES_PER_ACCOUNT_DAY, settings.CODES_PER_IP_HOUR = 2, 2
    other = NumberFactory(person=PersonFactory(account=number.account), verified_at=None)
    third = NumberFactory(person=PersonFactory(account=number.account), verified_at=None)
    ask(number, ip="192.0.2.1")
    ask(other, ip="192.0.2.1")
    assert refusal_to_ask(third).retry_after_s == 5 * 3600
    elsewhere = NumberFactory(person=PersonFactory(), verified_at=None)
    said = refusal_to_ask(elsewhere, NOW + 15 * MINUTE, ip="192.0.2.1")
    assert (said.code, said.retry_after_s) == ("RATE_LIMITED", 45 * 60)
    assert ask(elsewhere, NOW + 15 * MINUTE, ip="192.0.2.2").ip_hash not in ("", "192.0.2.2")


def test_nobody_but_the_holder_gets_a_call(number: Number) -> None:
    said = refusal_to_ask(number, channel="call")
    assert said.message == "Only the person who holds the number can ask for a call, on their own page."
    assert ask(number, channel="call", by_holder=True).channel == "call"


def test_a_number_that_stopped_gets_no_message_unless_its_holder_asks(number: Number) -> None:
    numbers.opt_out(number.holder, via="sms", now=LONG_AGO)
    assert refusal_to_ask(number).code == "RECIPIENT_OPTED_OUT"
    assert refusal_to_ask(number, is_invite=True).code == "RECIPIENT_OPTED_OUT"
    code = ask(number, by_holder=True)
    check(number, digits_of(code))
    assert Number.objects.get(pk=number.pk).is_opted_out() is False
    # Stopping is a fact about the holder: other accounts still have to ask.
    assert Holder.objects.get(pk=number.holder_id).opted_out_at == LONG_AGO


def test_a_code_from_before_a_stop_agrees_to_nothing(number: Number) -> None:
    code = ask(number)
    numbers.opt_out(number.holder, via="sms", now=NOW + MINUTE)
    assert refusal_of(number, digits_of(code), NOW + 2 * MINUTE).code == "CODE_EXPIRED"


def test_only_countries_and_channels_that_are_offered_get_codes(number: Number, settings: Settings) -> None:
    Rate.objects.filter(country="US", channel="sms").update(status="coming_soon")
    said = refusal_to_ask(number)
    assert (said.code, said.details["reason"]) == ("CHANNEL_UNAVAILABLE", "coming_soon")
    assert ask(number, channel="whatsapp").channel == "whatsapp"
    settings.TWILIO_CONTENT_SID_CODE = ""
    assert refusal_to_ask(number, NOW + MINUTE, channel="whatsapp").details["reason"] == "whatsapp_not_live"
    Country.objects.filter(code="US").update(is_offered=False)
    assert refusal_to_ask(number, NOW + MINUTE).details["reason"] == "country_not_offered"


def test_a_code_needs_no_price_within_the_owners_limit(account: Account, number: Number) -> None:
    Account.objects.filter(pk=account.pk).update(max_price_cents=0)
    Rate.objects.filter(country="US").update(needs_test=True)
    assert ask(number).channel == "sms"


def test_nothing_is_sent_while_sending_is_paused_or_the_account_is_suspended(account: Account, number: Number) -> None:
    pauses.pause("destination", reason="storm", countries=["us"], now=NOW)
    said = refusal_to_ask(number)
    assert (said.code, said.details) == ("SERVICE_PAUSED", {"flag": "destination"})
    pauses.resume("destination", now=NOW)
    with locked(account.pk) as held:
        standing.suspend(held, reason="spam", now=NOW)
    assert refusal_to_ask(number).code == "ACCOUNT_SUSPENDED"


def test_whoever_was_removed_meanwhile_gets_no_code(account: Account, number: Number) -> None:
    with locked(account.pk) as held:
        remove(held, number.person, now=NOW)
    with pytest.raises(Refusal) as refused:
        ask(number, by_holder=True)
    assert refused.value.code == "RECIPIENT_NOT_FOUND"
    assert VerificationCode.objects.count() == 0
