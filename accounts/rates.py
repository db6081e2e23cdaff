"""What is offered where and at what price: rows that staff edit, filled from a CSV with every country."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from accounts.models import Country, Rate
from breakpass.errors import Refusal

DEFAULT: Final = Path(__file__).parent / "data" / "rates.csv"
CHANNELS: Final = ("whatsapp", "sms", "call")


@dataclass(frozen=True, slots=True)
class Rates:
    """One country's rates by channel. `is_offered` False: staff switched the country off."""

    country: str
    is_offered: bool = True
    by_channel: Mapping[str, Rate] = field(default_factory=dict)

    @property
    def sms_sender(self) -> str:
        """How an SMS sender shows there: us_ca, numeric or alphanumeric; blank where none is known."""
        rate = self.by_channel.get("sms")
        return rate.sender if rate else ""

    def status(self, channel: str) -> str:
        """available, coming_soon or unavailable; a channel without a row is unavailable."""
        rate = self.by_channel.get(channel)
        return rate.status if rate else Rate.Status.UNAVAILABLE

    @property
    def is_reached(self) -> bool:
        """Whether any channel reaches the country."""
        return any(self.status(channel) == Rate.Status.AVAILABLE for channel in CHANNELS)


def rates_of(country: str) -> Rates:
    """The rates of one country; of an unknown one, none. One query."""
    return rates_for([country])[country]


def rates_for(countries: Iterable[str]) -> dict[str, Rates]:
    """The rates of several countries. One query."""
    wanted = set(countries)
    rows: dict[str, dict[str, Rate]] = {country: {} for country in wanted}
    for rate in Rate.objects.filter(country__in=wanted).select_related("country"):
        rows[rate.country_id][rate.channel] = rate
    return {
        country: Rates(country, next((rate.country.is_offered for rate in found.values()), True), found)
        for country, found in rows.items()
    }


def set_rate(
    country: str,
    channel: str,
    *,
    price_cents: int | None = None,
    reduced_cents: int | None = None,
    status: str | None = None,
) -> Rate:
    """Change what is given of one rate. A reduced price above a lowered price comes down with it.

    Refuses RATE_NOT_FOUND for a country or channel without a row, and RATE_INVALID for a reduced price above the price.
    """
    rate = Rate.objects.filter(country=country.upper(), channel=channel).first()
    if rate is None:
        raise Refusal("RATE_NOT_FOUND", f"There is no rate for {channel} in {country.upper()}. Run load_rates first.")
    if price_cents is not None:
        rate.price_cents = price_cents
    if reduced_cents is not None:
        rate.reduced_cents = reduced_cents
    elif rate.reduced_cents > rate.price_cents:
        rate.reduced_cents = rate.price_cents
    if not 0 <= rate.reduced_cents <= rate.price_cents:
        raise Refusal("RATE_INVALID", "Prices are 0 or more, and the reduced price is not above the price.")
    if status is not None:
        rate.status = Rate.Status(status)
    rate.save(update_fields=["price_cents", "reduced_cents", "status"])
    return rate


def load_csv(path: Path = DEFAULT) -> int:
    """Add the countries and rates that are missing; the others stay as staff left them. How many rates came."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    Country.objects.bulk_create(
        [Country(code=code) for code in {line["country"] for line in lines}], ignore_conflicts=True
    )
    known = set(Rate.objects.values_list("country_id", "channel"))
    missing = [
        Rate(
            country_id=line["country"],
            channel=line["channel"],
            status=Rate.Status(line["status"]),
            price_cents=int(line["price_cents"]),
            reduced_cents=int(line["reduced_cents"]),
            sender=line["sender"],
        )
        for line in lines
        if (line["country"], line["channel"]) not in known
    ]
    Rate.objects.bulk_create(missing, ignore_conflicts=True)
    return len(missing)
