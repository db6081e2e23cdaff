"""The link to a holder's own page, where they agree, ask for a code, and later stop: handed over by the owner."""

from django.conf import settings

from accounts.models import Account, Number
from breakpass.ids import new_token, sha256_hex

TOKEN_CHARS = 22


def renew_link(account: Account, number: Number) -> str:
    """A new link for this number; the one before stops working. Only its hash is kept. Needs the locked account."""
    token = new_token(TOKEN_CHARS)
    Number.objects.filter(pk=number.pk, account=account).update(invite_token_hash=sha256_hex(token))
    return f"{settings.BASE_URL}/join/{token}/"


def number_by_link(token: str) -> Number | None:
    """The number whose holder got this link; None when it is unknown, renewed, or the person was removed."""
    found = Number.objects.filter(invite_token_hash=sha256_hex(token), person__removed_at=None)
    return found.select_related("account__plan", "person", "holder").first()
