"""What an agent, or an owner's page, asks an alert to say: cleaned, counted and checked before anything else."""

import re
from dataclasses import dataclass
from typing import Final

from breakpass.text import NAME_MAX_CHARS, check_message, check_name, clean, clean_name, rejection

USE_CASE: Final = re.compile(r"[a-z0-9 -]*")
USE_CASE_MAX: Final = 40
EVENT_REFERENCE_MAX: Final = 100
KEY_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Fields:
    """The parts of an alert that its sender words. `agent_name` is blank where the default stands."""

    message: str
    agent_name: str
    use_case: str
    event_reference: str


def read_fields(
    message: str,
    *,
    agent_name: str | None,
    use_case: str | None,
    event_reference: str | None,
    default_name: str,
) -> Fields:
    """Clean and check; refuses CONTENT_REJECTED with the field and its rule (seed 001, Limits and `message`).

    A name that is the default anyway reads as no name: asking for it by name is not another request.
    """
    cleaned = clean(message)
    check_message(cleaned, message)
    name = ""
    if agent_name is not None:
        name = clean_name(agent_name)
        check_name(name, field="agent_name")
    label = (use_case or "").strip()
    check_length("use_case", label, USE_CASE_MAX)
    if not USE_CASE.fullmatch(label):
        raise rejection("use_case", "format", "use_case takes only lowercase a-z, 0-9, space and -.")
    reference = (event_reference or "").strip()
    check_length("event_reference", reference, EVENT_REFERENCE_MAX)
    return Fields(cleaned, "" if name == default_name else name, label, reference)


def check_key(key: str) -> None:
    """Refuse an idempotency key that is empty or over 64 characters."""
    if not key.strip():
        raise rejection("idempotency_key", "empty", "idempotency_key must not be empty.")
    check_length("idempotency_key", key, KEY_MAX)


def check_length(field: str, text: str, limit: int) -> None:
    """Refuse a text over its limit in characters."""
    if len(text) > limit:
        raise rejection(field, "max_length", f"{field} takes at most {limit} characters.", max_length=limit)


def presentable_name(name: str, *, fallback: str) -> str:
    """An app's or a service's name as a sender's name: one line, 30 characters at most, never empty."""
    return clean_name(name)[:NAME_MAX_CHARS].strip() or fallback[:NAME_MAX_CHARS]
