"""What the person answers: an acknowledgement, once whatever races it, or a stop to everything."""

from datetime import datetime
from typing import Literal

from django.conf import settings
from django.db import transaction

from accounts import letters, numbers
from accounts.locking import lock_holder, locked
from accounts.models import Account, Number, VerificationCode
from accounts.people import shown_name
from alerts.closing import close
from alerts.models import Alert
from alerts.moves import note_alert
from alerts.progress import end_at_deadline
from alerts.states import AlertStatus
from breakpass.errors import Refusal

Via = Literal["whatsapp_button", "dtmf", "sms_link", "portal"]
Outcome = Literal["acknowledged", "already", "late", "ignored"]
Pressed = Literal["acknowledged", "already", "late", "ignored", "foreign"]
# An acknowledgement that comes after these is kept as late; after a cancel or a delivery it means nothing.
LATE_AFTER = frozenset({AlertStatus.EXPIRED, AlertStatus.FAILED})


def acknowledge(alert: Alert, *, via: Via, now: datetime) -> Outcome:
    """The holder confirms receipt. Takes the account's lock itself; `alert` is brought up to date.

    `late`: the alert had expired, or its deadline passes with this; only `late_ack_at` is written, once.
    `ignored`: no acknowledgement was asked, or the alert was cancelled.
    """
    with locked(alert.account_id) as account:
        alert.refresh_from_db()
        if not alert.requires_ack:
            return "ignored"
        if alert.status == AlertStatus.ACKNOWLEDGED:
            return "already"
        # The sweep may not have come round yet: the deadline decides, not the sweep.
        end_at_deadline(account, alert, now=now)
        if close(account, alert, to=AlertStatus.ACKNOWLEDGED, now=now, acknowledged_at=now, ack_via=via):
            return "acknowledged"
        if alert.status not in LATE_AFTER:
            return "ignored"
        if alert.late_ack_at is None:
            note_alert(alert, late_ack_at=now)
        return "late"


def find_by_token(token: str) -> Alert | None:
    """The alert that a confirmation link or a button's payload names; None when there is none."""
    # Whatever a stranger typed after the slash; a database cannot even be asked for a NUL.
    if not (token.isascii() and token.isalnum()):
        return None
    return Alert.objects.select_related("account", "person").filter(ack_token=token).first()


def press_button(payload: str, from_e164: str, *, now: datetime) -> Pressed:
    """The WhatsApp button: its payload names the alert, and only the alert's own holder may press it (cases, 15).

    `foreign`: no such alert, or not this number's; nothing happened, and staff should look.
    """
    alert = find_by_token(payload)
    if alert is None or alert.holder_id not in {holder.pk for holder in numbers.holders_of(from_e164)}:
        return "foreign"
    return acknowledge(alert, via="whatsapp_button", now=now)


def press_key(alert: Alert, *, now: datetime) -> Outcome:
    """Key 1 during a call."""
    return acknowledge(alert, via="dtmf", now=now)


def stop_number(e164: str, *, via: str, now: datetime) -> bool:
    """Opt out whoever holds this number, known to us or not: a number we meet later starts out stopped.

    False when nothing changed.
    """
    # By its digits first: a number from a newer numbering plan than ours may stop us too.
    holders = numbers.holders_of(e164)
    if not holders:
        try:
            holders = [numbers.holder_for(numbers.parse_number(e164))]
        except Refusal:
            # No number that we could ever send to.
            return False
    changed = [opt_out(holder.pk, via=via, now=now) for holder in holders]
    return any(changed)


def opt_out(holder_id: int, *, via: str, now: datetime) -> bool:
    """The person stops everything to this number, from every account. Takes the locks itself, one account at a time.

    Open alerts end, what is unsent is released, codes on their way are void, and each owner is told that the person
    stopped, not what they wrote. Repeatable: a second stop changes nothing, and is False. A send that races it finds
    the stop at its claim, under the holder's lock.
    """
    with transaction.atomic():
        holder = lock_holder(holder_id)
        stopped_before = holder.opted_out_at
        changed = numbers.opt_out(holder, via=via, now=now)
    reached = Number.objects.filter(holder_id=holder_id).values_list("account_id", flat=True)
    for account_id in sorted({*reached, *_with_open_alerts(holder_id)}):
        with locked(account_id) as account:
            _stop_on(account, holder_id, stopped_before, now)
    return changed


def _with_open_alerts(holder_id: int) -> set[int]:
    """Accounts with something running to this number, though they may have removed it."""
    return set(Alert.objects.filter(holder_id=holder_id, ended_at=None).values_list("account_id", flat=True))


def _stop_on(account: Account, holder_id: int, stopped_before: datetime | None, now: datetime) -> None:
    """One account's part of a stop, under its lock."""
    for alert in Alert.objects.filter(account=account, holder_id=holder_id, ended_at=None).order_by("pk"):
        close(
            account,
            alert,
            to=AlertStatus.FAILED,
            now=now,
            failure_code="RECIPIENT_OPTED_OUT",
            failure_reason="R05",
        )
    number = Number.objects.select_related("holder", "person").filter(account=account, holder_id=holder_id).first()
    if number is None:
        return
    VerificationCode.objects.filter(number=number, closed_at=None).update(closed_at=now, sealed=None)
    is_news = stopped_before is None or (number.verified_at is not None and number.verified_at > stopped_before)
    if is_news and number.is_opted_out():
        _tell_owner(account, number, now)


def _tell_owner(account: Account, number: Number, now: datetime) -> None:
    name = shown_name(account, number.person)
    service = settings.SERVICE_NAME
    letters.write(
        account,
        kind="opted_out",
        subject=f"{name} stopped {service} alerts",
        body=(
            f"{name} stopped all {service} alerts to their number. Nothing is sent to it any more, and alerts that "
            "were running have ended.\n\n"
            "Only the person can start them again: invite them once more, and they confirm with a code on their own "
            "page."
        ),
        now=now,
    )
