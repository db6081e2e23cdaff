"""Letters (e-mails) to those who sign in to an account: written with what they tell of, sent later, never twice."""

import logging
from datetime import datetime
from typing import Final

from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend

from accounts.models import Account, Letter
from breakpass.nudge import nudge

logger = logging.getLogger(__name__)
SEND_MAIL: Final = "accounts.send_mail"


def write(account: Account, *, kind: str, subject: str, body: str, now: datetime) -> Letter:
    """Keep a letter with the unit of work around it; it leaves once that is committed."""
    subject = " ".join(subject.split())[:150]
    letter = Letter.objects.create(account=account, kind=kind, subject=subject, body=body, created_at=now)
    nudge(SEND_MAIL)
    return letter


def send_waiting(now: datetime, limit: int = 20) -> int:
    """Send up to `limit` letters, the oldest first; how many left. Safe to run at once with itself.

    Each is claimed before it is sent, so it leaves at most once. While the mail server can't be reached nothing is
    claimed, and all of them wait for the next run.
    """
    waiting = list(Letter.objects.filter(sent_at=None, claimed_at=None).order_by("created_at", "pk")[:limit])
    if not waiting:
        return 0
    connection = get_connection()
    try:
        connection.open()
    except OSError as error:
        logger.warning("the mail server can't be reached (%s); letters wait", type(error).__name__)
        return 0
    try:
        return sum(_send(letter, connection, now) for letter in waiting)
    finally:
        connection.close()


def _send(letter: Letter, connection: BaseEmailBackend, now: datetime) -> bool:
    mine = Letter.objects.filter(pk=letter.pk, claimed_at=None)
    if not mine.update(claimed_at=now, tries=letter.tries + 1):
        return False
    members = letter.account.members.filter(user__is_active=True).order_by("pk")
    to = list(members.values_list("user__email", flat=True))
    try:
        for address in to:
            EmailMessage(letter.subject, letter.body, to=[address], connection=connection).send()
    except Exception as error:
        # It may have left, so it is not tried again.
        logger.error("letter %s did not leave (%s)", letter.pk, type(error).__name__)
        return False
    Letter.objects.filter(pk=letter.pk).update(sent_at=now)
    return bool(to)
