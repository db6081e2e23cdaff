"""What happens in a call: its documents are fetched and spoken, keys are heard, and it ends when they say so."""

from collections import deque
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urljoin

from sandbox.calls import base_params, end
from sandbox.exchange import Exchange
from sandbox.records import Call, GatherState, Line
from sandbox.twiml import BadDocument, Gather, Hangup, Pause, Redirect, Reject, Say, Verb, parse
from sandbox.webhooks import Reply, bare_url

CHARACTERS_PER_S = 14.0
# Documents one after the other without a moment of speech or listening: a loop.
MAX_HOPS = 50


def spoken_s(text: str) -> float:
    """How long a sentence takes to say, in seconds: 14 characters a second, at least half a second."""
    return max(0.5, len(text) / CHARACTERS_PER_S)


def begin(exchange: Exchange, call: Call) -> None:
    """The call was answered: get its first document. Call with the lock held."""
    if call.twiml and not call.url:
        _install(exchange, call, "", Reply(200, "text/xml", call.twiml.encode()))
    else:
        fetch(exchange, call, call.url, call.method, {})


def fetch(exchange: Exchange, call: Call, url: str, method: str, extra: dict[str, str], *, last: bool = False) -> None:
    """Ask for the next document. Keys pressed meanwhile are lost. `last`: there is no fallback any more."""
    call.turn += 1
    call.gather = None
    turn = call.turn

    def then(reply: Reply | None) -> None:
        with exchange.lock:
            if call.is_live and call.turn == turn:
                _install(exchange, call, url, reply, last=last)

    params = base_params(exchange, call) | {"CallStatus": call.status} | extra
    exchange.post("twiml", url, params, sid=call.sid, method=method, then=then)


def _install(exchange: Exchange, call: Call, url: str, reply: Reply | None, *, last: bool = False) -> None:
    if reply is None or reply.status >= 400:
        # The debugger has it already (11200).
        _give_up(exchange, call, 11200, url, last=last)
        return
    try:
        verbs, warnings = parse(reply.content_type, reply.body)
    except BadDocument as error:
        exchange.note_trouble(error.code, url, call.sid, error.detail)
        _give_up(exchange, call, error.code, url, last=last)
        return
    for warning in warnings:
        exchange.note_trouble(12200, url, call.sid, warning)
    call.hops += 1
    call.document_url, call.verbs, call.gather = bare_url(url), deque(verbs), None
    call.turn += 1
    go_on(exchange, call)


def _give_up(exchange: Exchange, call: Call, code: int, url: str, *, last: bool) -> None:
    """A document was no use: the fallback address, else a note and the end."""
    if call.fallback_url and not last:
        extra = {"ErrorCode": str(code), "ErrorUrl": bare_url(url)}
        fetch(exchange, call, call.fallback_url, call.fallback_method, extra, last=True)
        return
    call.error_code = code
    _note(exchange, call, "An application error has occurred.")
    end(exchange, call, "completed")


def go_on(exchange: Exchange, call: Call) -> None:
    """Begin the next verb, or end the call after the last one."""
    if call.hops > MAX_HOPS:
        exchange.note_trouble(11200, call.document_url, call.sid, "documents without end")
        end(exchange, call, "completed")
        return
    if not call.verbs:
        end(exchange, call, "completed")
        return
    verb = call.verbs.popleft()
    if isinstance(verb, Say | Pause):
        _later(exchange, call, _play(exchange, call, verb), lambda: go_on(exchange, call))
    elif isinstance(verb, Gather):
        call.gather = GatherState(verb, deque(verb.prompts))
        _listen(exchange, call)
    elif isinstance(verb, Redirect):
        fetch(exchange, call, urljoin(call.document_url, verb.url), verb.method, {})
    elif isinstance(verb, Hangup | Reject):
        end(exchange, call, "completed")
    else:
        go_on(exchange, call)


def _play(exchange: Exchange, call: Call, verb: Verb) -> float:
    """Begin to say or to be silent; gives the seconds it takes."""
    call.hops = 0
    call.speaking_until = None
    if isinstance(verb, Say):
        now, length_s = exchange.clock.now(), spoken_s(verb.text) * verb.loop
        call.lines.append(Line(now, "said", verb.text))
        call.speaking_until = now + timedelta(seconds=length_s)
        exchange.touch()
        return length_s
    return verb.length_s if isinstance(verb, Pause) else 0.0


def _listen(exchange: Exchange, call: Call) -> None:
    """Say the next prompt of the Gather; after the last one, wait for a key until the timeout."""
    state = call.gather
    if state is None:
        return
    if state.prompts:
        _later(exchange, call, _play(exchange, call, state.prompts.popleft()), lambda: _listen(exchange, call))
    else:
        _wait_for_key(exchange, call, state)


def _wait_for_key(exchange: Exchange, call: Call, state: GatherState) -> None:
    call.hops = 0
    _later(exchange, call, state.gather.timeout_s, lambda: _finish_gather(exchange, call, ""))


def press(exchange: Exchange, call: Call, key: str) -> bool:
    """A key on the phone. False when nobody listens for it: outside a Gather keys are lost."""
    with exchange.lock:
        state = call.gather
        hears = call.status == "in-progress" and state is not None and state.gather.listens_for_keys
        if call.is_live:
            call.lines.append(Line(exchange.clock.now(), "key" if hears else "lost_key", key))
            exchange.touch()
        if not hears or state is None:
            return False
        _cut_speech(call, state)
        if key in state.gather.finish_on_key and key:
            _finish_gather(exchange, call, key)
            return True
        state.digits += key
        if state.gather.num_digits and len(state.digits) >= state.gather.num_digits:
            _finish_gather(exchange, call, "")
        else:
            _wait_for_key(exchange, call, state)
        return True


def _cut_speech(call: Call, state: GatherState) -> None:
    """A key interrupts what is being said, and what was still to be said in this Gather."""
    call.turn += 1
    speaking = next((line for line in reversed(call.lines) if line.kind == "said"), None)
    if speaking is not None and not state.digits and call.speaking_until is not None:
        speaking.cut = call.speaking_until > call.lines[-1].at
    state.prompts.clear()


def _finish_gather(exchange: Exchange, call: Call, finished_on: str) -> None:
    """Post the digits to the action; without any, go on with the verb after the Gather."""
    state, call.gather = call.gather, None
    call.turn += 1
    if state is None:
        return
    if not state.digits and not state.gather.acts_on_empty:
        go_on(exchange, call)
        return
    url = urljoin(call.document_url, state.gather.action) if state.gather.action else call.document_url
    extra = {"Digits": state.digits, "FinishedOnKey": finished_on, "msg": "Gather End"}
    fetch(exchange, call, url, state.gather.method, extra)


def _later(exchange: Exchange, call: Call, delay_s: float, step: Callable[[], None]) -> None:
    """Take the next step after a while, unless something else began or the call ended."""
    turn = call.turn

    def run() -> None:
        with exchange.lock:
            if call.is_live and call.turn == turn:
                step()

    exchange.clock.after(delay_s, run)


def redirect(exchange: Exchange, call: Call, url: str, method: str, twiml: str) -> None:
    """The API gives a running call another document. Call with the lock held."""
    if twiml and not url:
        call.turn += 1
        _install(exchange, call, "", Reply(200, "text/xml", twiml.encode()))
    else:
        fetch(exchange, call, url, method, {})


def _note(exchange: Exchange, call: Call, text: str) -> None:
    call.lines.append(Line(exchange.clock.now(), "note", text))
    exchange.touch()
