"""Encryption at rest of what only the carrier may read: phone numbers, and codes until they were sent."""

import base64
import hashlib
from functools import lru_cache

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


def seal(text: str) -> bytes:
    """The text encrypted under the newest key."""
    return _box(tuple(settings.NUMBER_KEYS)).encrypt(text.encode())


def unseal(sealed: bytes | memoryview) -> str:
    """What was sealed under any of the keys. Raises cryptography's InvalidToken when none fits."""
    return _box(tuple(settings.NUMBER_KEYS)).decrypt(bytes(sealed)).decode()


@lru_cache(maxsize=8)
def _box(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([_fernet(key) for key in keys])


def _fernet(key: str) -> Fernet:
    """A key as Fernet makes them, or any other long secret, from which one is derived."""
    try:
        return Fernet(key)
    except ValueError:
        return Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()))
