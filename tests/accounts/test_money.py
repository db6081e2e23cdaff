"""Payments, the standing of an account, and the letters that tell its owner."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.core.mail.backends.locmem import EmailBackend

from accounts import letters, payments, standing
from accounts.locking import locked
from accounts.models import Account, Letter, Payment
from accounts.tasks import send_mail
from breakpass.errors import Refusal
from tests.factories import NOW, AccountFactory, UserFactory

pytestmark = pytest.mark.django_db


def noted(account: Account, amount_cents: int = 700, external_ref: str = "") -> Payment:
    """A payment that waits to be confirmed."""
    with locked(account.pk) as held:
        return payments.record(held, amount_cents=amount_cents, method="manual", external_ref=external_ref, now=NOW)


def test_a_confirmed_payment_tops_up_once_and_starts_the_first_week() -> None:
    account = AccountFactory(balance_cents=0, first_payment_at=None)
    staff = UserFactory(is_staff=True)
    payment = noted(account)
    assert payment.status == "pending"
    with locked(account.pk) as held:
        assert payments.confirm(held, payment, by=staff, now=NOW) is True
        assert held.balance_cents == 700
    with locked(account.pk) as held:
        assert payments.confirm(held, payment, by=None, now=NOW + timedelta(days=1)) is False
    account.refresh_from_db()
    payment.refresh_from_db()
    assert (account.balance_cents, account.first_payment_at) == (700, NOW)
    assert (payment.status, payment.confirmed_at, payment.confirmed_by) == ("confirmed", NOW, staff)
    assert account.is_new(NOW + timedelta(days=7) - timedelta(seconds=1)) is True
    assert account.is_new(NOW + timedelta(days=7)) is False


def test_a_second_payment_does_not_start_the_week_again() -> None:
    account = AccountFactory(balance_cents=100)
    first = account.first_payment_at
    with locked(account.pk) as held:
        payments.confirm(
            held, payments.record(held, amount_cents=50, method="x", external_ref="", now=NOW), by=None, now=NOW
        )
    account.refresh_from_db()
    assert (account.balance_cents, account.first_payment_at) == (150, first)


def test_the_same_reference_is_the_same_payment() -> None:
    account = AccountFactory()
    payment = noted(account, external_ref="bank-1")
    assert noted(account, external_ref="bank-1") == payment
    with pytest.raises(Refusal) as refused:
        noted(AccountFactory(), external_ref="bank-1")
    assert refused.value.code == "PAYMENT_ELSEWHERE"
    with pytest.raises(ValueError, match="brings money"):
        noted(account, amount_cents=0)
    assert Payment.objects.count() == 1


def test_a_refused_payment_is_not_confirmed_any_more() -> None:
    account = AccountFactory(balance_cents=0)
    payment = noted(account)
    with locked(account.pk) as held:
        assert payments.refuse(held, payment) is True
        assert payments.refuse(held, payment) is False
    with pytest.raises(Refusal) as refused, locked(account.pk) as held:
        payments.confirm(held, payment, by=None, now=NOW)
    assert refused.value.code == "PAYMENT_NOT_PENDING"
    account.refresh_from_db()
    assert account.balance_cents == 0


def test_a_dispute_suspends_the_account_until_staff_lift_it() -> None:
    account = AccountFactory()
    payment = noted(account)
    with pytest.raises(Refusal) as refused, locked(account.pk) as held:
        payments.dispute(held, payment, now=NOW)
    assert refused.value.code == "PAYMENT_NOT_CONFIRMED"
    with locked(account.pk) as held:
        payments.confirm(held, payment, by=None, now=NOW)
        payments.dispute(held, payment, now=NOW)
        payments.dispute(held, payment, now=NOW)
        assert (held.status, held.status_reason) == ("suspended", "payment dispute")
        assert standing.lift_suspension(held, now=NOW) is True
    account.refresh_from_db()
    payment.refresh_from_db()
    assert (account.status, account.status_reason, payment.status) == ("active", "", "disputed")


def test_a_payment_of_another_account_is_out_of_reach() -> None:
    payment = noted(AccountFactory())
    other = AccountFactory()
    with pytest.raises(Payment.DoesNotExist), locked(other.pk) as held:
        payments.confirm(held, payment, by=None, now=NOW)


def test_standing_changes_once_and_a_closed_account_stays_closed() -> None:
    account = AccountFactory()
    with locked(account.pk) as held:
        assert standing.lift_suspension(held, now=NOW) is False
        assert standing.suspend(held, reason="x" * 300, now=NOW) is True
        assert len(held.status_reason) == 200
        assert standing.suspend(held, reason="again", now=NOW) is False
        assert standing.close(held, reason="fraud", now=NOW) is True
        assert standing.close(held, now=NOW) is False
        assert standing.lift_suspension(held, now=NOW) is False
        assert standing.suspend(held, reason="late", now=NOW) is False
    account.refresh_from_db()
    assert (account.status, account.status_reason) == ("closed", "fraud")
    kinds = list(Letter.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds == ["account_suspended", "account_closed"]
    assert not Letter.objects.filter(body__contains="fraud").exists()


def test_a_letter_goes_to_every_login_that_is_active_and_only_once(mailoutbox: list[EmailMessage]) -> None:
    account = AccountFactory(user=UserFactory(email="sam@example.com"))
    for email, is_active in (("ada@example.com", True), ("off@example.com", False)):
        account.members.create(user=UserFactory(email=email, is_active=is_active), created_at=NOW)
    letter = letters.write(account, kind="test", subject="A\nsubject " + "x" * 200, body="Hello.", now=NOW)
    assert letters.send_waiting(NOW) == 1
    assert letters.send_waiting(NOW) == 0
    assert [mail.to for mail in mailoutbox] == [["sam@example.com"], ["ada@example.com"]]
    assert mailoutbox[0].subject.startswith("A subject x")
    assert len(mailoutbox[0].subject) == 150
    letter.refresh_from_db()
    assert (letter.claimed_at, letter.sent_at, letter.tries) == (NOW, NOW, 1)


def test_while_the_mail_server_is_away_letters_wait(
    mailoutbox: list[EmailMessage], settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    letters.write(AccountFactory(), kind="test", subject="Hello", body="Hello.", now=NOW)
    settings.EMAIL_BACKEND = "tests.accounts.test_money.Away"
    assert letters.send_waiting(NOW) == 0
    assert Letter.objects.get().claimed_at is None
    assert "the mail server can't be reached" in caplog.text
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert letters.send_waiting(NOW) == 1
    assert len(mailoutbox) == 1


def test_a_letter_that_may_have_left_is_not_sent_again(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    account = AccountFactory(user=UserFactory(email="sam@example.com"))
    letter = letters.write(account, kind="test", subject="Hello", body="Hello.", now=NOW)
    settings.EMAIL_BACKEND = "tests.accounts.test_money.Breaks"
    assert letters.send_waiting(NOW) == 0
    assert letters.send_waiting(NOW) == 0
    letter.refresh_from_db()
    assert (letter.claimed_at, letter.sent_at, letter.tries) == (NOW, None, 1)
    assert caplog.text.count("did not leave") == 1
    assert "sam@example.com" not in caplog.text


def test_the_task_sends_what_waits(mailoutbox: list[EmailMessage]) -> None:
    letters.write(AccountFactory(), kind="test", subject="Hello", body="Hello.", now=NOW)
    send_mail()
    assert [mail.subject for mail in mailoutbox] == ["Hello"]


class Away(EmailBackend):
    """A mail server that can't be reached."""

    def open(self) -> bool:
        """As when nothing listens."""
        raise ConnectionRefusedError


class Breaks(EmailBackend):
    """A mail server that hangs up in the middle."""

    def send_messages(self, messages: Any) -> int:
        """As when the connection is lost."""
        raise OSError("lost while sending to sam@example.com")
