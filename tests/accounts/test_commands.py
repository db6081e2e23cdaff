"""The commands of staff: JSON on standard output, repeatable, refused in production where they skip a check."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from accounts import payments
from accounts.locking import locked
from accounts.models import Account, Number, Pause, Payment, Rate, User
from accounts.numbers import reveal
from accounts.people import list_recipients
from accounts.readiness import blockers
from tests.factories import NOW, AccountFactory, UserFactory

pytestmark = pytest.mark.django_db
OWNER = ("sam@example.com", "--name", "Sam", "--number", "+12025550143")


def account_of(email: str = "sam@example.com") -> Account:
    """The account of a login."""
    return Account.objects.get(members__user__email=email)


def test_create_owner_makes_a_ready_account_and_says_the_same_again(run: Any) -> None:
    ready = (*OWNER, "--verified", "--paid", "--residence", "us")
    first = run("create_owner", *ready)
    account = account_of()
    assert first == {"account_id": account.pk, "email": "sam@example.com", "person": "Sam"}
    assert blockers(account) == []
    assert (account.residence, account.plan, account.balance_cents, account.is_paid_plan) == ("US", None, 2500, False)
    assert run("create_owner", *ready) == first
    account.refresh_from_db()
    assert account.balance_cents == 2500
    assert (User.objects.count(), Account.objects.count(), Number.objects.count()) == (1, 1, 1)
    assert Payment.objects.get().status == "confirmed"


def test_create_owner_without_options_leaves_everything_to_be_done(run: Any) -> None:
    run("create_owner", *OWNER)
    account = account_of()
    assert [blocker["code"] for blocker in blockers(account)] == [
        "payment_needed",
        "residence_needed",
        "verification_needed",
    ]
    assert (account.balance_cents, account.residence_confirmed_at, account.first_payment_at) == (0, None, None)
    assert Number.objects.get().verified_at is None


def test_create_owner_changes_what_differs(run: Any) -> None:
    run("create_owner", *OWNER, "--verified", "--balance-cents", "40")
    account = account_of()
    assert (account.balance_cents, account.first_payment_at) == (40, None)
    changed = ("SAM@example.com", "--name", "Samuel", "--number", "+1 202 555 0144", "--plan", "plus")
    answer = run("create_owner", *changed, "--paid", "--balance-cents", "15")
    assert answer == {"account_id": account.pk, "email": "sam@example.com", "person": "Samuel"}
    account = account_of()
    assert account.plan is not None
    assert (account.plan.name, account.is_paid_plan, account.balance_cents) == ("Plus", True, 15)
    assert account.first_payment_at is not None
    number = Number.objects.get(account=account)
    assert (reveal(number), number.is_verified) == ("+12025550144", False)


@pytest.mark.parametrize("cents", [0, 1, 5000])
def test_a_paid_owner_has_exactly_the_balance_asked_for(run: Any, cents: int) -> None:
    run("create_owner", *OWNER, "--paid", "--balance-cents", str(cents))
    account = account_of()
    assert account.balance_cents == cents
    assert account.first_payment_at is not None


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("nobody", "--name", "Sam", "--number", "+12025550143"), "Enter an e-mail address."),
        (("a@example.com", "--name", "Sam", "--number", "12"), "Enter a phone number with + and its country code."),
        (("a@example.com", "--name", " ", "--number", "+12025550143"), "`owner_name` is empty."),
        ((*OWNER, "--plan", "Gold"), "There is no plan of that name. The plans are: Free, Plus."),
        ((*OWNER, "--residence", "XX"), "Choose a country."),
        ((*OWNER, "--balance-cents", "-1"), "The balance is 0 or more."),
    ],
)
def test_create_owner_says_what_is_wrong_and_leaves_nothing_behind(args: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(CommandError, match="^" + sentence.replace("+", r"\+") + "$"):
        call_command("create_owner", *args)
    assert (User.objects.count(), Account.objects.count()) == (0, 0)


@pytest.mark.parametrize("skip", [("--verified",), ("--paid",), ("--balance-cents", "5"), ("--residence", "US")])
def test_what_skips_a_check_is_refused_in_production_unless_allowed(
    run: Any, settings: Settings, skip: tuple[str, ...]
) -> None:
    settings.PRODUCTION, settings.ALLOW_TEST_COMMANDS = True, False
    with pytest.raises(CommandError, match=f"^{skip[0]} skips a check and is refused in production"):
        call_command("create_owner", *OWNER, *skip)
    assert User.objects.count() == 0
    run("create_owner", *OWNER)
    with pytest.raises(CommandError, match="refused in production"):
        call_command("add_person", "sam@example.com", "--name", "Ada", "--number", "+12025550144", "--verified")
    settings.ALLOW_TEST_COMMANDS = True
    run("create_owner", *OWNER, *skip)


def test_add_person_adds_by_number_and_renames_when_repeated(run: Any) -> None:
    run("create_owner", *OWNER)
    ada = ("sam@example.com", "--number", "+12025550144")
    assert run("add_person", *ada, "--name", "Ada") == {"person": "Ada"}
    assert Number.objects.get(person__name="Ada").verified_at is None
    assert run("add_person", *ada, "--name", "Ada L", "--verified") == {"person": "Ada L"}
    number = Number.objects.get(person__name="Ada L")
    verified_at = number.verified_at
    assert verified_at is not None
    assert run("add_person", *ada, "--name", "Ada L", "--verified") == {"person": "Ada L"}
    number.refresh_from_db()
    assert number.verified_at == verified_at
    assert run("add_person", "sam@example.com", "--number", "+12025550145", "--name", "Ada L") == {"person": "Ada L"}
    assert [each.shown for each in list_recipients(account_of())] == ["Sam", "Ada L", "Ada L"]


def test_add_person_needs_an_account_and_a_name(run: Any) -> None:
    with pytest.raises(CommandError, match="No account belongs to a login"):
        call_command("add_person", "nobody@example.com", "--name", "Ada", "--number", "+12025550144")
    run("create_owner", *OWNER)
    with pytest.raises(CommandError, match="always means the account's owner"):
        call_command("add_person", "sam@example.com", "--name", "Owner", "--number", "+12025550144")
    assert Number.objects.count() == 1


def test_verifying_by_command_counts_after_a_stop_too(run: Any) -> None:
    run("create_owner", *OWNER, "--verified")
    number = Number.objects.select_related("holder").get()
    number.holder.opted_out_at = number.verified_at
    number.holder.save()
    run("create_owner", *OWNER, "--verified")
    assert Number.objects.select_related("holder").get().is_opted_out() is False


def test_set_rate_prints_the_rate_as_it_is_now(run: Any) -> None:
    answer = run("set_rate", "us", "call", "--price-cents", "12", "--reduced-cents", "4", "--status", "coming_soon")
    assert answer == {
        "country": "US",
        "channel": "call",
        "status": "coming_soon",
        "price_cents": 12,
        "reduced_cents": 4,
    }
    rate = Rate.objects.get(country="US", channel="call")
    assert (rate.price_cents, rate.reduced_cents, rate.status) == (12, 4, "coming_soon")
    with pytest.raises(CommandError, match="There is no rate for call in ZZ"):
        call_command("set_rate", "ZZ", "call", "--price-cents", "1")
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("set_rate", "US", "pigeon", "--price-cents", "1")


def test_checkledger_is_quiet_when_all_adds_up_and_fails_when_not(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    account = AccountFactory(balance_cents=100)
    assert run("checkledger") == {"accounts": 1, "differences": []}
    Account.objects.filter(pk=account.pk).update(balance_cents=101)
    with pytest.raises(CommandError, match="differ") as failed:
        call_command("checkledger")
    assert failed.value.returncode == 1
    difference = {"account_id": account.pk, "problem": "balance", "cached_cents": 101, "ledger_cents": 100}
    assert json.loads(capsys.readouterr().out) == {"accounts": 1, "differences": [difference]}


def test_an_account_is_suspended_lifted_and_closed_by_command_once(run: Any) -> None:
    account = AccountFactory(user=UserFactory(email="sam@example.com"))
    said = {"account_id": account.pk, "status": "suspended", "changed": True}
    assert run("suspend_account", "sam@example.com", "--reason", "spam") == said
    assert run("suspend_account", "sam@example.com", "--reason", "spam") == said | {"changed": False}
    assert account_of().status_reason == "spam"
    assert run("lift_suspension", "sam@example.com") == said | {"status": "active"}
    assert run("close_account", "sam@example.com") == said | {"status": "closed"}
    with pytest.raises(CommandError, match="--reason"):
        call_command("suspend_account", "sam@example.com")


def test_sending_is_paused_and_resumed_by_command_for_what_is_named(run: Any) -> None:
    account = AccountFactory(user=UserFactory(email="sam@example.com"))
    pause = run("pause_sending", "destination", "--reason", "storm", "--countries", "de", "fr")
    assert pause == {"flag": "destination", "countries": ["DE", "FR"], "account_id": None}
    own = run("pause_sending", "account", "--reason", "abuse", "--account", "sam@example.com")
    assert own == {"flag": "account", "countries": [], "account_id": account.pk}
    assert run("resume_sending", "account", "--account", "sam@example.com")["changed"] is True
    assert run("resume_sending", "all") == {"flag": "all", "changed": False}
    with pytest.raises(CommandError, match=r"^Countries go with the flag `destination`, and only with it\.$"):
        call_command("pause_sending", "destination", "--reason", "storm")
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("pause_sending", "everything", "--reason", "storm")
    assert list(Pause.objects.filter(lifted_at=None).values_list("flag", flat=True)) == ["destination"]


def test_a_payment_is_confirmed_by_command_once_and_named_when_several_wait(run: Any) -> None:
    account = AccountFactory(user=UserFactory(email="sam@example.com"), balance_cents=0, first_payment_at=None)
    with pytest.raises(CommandError, match=r"^No payment of this account waits to be confirmed\.$"):
        call_command("confirm_payment", "sam@example.com")
    with locked(account.pk) as held:
        waiting = [payments.record(held, amount_cents=n, method="x", external_ref="", now=NOW) for n in (100, 200)]
    with pytest.raises(CommandError, match=rf"\({waiting[0].pk}, {waiting[1].pk}\)\.$"):
        call_command("confirm_payment", "sam@example.com")
    first = run("confirm_payment", "sam@example.com", "--payment", str(waiting[0].pk))
    assert first == {"payment_id": waiting[0].pk, "changed": True, "balance_cents": 100}
    assert run("confirm_payment", "sam@example.com")["balance_cents"] == 300
    came = ("confirm_payment", "sam@example.com", "--amount-cents", "50", "--reference", "bank-7")
    assert run(*came)["balance_cents"] == 350
    assert run(*came) == {"payment_id": Payment.objects.latest("pk").pk, "changed": False, "balance_cents": 350}
    with pytest.raises(CommandError, match="go together"):
        call_command("confirm_payment", "sam@example.com", "--amount-cents", "50")
