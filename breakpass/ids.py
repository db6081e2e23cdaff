"""Identifiers, tokens and keyed hashes: how a row is named to the outside without telling anything."""

import hashlib
import hmac
import secrets

# No 0/O, 1/I/L, U: an id that is read aloud or typed from a screen stays what it was.
ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def new_code(prefix: str, length: int = 6) -> str:
    """A public id such as `A-7K3Q9X` (seed 001, `alert_id`). Random; the caller's unique constraint decides."""
    return f"{prefix}-" + "".join(secrets.choice(ALPHABET) for _ in range(length))


def new_token(length: int) -> str:
    """A URL-safe secret of exactly `length` letters and digits (5.95 bits each)."""
    return "".join(secrets.choice(BASE62) for _ in range(length))


def new_digits(length: int) -> str:
    """A code of `length` decimal digits from a CSPRNG, leading zeros included."""
    return f"{secrets.randbelow(10**length):0{length}d}"


def sha256_hex(value: str) -> str:
    """The hash under which a high-entropy token is stored."""
    return hashlib.sha256(value.encode()).hexdigest()


def keyed_hash(key: str, purpose: str, value: str) -> str:
    """HMAC-SHA256 in hex: for values with little entropy (phone numbers, 6-digit codes), useless without the key."""
    return hmac.new(key.encode(), f"{purpose}\x00{value}".encode(), hashlib.sha256).hexdigest()
