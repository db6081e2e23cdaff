"""Numbers on an account and who holds them: added, counted against the plan, opened for the carrier, opted out.

What belongs to the digits themselves is in `e164`, what belongs to verification codes in `codes`; both are used from
here.
"""

from datetime import datetime

from django.db.models import F

from accounts.codes import check_code as check_code
from accounts.codes import prove_code as prove_code
from accounts.codes import request_code as request_code
from accounts.e164 import country_of as country_of
from accounts.e164 import hash_number as hash_number
from accounts.e164 import mask as mask
from accounts.e164 import parse_number as parse_number
from accounts.e164 import spellings as spellings
from accounts.locking import lock_holder, require_locked
from accounts.models import Account, Holder, Number, Person
from accounts.sealing import seal, unseal
from breakpass.text import rejection


def reveal(number: Number) -> str:
    """The digits in E.164: for the carrier, and to be masked at once."""
    return unseal(number.sealed)


def holders_of(e164: str) -> list[Holder]:
    """Those known to us under any spelling of this number: usually one, often none."""
    hashes = [hash_number(spelling) for spelling in spellings(e164)]
    return list(Holder.objects.filter(number_hash__in=hashes).order_by("pk"))


def holder_for(e164: str) -> Holder:
    """The one holder of this number across all accounts, made when it is new."""
    holder, _ = Holder.objects.get_or_create(number_hash=hash_number(e164), defaults={"country": country_of(e164)})
    return holder


def add_number(account: Account, person: Person, *, e164: str, now: datetime) -> Number:
    """Give a person of this account a number, not verified yet. Needs the locked account.

    A number over the plan's cap is taken, and paused (`plan_limit`). Refuses CONTENT_REJECTED, field `number`, when the
    person has one already or the number is someone's on this account.
    """
    require_locked(account)
    if person.account_id != account.pk or person.removed_at is not None:
        raise ValueError("the person is not on this account")
    holder = holder_for(e164)
    for taken in Number.objects.filter(account=account).values("person_id", "holder_id"):
        if taken["person_id"] == person.pk:
            raise rejection(
                "number",
                "format",
                "This person has a number already. Remove the person first to give them another one.",
            )
        if taken["holder_id"] == holder.pk:
            raise rejection("number", "format", "This number is on your account already.")
    number = Number.objects.create(account=account, person=person, holder=holder, sealed=seal(e164), created_at=now)
    recount_plan(account, now=now)
    number.refresh_from_db(fields=["is_over_plan"])
    return number


def recount_plan(account: Account, *, now: datetime) -> None:
    """Pause the newest numbers over the plan's cap and lift the pause of those within; without a plan there is no cap.

    Needs the locked account. To be called when the plan, the cap or the numbers change.
    """
    require_locked(account)
    rows = Number.objects.filter(account=account)
    oldest_first = list(rows.order_by("created_at", "pk").values_list("pk", flat=True))
    cap = account.plan.number_cap if account.plan else len(oldest_first)
    rows.filter(pk__in=oldest_first[cap:], is_over_plan=False).update(is_over_plan=True)
    rows.filter(pk__in=oldest_first[:cap], is_over_plan=True).update(is_over_plan=False)


def opt_out(holder: Holder, *, via: str, now: datetime) -> bool:
    """Keep that the person stopped everything to this number. The holder's row only; False when nothing changed.

    `alerts.acks.opt_out` stops what runs. Repeating it after a new verification stops that one too.
    """
    kept = lock_holder(holder.pk)
    stopped = kept.opted_out_at
    verified_again = Number.objects.filter(holder=kept, verified_at__gt=F("holder__opted_out_at"))
    if stopped is not None and (stopped >= now or not verified_again.exists()):
        return False
    kept.opted_out_at = holder.opted_out_at = now
    kept.opted_out_via = holder.opted_out_via = via
    kept.save(update_fields=["opted_out_at", "opted_out_via"])
    return True
