"""A phone that rings: a call is placed, and somebody picks up, declines, presses keys, hangs up, or does not."""

from functools import partial

from sandbox import voice
from sandbox.calls import BUSY, DECLINED, NOT_FOUND, UNAVAILABLE, after, end, move
from sandbox.exchange import Exchange
from sandbox.faults import pick
from sandbox.records import Call, Line

KEY_GAP_S = 2.0


def place(exchange: Exchange, call: Call) -> None:
    """Take a call in and let it begin. Call with the lock held."""
    call.faults = exchange.faults.take_for_entity(call.number, "call")
    busy = any(other.is_live and other.number == call.number for other in exchange.calls.values())
    exchange.calls[call.sid] = call
    exchange.phone(call.number)
    exchange.touch()
    timings = exchange.config.timings
    after(exchange, call, timings.initiated_s, ("queued",), lambda: move(exchange, call, "initiated", "initiated"))
    after(exchange, call, timings.ringing_s, ("initiated",), lambda: _ring(exchange, call, busy=busy))


def _ring(exchange: Exchange, call: Call, *, busy: bool) -> None:
    behaviour = exchange.phone(call.number).behaviour
    ordered = pick(call.faults, "end_call")
    if ordered:
        end(exchange, call, ordered.status or "failed", sip_code=ordered.code)
    elif behaviour.call == "invalid":
        end(exchange, call, "failed", sip_code=NOT_FOUND)
    elif not behaviour.online:
        end(exchange, call, "failed", sip_code=UNAVAILABLE)
    elif busy or behaviour.call == "busy":
        end(exchange, call, "busy")
    else:
        move(exchange, call, "ringing", "ringing")
        after(exchange, call, call.ring_s, ("ringing",), lambda: end(exchange, call, "no-answer"))
        if behaviour.call == "answer":
            after(exchange, call, behaviour.answer_after_s, ("ringing",), lambda: answer(exchange, call))
        elif behaviour.call == "decline":
            after(exchange, call, behaviour.answer_after_s, ("ringing",), lambda: decline(exchange, call))


def answer(exchange: Exchange, call: Call) -> bool:
    """Pick up. False when it does not ring any more."""
    with exchange.lock:
        if call.status != "ringing":
            return False
        call.answered_at = exchange.clock.now()
        move(exchange, call, "in-progress", "answered")
        after(exchange, call, call.limit_s, ("in-progress",), lambda: _reach_limit(exchange, call))
        behaviour = exchange.phone(call.number).behaviour
        for place_in_row, key in enumerate(behaviour.press):
            wait_s = behaviour.press_after_s + place_in_row * KEY_GAP_S
            after(exchange, call, wait_s, ("in-progress",), partial(voice.press, exchange, call, key))
        voice.begin(exchange, call)
        return True


def decline(exchange: Exchange, call: Call) -> bool:
    """Refuse the call. False when it does not ring."""
    return _refuse(exchange, call, "failed", DECLINED)


def be_busy(exchange: Exchange, call: Call) -> bool:
    """Answer with the busy tone. False when it does not ring."""
    return _refuse(exchange, call, "busy", BUSY)


def _refuse(exchange: Exchange, call: Call, status: str, sip_code: int) -> bool:
    with exchange.lock:
        if call.status != "ringing":
            return False
        end(exchange, call, status, sip_code=sip_code)
        return True


def hang_up(exchange: Exchange, call: Call) -> bool:
    """The person ends the call. False when they were not in it."""
    with exchange.lock:
        if call.status != "in-progress":
            return False
        call.lines.append(Line(exchange.clock.now(), "note", "Hung up"))
        end(exchange, call, "completed")
        return True


def _reach_limit(exchange: Exchange, call: Call) -> None:
    call.lines.append(Line(exchange.clock.now(), "note", "Cut off at the time limit"))
    end(exchange, call, "completed")
