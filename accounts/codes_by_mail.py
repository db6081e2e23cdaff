"""Codes by e-mail: who holds an address proves it before anything is said about whether it is known here.

A challenge is a small dict that the edge keeps in the session. It holds the code's keyed hash, never the code.
"""

import secrets
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.cache import cache

from breakpass.errors import Refusal
from breakpass.ids import keyed_hash, new_digits

TTL = timedelta(minutes=10)
CHECKS = 5


@dataclass(frozen=True, slots=True)
class Challenge:
    """A code on its way to `email`; `owner_name` is for the account that it is to open, `next_url` where to go then."""

    id: str
    email: str
    code_hash: str
    sent_at: str
    next_url: str
    is_sign_up: bool
    owner_name: str

    def as_session(self) -> dict[str, Any]:
        """As the session stores it."""
        return asdict(self)

    @classmethod
    def from_session(cls, data: Any) -> "Challenge | None":
        """The challenge of a session, or None when there is none."""
        try:
            return cls(**data)
        except TypeError:
            return None


def begin(
    email: str, *, now: datetime, next_url: str = "", is_sign_up: bool = False, owner_name: str = ""
) -> tuple[Challenge, str]:
    """A new challenge and the code to send: 6 digits from a CSPRNG, good for 10 minutes."""
    id_, code = secrets.token_hex(16), new_digits(6)
    challenge = Challenge(
        id=id_,
        email=email.strip().lower(),
        code_hash=hash_code(id_, code),
        sent_at=now.isoformat(),
        next_url=next_url,
        is_sign_up=is_sign_up,
        owner_name=owner_name,
    )
    return challenge, code


def hash_code(id_: str, code: str) -> str:
    """The code's hash, useless without our key and for any other challenge."""
    return keyed_hash(settings.SECRET_KEY, "mail-code", f"{id_}:{code}")


def check(challenge: Challenge, code: str, *, now: datetime) -> None:
    """Pass, once, if the code is right. Refusals: CODE_EXPIRED, CODE_VOID after 5 checks, CODE_WRONG.

    Checks are counted where two at once cannot share a number, so that at most five are ever compared.
    """
    if now >= datetime.fromisoformat(challenge.sent_at) + TTL:
        raise Refusal("CODE_EXPIRED", "This code has expired. Ask for a new one.")
    key = f"mail-code:{challenge.id}"
    cache.add(key, 0, int(TTL.total_seconds()))
    count = int(cache.incr(key))
    if count > CHECKS:
        raise Refusal("CODE_VOID", "Too many tries with this code. Ask for a new one.")
    typed = "".join(char for char in code if char.isdigit())
    if not secrets.compare_digest(hash_code(challenge.id, typed), challenge.code_hash):
        left = CHECKS - count
        if not left:
            raise Refusal("CODE_VOID", "That isn't the code, and it can't be tried again. Ask for a new one.")
        raise Refusal(
            "CODE_WRONG", f"That isn't the code. {left} {'try' if left == 1 else 'tries'} left.", details={"left": left}
        )
    cache.set(key, CHECKS, int(TTL.total_seconds()))  # a used code is void
