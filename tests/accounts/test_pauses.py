"""What staff pause: whom it concerns, how it is said, and how it is lifted."""

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts import pauses
from accounts.models import Pause
from accounts.pauses import OpenPauses
from breakpass.errors import Refusal
from tests.factories import NOW, AccountFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("paused", "channel", "country", "flag"),
    [
        (OpenPauses(), "sms", "US", None),
        (OpenPauses(frozenset({"all", "account", "sms"})), "sms", "US", "all"),
        (OpenPauses(frozenset({"account", "sms"})), "sms", "US", "account"),
        (OpenPauses(frozenset({"sms"})), "sms", "US", "sms"),
        (OpenPauses(frozenset({"sms"})), "call", "US", None),
        (OpenPauses(frozenset({"sms"})), None, "US", None),
        (OpenPauses(frozenset({"destination"}), frozenset({"US"})), None, "US", "destination"),
        (OpenPauses(frozenset({"destination"}), frozenset({"US"})), "call", "DE", None),
        (OpenPauses(frozenset({"destination"}), frozenset({"US"})), None, "", None),
        (OpenPauses(frozenset({"whatsapp_capacity", "whatsapp_not_live"})), "whatsapp", "US", None),
    ],
)
def test_a_pause_concerns_what_it_names(
    paused: OpenPauses, channel: str | None, country: str, flag: str | None
) -> None:
    assert pauses.pause_flag(paused, channel=channel, country=country) == flag
    if flag is None:
        pauses.refuse_if_paused(paused, channel=channel, country=country)
        return
    with pytest.raises(Refusal) as refused:
        pauses.refuse_if_paused(paused, channel=channel, country=country)
    assert refused.value.as_error() == {
        "code": "SERVICE_PAUSED",
        "message": "Sending is paused right now. Try again later.",
        "retry_after_s": 300,
        "details": {"flag": flag},
    }


def test_the_pauses_of_an_account_are_everybodys_and_its_own(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    account, other = AccountFactory(), AccountFactory()
    pauses.pause("call", reason="carrier", now=NOW)
    pauses.pause("destination", reason="storm", countries=["de", "fr"], now=NOW)
    pauses.pause("account", reason="abuse", account=account, now=NOW)
    pauses.pause("sms", reason="done", now=NOW)
    assert pauses.resume("sms", now=NOW) is True
    with django_assert_num_queries(1):
        mine = pauses.open_pauses(account)
    assert mine == OpenPauses(frozenset({"call", "destination", "account"}), frozenset({"DE", "FR"}))
    assert pauses.open_pauses(other).flags == {"call", "destination"}


def test_pausing_again_widens_the_open_pause_and_lifting_is_by_country_or_whole() -> None:
    pauses.pause("destination", reason="storm", countries=["DE"], now=NOW)
    widened = pauses.pause("destination", reason="two storms", countries=["FR", "IT"], now=NOW)
    assert (widened.countries, widened.reason) == ("DE FR IT", "two storms")
    assert Pause.objects.count() == 1
    assert pauses.resume("destination", countries=["fr"], now=NOW) is True
    assert Pause.objects.get().countries == "DE IT"
    assert pauses.resume("destination", countries=["ES"], now=NOW) is False
    assert pauses.resume("destination", now=NOW) is True
    assert Pause.objects.get().lifted_at == NOW
    assert pauses.resume("destination", now=NOW) is False


def test_what_does_not_go_together_is_refused() -> None:
    account = AccountFactory()
    with pytest.raises(ValueError, match="the flag is one of all, whatsapp"):
        pauses.pause("everything", reason="", now=NOW)
    with pytest.raises(ValueError, match="an account goes with"):
        pauses.pause("account", reason="", now=NOW)
    with pytest.raises(ValueError, match="an account goes with"):
        pauses.pause("all", reason="", account=account, now=NOW)
    with pytest.raises(ValueError, match="countries go with"):
        pauses.pause("destination", reason="", now=NOW)
    with pytest.raises(ValueError, match="countries go with"):
        pauses.resume("all", countries=["DE"], now=NOW)
    assert Pause.objects.count() == 0
