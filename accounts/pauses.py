"""Stops that staff put on sending: everything, a channel, destinations, one account (seed 001, SERVICE_PAUSED)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Q

from accounts.countries import country_names
from accounts.models import Account, Pause
from breakpass.errors import Refusal

PAUSED: Final = "Sending is paused right now. Try again later."
RETRY_AFTER_S: Final = 300
# What one row holds.
COUNTRIES_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class OpenPauses:
    """What is paused for one account now. `countries` are the destinations that are; no answer names one."""

    flags: frozenset[str] = frozenset()
    countries: frozenset[str] = frozenset()


def open_pauses(account: Account) -> OpenPauses:
    """The pauses in force for everybody and for this account. One query."""
    rows = Pause.objects.filter(Q(account=None) | Q(account=account), lifted_at=None).values_list("flag", "countries")
    found = list(rows)
    countries = {country for flag, listed in found if flag == "destination" for country in listed.split()}
    return OpenPauses(frozenset(flag for flag, _ in found), frozenset(countries))


def refuse_if_paused(pauses: OpenPauses, *, channel: str | None = None, country: str = "") -> None:
    """SERVICE_PAUSED, details `flag`, when a pause concerns a send on `channel` (None: any) to `country`."""
    flag = pause_flag(pauses, channel=channel, country=country)
    if flag is not None:
        raise Refusal("SERVICE_PAUSED", PAUSED, details={"flag": flag}, retry_after_s=RETRY_AFTER_S)


def pause_flag(pauses: OpenPauses, *, channel: str | None = None, country: str = "") -> str | None:
    """The flag that stops such a send, the widest first; None when it may go."""
    for flag in ("all", "account"):
        if flag in pauses.flags:
            return flag
    if channel in ("whatsapp", "sms", "call") and channel in pauses.flags:
        return channel
    return "destination" if country in pauses.countries else None


def pause(
    flag: str, *, reason: str, now: datetime, countries: Iterable[str] = (), account: Account | None = None
) -> Pause:
    """Put a stop, or widen one that is open: `destination` takes countries, `account` an account.

    Raises ValueError for an unknown flag or country, and for what does not go with the flag.
    """
    listed = {country.upper() for country in countries}
    _check(flag, listed, account)
    held = Pause.objects.filter(flag=flag, account=account, lifted_at=None).order_by("pk").first()
    joined = " ".join(sorted(listed | set(held.countries.split() if held else ())))
    if len(joined) > COUNTRIES_CHARS:
        raise ValueError("that is most of the world: pause `all` instead")
    if held is None:
        return Pause.objects.create(flag=flag, countries=joined, account=account, reason=reason[:200], created_at=now)
    held.countries = joined
    held.reason = reason[:200]
    held.save(update_fields=["countries", "reason"])
    return held


def resume(flag: str, *, now: datetime, countries: Iterable[str] = (), account: Account | None = None) -> bool:
    """Lift a stop; for `destination` only the named countries, if any are. False when there was none."""
    lifted = {country.upper() for country in countries}
    # Without countries, all destinations are meant.
    _check(flag, lifted, account, is_whole=not lifted)
    held = list(Pause.objects.filter(flag=flag, account=account, lifted_at=None))
    changed = False
    for stop in held:
        left = set(stop.countries.split()) - lifted if lifted else set()
        if lifted and not lifted & set(stop.countries.split()):
            continue
        changed = True
        if left:
            stop.countries = " ".join(sorted(left))
        else:
            stop.lifted_at = now
        stop.save(update_fields=["countries", "lifted_at"])
    return changed


def _check(flag: str, countries: set[str], account: Account | None, *, is_whole: bool = False) -> None:
    if flag not in Pause.FLAGS:
        raise ValueError(f"the flag is one of {', '.join(Pause.FLAGS)}")
    if (flag == "account") != (account is not None):
        raise ValueError("an account goes with the flag `account`, and only with it")
    if (flag == "destination") != bool(countries) and not is_whole:
        raise ValueError("countries go with the flag `destination`, and only with it")
    # A mistyped country would pause nobody and look as if it had.
    unknown = sorted(countries - country_names().keys())
    if unknown:
        raise ValueError(f"no country has the code {', '.join(unknown)}")
