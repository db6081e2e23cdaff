"""Rates and channels: every reason of CHANNEL_UNAVAILABLE that a number or country can give, and its sentence."""

from pathlib import Path

import phonenumbers
import pytest
from django.core.management import call_command
from pytest_django import DjangoAssertNumQueries, Settings

from accounts import pauses, rates
from accounts.channels import ChannelState, channel_states, refuse_channel
from accounts.models import Account, Country, Holder, Number, Rate
from accounts.pauses import OpenPauses
from breakpass.errors import Refusal
from tests.factories import NOW, AccountFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def number(load_rates: None) -> Number:
    """A verified US number."""
    return Number.objects.select_related("holder", "account").get(account=AccountFactory())


def states_of(number: Number, flags: OpenPauses | None = None) -> dict[str, ChannelState]:
    """The channels of a number as they are now."""
    account = Account.objects.get(pk=number.account_id)
    holder = Holder.objects.get(pk=number.holder_id)
    country_rates = rates.rates_of(holder.country)
    return channel_states(account, number, holder, country_rates, flags or pauses.open_pauses(account), now=NOW)


def refusal_for(channel: str, states: dict[str, ChannelState]) -> tuple[str, str, list[str]]:
    """Reason, sentence, and what can be used instead."""
    refusal = refuse_channel(channel, states)
    assert refusal.code == "CHANNEL_UNAVAILABLE"
    assert refusal.details["channel"] == channel
    return refusal.details["reason"], refusal.message, refusal.details["available_channels"]


def test_a_us_number_has_every_channel_with_its_prices(
    number: Number, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    Rate.objects.filter(country="US", channel="call").update(price_cents=9, reduced_cents=2)
    states = states_of(number)
    assert list(states) == ["whatsapp", "sms", "call"]
    assert states["call"] == ChannelState("call", True, None, True, 9, 2)
    country_rates, flags = rates.rates_of("US"), OpenPauses()
    with django_assert_num_queries(0):
        channel_states(number.account, number, number.holder, country_rates, flags, now=NOW)


def test_a_country_that_no_channel_reaches_is_unsupported(number: Number) -> None:
    Rate.objects.filter(country="US").update(status="unavailable")
    Rate.objects.filter(country="US", channel="sms").update(status="coming_soon")
    states = states_of(number)
    for channel in states:
        assert refusal_for(channel, states) == ("country_unsupported", "BreakPass doesn't reach this country yet.", [])
    Rate.objects.filter(country="US").delete()
    assert {state.reason for state in states_of(number).values()} == {"country_unsupported"}


def test_a_country_that_staff_switched_off_is_not_offered(number: Number) -> None:
    Country.objects.filter(code="US").update(is_offered=False)
    states = states_of(number)
    assert refusal_for("call", states) == (
        "country_not_offered",
        "BreakPass doesn't send to this country right now.",
        [],
    )


def test_a_channel_that_the_country_lacks_or_gets_later(number: Number) -> None:
    Rate.objects.filter(country="US", channel="call").update(status="unavailable")
    Rate.objects.filter(country="US", channel="sms").update(status="coming_soon")
    states = states_of(number)
    assert refusal_for("call", states) == (
        "not_in_country",
        "Calling isn't offered for this number. Use WhatsApp.",
        ["whatsapp"],
    )
    assert refusal_for("sms", states) == (
        "coming_soon",
        "SMS isn't offered for this number yet. Use WhatsApp.",
        ["whatsapp"],
    )


@pytest.mark.parametrize(
    "missing", ["TWILIO_WHATSAPP_FROM", "TWILIO_CONTENT_SID_ALERT", "TWILIO_CONTENT_SID_ALERT_ACK"]
)
def test_whatsapp_without_sender_or_templates_is_not_live(number: Number, settings: Settings, missing: str) -> None:
    setattr(settings, missing, "")
    expected = ("whatsapp_not_live", "WhatsApp can't be used yet. Use SMS or a call.", ["sms", "call"])
    assert refusal_for("whatsapp", states_of(number)) == expected


def test_sms_and_calls_without_a_sender_are_off(number: Number, settings: Settings) -> None:
    settings.TWILIO_SMS_FROM = settings.TWILIO_VOICE_FROM = ""
    states = states_of(number)
    assert refusal_for("sms", states)[0] == "channel_unavailable"
    assert refusal_for("call", states) == (
        "channel_unavailable",
        "Calling can't be used right now. Use WhatsApp.",
        ["whatsapp"],
    )
    french = rates.rates_of("FR")
    assert channel_states(number.account, number, number.holder, french, OpenPauses(), now=NOW)["sms"].is_available


def test_staff_can_say_that_whatsapp_is_full_or_not_live(number: Number) -> None:
    full = states_of(number, OpenPauses(frozenset({"whatsapp_capacity"})))
    assert refusal_for("whatsapp", full) == (
        "whatsapp_capacity",
        "WhatsApp is paused right now. Use make_call, or send_sms where SMS is offered.",
        ["sms", "call"],
    )
    assert full["whatsapp"].is_offered is True
    not_live = states_of(number, OpenPauses(frozenset({"whatsapp_not_live", "whatsapp_capacity"})))
    assert not_live["whatsapp"].reason == "whatsapp_not_live"


def test_a_number_that_is_not_on_whatsapp_or_blocked_us_there(number: Number) -> None:
    Holder.objects.filter(pk=number.holder_id).update(whatsapp_paused_at=NOW)
    assert refusal_for("whatsapp", states_of(number)) == (
        "recipient_channel_paused",
        "This person blocked us on WhatsApp. Use SMS or a call.",
        ["sms", "call"],
    )
    Holder.objects.filter(pk=number.holder_id).update(whatsapp="no")
    assert refusal_for("whatsapp", states_of(number)) == (
        "no_whatsapp",
        "This number isn't on WhatsApp. Use SMS or a call.",
        ["sms", "call"],
    )


def test_a_rate_can_demand_a_delivered_test_first(number: Number) -> None:
    Rate.objects.filter(country="US", channel="sms").update(needs_test=True)
    assert refusal_for("sms", states_of(number)) == (
        "test_alert_pending",
        "SMS needs one delivered test alert to this number first, sent from the setup page. Use WhatsApp or a call.",
        ["whatsapp", "call"],
    )
    country_rates = rates.rates_of("US")
    tested = channel_states(
        number.account, number, number.holder, country_rates, OpenPauses(), now=NOW, tested={(number.pk, "sms")}
    )
    assert tested["sms"].is_available is True


def test_a_price_above_the_owners_maximum_closes_the_channel(number: Number) -> None:
    Rate.objects.filter(country="US", channel="call").update(price_cents=9, reduced_cents=2)
    Rate.objects.filter(country="US", channel="sms").update(price_cents=8)
    Account.objects.filter(pk=number.account_id).update(max_price_cents=8)
    states = states_of(number)
    assert states["sms"].is_available is True
    reason, message, available = refusal_for("call", states)
    assert (reason, available) == ("rate_above_max", ["whatsapp", "sms"])
    assert message == "Calling costs more for this number than the owner's maximum for one alert. Use WhatsApp or SMS."


def test_a_refusal_can_carry_the_steps_and_a_reason_of_its_own(number: Number) -> None:
    steps = [{"offset_min": 0, "kind": "call", "channel": "call"}]
    refusal = refuse_channel("sms", states_of(number), unavailable_steps=steps, reason="sms_ack_us_ca_only")
    assert refusal.details["unavailable_steps"] == steps
    assert refusal.message == (
        "An SMS can be acknowledged only on a US or Canadian number. Send it without acknowledgement, or by WhatsApp "
        "or a call."
    )


def test_no_sentence_names_a_country(number: Number) -> None:
    Rate.objects.filter(country="US", channel="sms").update(status="unavailable")
    said = refusal_for("sms", states_of(number))[1]
    assert "United States" not in said
    assert "US" not in said


def test_the_file_has_every_country_with_every_channel_and_its_sender(load_rates: None) -> None:
    assert set(Country.objects.values_list("code", flat=True)) == set(phonenumbers.SUPPORTED_REGIONS)
    assert Rate.objects.count() == 3 * len(phonenumbers.SUPPORTED_REGIONS)
    senders = {"us_ca": set(), "numeric": set(), "alphanumeric": set()}  # type: dict[str, set[str]]
    for country, sender in Rate.objects.filter(channel="sms").values_list("country_id", "sender"):
        senders[sender].add(country)
    assert senders["us_ca"] == {"US", "CA", "PR", "VI", "GU", "AS", "MP"}
    assert senders["numeric"] == {"AR", "BE", "CL", "CO", "IN", "MX"}
    for country in ("US", "CA"):
        statuses = Rate.objects.filter(country=country).values_list("status", flat=True)
        assert set(statuses) == {"available"}
    assert not Rate.objects.exclude(status="unavailable").filter(country__in=["CU", "IR", "KP", "SY"]).exists()


def test_loading_again_adds_what_is_missing_and_keeps_what_staff_edited(load_rates: None) -> None:
    Rate.objects.filter(country="DE", channel="sms").update(price_cents=77, status="coming_soon")
    Country.objects.filter(code="DE").update(is_offered=False)
    Rate.objects.filter(country="FR", channel="call").delete()
    assert rates.load_csv() == 1
    assert rates.load_csv() == 0
    edited = Rate.objects.get(country="DE", channel="sms")
    assert (edited.price_cents, edited.status, edited.country.is_offered) == (77, "coming_soon", False)
    assert Rate.objects.filter(country="FR", channel="call").exists()


def test_the_rates_of_many_countries_take_one_query(
    load_rates: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        found = rates.rates_for({"US", "DE", "ZZ"})
    assert found["US"].sms_sender == "us_ca"
    assert found["DE"].is_reached is True
    assert (found["ZZ"].is_reached, found["ZZ"].sms_sender, found["ZZ"].status("sms")) == (False, "", "unavailable")


def test_a_rate_is_changed_in_part_and_its_reduced_price_follows_down(load_rates: None) -> None:
    rates.set_rate("us", "call", price_cents=10, reduced_cents=5)
    rate = rates.set_rate("US", "call", price_cents=3)
    assert (rate.price_cents, rate.reduced_cents, rate.status) == (3, 3, "available")
    assert rates.set_rate("US", "call", status="coming_soon").price_cents == 3
    for price_cents, reduced_cents in ((None, 4), (-1, None)):
        with pytest.raises(Refusal) as refused:
            rates.set_rate("US", "call", price_cents=price_cents, reduced_cents=reduced_cents)
        assert refused.value.code == "RATE_INVALID"
    with pytest.raises(Refusal) as unknown:
        rates.set_rate("ZZ", "call", price_cents=1)
    assert unknown.value.code == "RATE_NOT_FOUND"


def test_another_file_can_be_loaded(tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("country,channel,status,price_cents,reduced_cents,sender\nXX,call,available,5,1,\n", "utf-8")
    assert rates.load_csv(file) == 1
    rate = Rate.objects.get(country="XX")
    assert (rate.channel, rate.price_cents, rate.reduced_cents) == ("call", 5, 1)


def test_the_command_loads_rates_and_plans(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_rates")
    call_command("load_rates")
    first, second = capsys.readouterr().out.splitlines()
    assert (first, second) == ('{"rates_added": 735}', '{"rates_added": 0}')
