"""What all tools share: the shape of a handler, the account behind a call, and the unit of work of a send."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS

from accounts.locking import locked
from accounts.models import Account, Connection
from alerts import limits
from breakpass.errors import Refusal
from mcp_gateway.auth import Principal

Answer = dict[str, Any]
Arguments = dict[str, Any]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Handler:
    """One tool: `run` does it, or raises Refusal; `summarise` says it in one line without names, texts or numbers."""

    run: Callable[[Principal, Arguments, datetime], Answer]
    summarise: Callable[[Answer], str]


def account_of(principal: Principal) -> Account:
    """The caller's account with its plan, unlocked: for reads."""
    return Account.objects.select_related("plan").get(pk=principal.account_id)


def account_by_id(principal: Principal) -> Account:
    """The caller's account for reads that start from it and ask nothing of itself: a column is read when asked for."""
    return Account.from_db(DEFAULT_DB_ALIAS, ["id"], [principal.account_id])


def accept_send(principal: Principal, now: datetime, send: Callable[[Account, Connection], Value]) -> Value:
    """Run a send under the account's lock. A refusal undoes it, and counts towards the brake on its own afterwards."""
    try:
        with locked(principal.account_id) as account:
            return send(account, account.connections.get(pk=principal.connection_id))
    except Refusal as refusal:
        limits.note_refusal(principal.connection_id, refusal, now)
        raise
