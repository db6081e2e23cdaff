"""A call's status: how it changes, how it ends, and the status callbacks about it."""

import math
from collections.abc import Callable
from email.utils import format_datetime

from sandbox.exchange import Exchange
from sandbox.faults import pick, pick_at
from sandbox.records import Call

BUSY, NO_ANSWER, DECLINED, UNAVAILABLE, NOT_FOUND = 486, 487, 603, 480, 404
ENDINGS = {"busy": BUSY, "no-answer": NO_ANSWER, "canceled": NO_ANSWER, "completed": 200}


def after(
    exchange: Exchange, call: Call, delay_s: float, while_in: tuple[str, ...], step: Callable[[], object]
) -> None:
    """Take a step after a while, if the call is then still in one of these states."""

    def run() -> None:
        with exchange.lock:
            if call.status in while_in:
                step()

    exchange.clock.after(delay_s, run, sid=call.sid)


def end(exchange: Exchange, call: Call, status: str, *, sip_code: int = 0) -> None:
    """End a call and report it. Call with the lock held."""
    if not call.is_live:
        return
    call.ended_at = exchange.clock.now()
    call.sip_code = sip_code or ENDINGS.get(status, UNAVAILABLE)
    call.gather = None
    call.turn += 1
    move(exchange, call, status, "completed")


def move(exchange: Exchange, call: Call, status: str, event: str) -> None:
    """Change the status, and report it when this event was asked for. Every ending is the event `completed`."""
    call.status, call.updated_at = status, exchange.clock.now()
    exchange.touch()
    if not call.callback_url or event not in call.events or pick_at(call.faults, "skip_event", status):
        return
    is_last = event == "completed"
    extra = pick(call.faults, "extra_status") if is_last else None
    for each in filter(None, (extra.status if extra else "", status)):
        params = _event_params(exchange, call, each, ended=is_last and each == status)
        call.sequence += 1
        exchange.call_back(call, each, params, is_last=is_last and each == status)


def base_params(exchange: Exchange, call: Call) -> dict[str, str]:
    """The parameters that every request about a call carries."""
    return {
        "AccountSid": exchange.config.account_sid,
        "ApiVersion": "2010-04-01",
        "CallSid": call.sid,
        "Direction": "outbound-api",
        "From": call.sender,
        "Caller": call.sender,
        "To": call.number,
        "Called": call.number,
    }


def _event_params(exchange: Exchange, call: Call, status: str, *, ended: bool) -> dict[str, str]:
    params = base_params(exchange, call) | {
        "CallStatus": status,
        "Timestamp": format_datetime(exchange.clock.now()),
        "CallbackSource": "call-progress-events",
        "SequenceNumber": str(call.sequence),
    }
    if ended:
        duration_s = call.duration_s
        params |= {
            "CallDuration": str(duration_s),
            "Duration": str(math.ceil(duration_s / 60)),
            "SipResponseCode": str(call.sip_code),
        }
    return params
