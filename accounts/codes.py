"""Verification codes: six digits that prove who holds a number, with caps on asking and on guessing.

The row is its own outbox (ADR 5): `alerts.codes` claims and sends it. Behaviour, Numbers: "Verifying", "Inviting".
"""

import hmac
import zlib
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.models import F, QuerySet

from accounts import channels, pauses, rates
from accounts.locking import CountedRefusal, lock_holder, require_locked
from accounts.models import Account, Holder, Number, VerificationCode
from accounts.sealing import seal
from accounts.standing import refuse_inactive
from breakpass.errors import Refusal
from breakpass.ids import keyed_hash, new_digits
from breakpass.nudge import nudge
from breakpass.text import rejection
from breakpass.times import day_start, seconds_left_of_day, seconds_until

SEND_CODE: Final = "alerts.send_code"
# The first half of the name of an advisory lock: codes asked for from one address.
LOCK_SPACE: Final = 7001
# Reasons that keep alerts off a channel, but not a code: it costs the account nothing, and may be the first contact.
OPEN_FOR_CODES: Final = frozenset({"rate_above_max", "test_alert_pending"})
TOO_OFTEN: Final = "Too many codes were asked for. Wait before asking for another one."
ENDED: Final = "This code has expired. Ask for a new one."
SPENT: Final = "This code was tried too often and no longer works. Ask for a new one."


def request_code(
    account: Account,
    number: Number,
    *,
    channel: str,
    is_invite: bool = False,
    by_holder: bool = False,
    ip: str = "",
    now: datetime,
) -> VerificationCode:
    """Make a new code, which replaces an open one, and wake the task that sends it. Needs the locked account.

    `by_holder`: asked for on the holder's own page, where a call and a number that opted out are allowed. Refuses
    ACCOUNT_SUSPENDED, RECIPIENT_NOT_FOUND (removed meanwhile), SERVICE_PAUSED, RECIPIENT_OPTED_OUT,
    CHANNEL_UNAVAILABLE, RATE_LIMITED (with retry_after_s).
    """
    require_locked(account)
    refuse_inactive(account)
    if channel == VerificationCode.Channel.CALL and not by_holder:
        raise rejection(
            "channel", "format", "Only the person who holds the number can ask for a call, on their own page."
        )
    holder = lock_holder(number.holder_id)
    # As it is under the lock: the owner may have removed the person since the page was read.
    kept = Number.objects.filter(pk=number.pk, account=account).values_list("verified_at").first()
    if kept is None:
        raise Refusal("RECIPIENT_NOT_FOUND", "This person is not on the account any more.")
    (number.verified_at,), number.holder = kept, holder
    if number.is_opted_out() and not by_holder:
        raise Refusal(
            "RECIPIENT_OPTED_OUT",
            "This person stopped all alerts to the number, so nothing is sent to it. Hand over the link to their own "
            "page: there they can ask for a code themselves.",
        )
    _refuse_channel(account, number, holder, channel, now)
    ip_hash = keyed_hash(settings.NUMBER_HASH_KEY, "ip", ip) if ip else ""
    _refuse_too_many(account, holder, ip_hash, now)
    _close(VerificationCode.objects.filter(number=number, closed_at=None), now)
    digits = new_digits(6)
    code = VerificationCode.objects.create(
        number=number,
        number_hash=holder.number_hash,
        account=account,
        channel=channel,
        is_invite=is_invite,
        code_hash=_hash_code(holder, digits),
        sealed=seal(digits),
        ip_hash=ip_hash,
        created_at=now,
        expires_at=now + timedelta(seconds=settings.CODE_TTL_S),
    )
    nudge(SEND_CODE, code.pk)
    return code


def check_code(account: Account, number: Number, *, code: str, now: datetime) -> None:
    """Verify the number with the code that was sent to it. Needs the locked account. Refuses as `prove_code` does."""
    prove_code(account, number, code=code, now=now)
    Number.objects.filter(pk=number.pk).update(verified_at=now)
    number.verified_at = now
    if account.is_paused_until_verified:
        account.is_paused_until_verified = False
        account.save(update_fields=["is_paused_until_verified"])


def prove_code(account: Account, number: Number, *, code: str, now: datetime) -> None:
    """Whoever typed this holds the number; the code is used up. It agrees to nothing: see `check_code` for that.

    Refuses CODE_WRONG (details `checks_left`), CODE_VOID (tried five times) and CODE_EXPIRED (too old, used, replaced,
    or never asked for). A wrong code counts although it is refused; the number itself is never locked. Needs the locked
    account.
    """
    require_locked(account)
    holder = lock_holder(number.holder_id)
    newest = VerificationCode.objects.filter(number=number, account=account).order_by("-pk").first()
    if newest is None or newest.expires_at <= now:
        raise Refusal("CODE_EXPIRED", ENDED)
    if newest.closed_at is not None or is_before_stop(newest, holder):
        was_spent = newest.checks >= settings.CODE_CHECKS
        raise Refusal("CODE_VOID", SPENT) if was_spent else Refusal("CODE_EXPIRED", ENDED)
    counted = VerificationCode.objects.filter(pk=newest.pk, closed_at=None, checks__lt=settings.CODE_CHECKS)
    if not counted.update(checks=F("checks") + 1):
        raise Refusal("CODE_VOID", SPENT)
    this_one = VerificationCode.objects.filter(pk=newest.pk)
    if hmac.compare_digest(newest.code_hash, _hash_code(holder, code)):
        _close(this_one, now)
        return
    checks_left = settings.CODE_CHECKS - newest.checks - 1
    if checks_left > 0:
        tries = "1 try" if checks_left == 1 else f"{checks_left} tries"
        message = f"That code isn't right. {tries} left."
        raise CountedRefusal("CODE_WRONG", message, details={"checks_left": checks_left})
    _close(this_one, now)
    raise CountedRefusal("CODE_VOID", SPENT)


def is_before_stop(code: VerificationCode, holder: Holder) -> bool:
    """Whether the person stopped us after this code was asked for: an old invitation agrees to nothing new."""
    return holder.opted_out_at is not None and code.created_at <= holder.opted_out_at


def _refuse_channel(account: Account, number: Number, holder: Holder, channel: str, now: datetime) -> None:
    flags = pauses.open_pauses(account)
    pauses.refuse_if_paused(flags, channel=channel, country=holder.country)
    states = channels.channel_states(account, number, holder, rates.rates_of(holder.country), flags, now=now)
    state = states[channel]
    has_template = channel != "whatsapp" or bool(settings.TWILIO_CONTENT_SID_CODE)
    if not has_template:
        raise channels.refuse_channel(channel, states, reason="whatsapp_not_live")
    if not state.is_available and state.reason not in OPEN_FOR_CODES:
        raise channels.refuse_channel(channel, states)


def _refuse_too_many(account: Account, holder: Holder, ip_hash: str, now: datetime) -> None:
    """RATE_LIMITED by the number's caps, then the account's, then the caller's address."""
    codes = VerificationCode.objects.all()
    of_number = codes.filter(number_hash=holder.number_hash)
    _refuse_within(of_number, most=settings.CODES_PER_MINUTE, window_s=60, now=now)
    _refuse_within(of_number, most=settings.CODES_PER_10_MINUTES, window_s=600, now=now)
    today = (of_number, settings.CODES_PER_DAY), (codes.filter(account=account), settings.CODES_PER_ACCOUNT_DAY)
    for asked, most in today:
        if asked.filter(created_at__gte=day_start(now)).count() >= most:
            raise Refusal("RATE_LIMITED", TOO_OFTEN, retry_after_s=seconds_left_of_day(now))
    if ip_hash:
        # Callers from one address on different accounts share no other lock.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK_SPACE, zlib.crc32(ip_hash.encode()) >> 1])
        _refuse_within(codes.filter(ip_hash=ip_hash), most=settings.CODES_PER_IP_HOUR, window_s=3600, now=now)


def _refuse_within(asked: QuerySet[VerificationCode], *, most: int, window_s: int, now: datetime) -> None:
    """RATE_LIMITED when there were `most` within the sliding window, until the oldest of those has left it."""
    window = timedelta(seconds=window_s)
    newest = asked.filter(created_at__gt=now - window).order_by("-created_at").values_list("created_at", flat=True)
    recent = list(newest[:most])
    if len(recent) >= most:
        raise Refusal("RATE_LIMITED", TOO_OFTEN, retry_after_s=seconds_until(recent[-1] + window, now))


def _close(codes: QuerySet[VerificationCode], now: datetime) -> None:
    codes.update(closed_at=now, sealed=None)


def _hash_code(holder: Holder, digits: str) -> str:
    return keyed_hash(settings.NUMBER_HASH_KEY, "code", f"{holder.number_hash}:{digits}")
