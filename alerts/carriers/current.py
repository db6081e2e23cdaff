"""Which carrier this process speaks to: Twilio, or what a test puts in its place."""

from collections.abc import Iterator
from contextlib import contextmanager

from alerts.carriers.base import Carrier
from alerts.carriers.twilio import from_settings

_replaced: list[Carrier] = []


def current() -> Carrier:
    """The carrier to send with now."""
    return _replaced[-1] if _replaced else from_settings()


@contextmanager
def replaced_by(carrier: Carrier) -> Iterator[None]:
    """Speak to another carrier inside this block, in every thread (tests)."""
    _replaced.append(carrier)
    try:
        yield
    finally:
        _replaced.remove(carrier)
