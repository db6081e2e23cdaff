"""The control API: what a test in another process does to the sandbox, as JSON. Needs no sign-in; loopback only."""

import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from datetime import datetime
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.exchange import Exchange
from sandbox.faults import ENTITY_FAULTS, REQUEST_FAULTS
from sandbox.handset import Handset
from sandbox.records import Call, Mail, Message

MAX_BODY = 64 * 1024
Body = dict[str, Any]
Answer = Callable[[Exchange, Request, Body], Any]


def plain(value: Any) -> Any:
    """A record as JSON can hold it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(each) for key, each in asdict(value).items()}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset) or hasattr(value, "popleft"):
        return [plain(each) for each in value]
    return value


def _message(message: Message) -> Any:
    return plain(message) | {"inbound": message.is_inbound}


def _call(call: Call) -> Any:
    return plain(call) | {"said": call.said, "duration_s": call.duration_s}


def _mail(mail: Mail) -> Any:
    return {key: value for key, value in plain(mail).items() if key != "raw"}


def messages(exchange: Exchange, request: Request, body: Body) -> Any:
    """`?to=&channel=&contains=`: messages in both directions, oldest first."""
    query = request.query_params
    with exchange.lock:
        return [
            _message(m)
            for m in exchange.messages.values()
            if query.get("to") in (None, m.number)
            and query.get("channel") in (None, m.channel)
            and query.get("contains", "") in m.body
        ]


def calls(exchange: Exchange, request: Request, body: Body) -> Any:
    """`?to=`: calls, oldest first."""
    with exchange.lock:
        return [_call(c) for c in exchange.calls.values() if request.query_params.get("to") in (None, c.number)]


def mails(exchange: Exchange, request: Request, body: Body) -> Any:
    """`?to=`: e-mails, oldest first."""
    return [_mail(mail) for mail in exchange.mailbox.listed(request.query_params.get("to", ""))]


def deliveries(exchange: Exchange, request: Request, body: Body) -> Any:
    """`?sid=`: every webhook with its tries."""
    with exchange.lock:
        return [plain(d) for d in exchange.deliveries if request.query_params.get("sid") in (None, d.sid)]


def troubles(exchange: Exchange, request: Request, body: Body) -> Any:
    """Twilio's debugger."""
    with exchange.lock:
        return plain(exchange.troubles)


def phones(exchange: Exchange, request: Request, body: Body) -> Any:
    """GET: the phones. POST `{"number", "name", "behaviour": {…}}`: add or change one."""
    if request.method == "POST":
        handset = Handset(exchange, str(body["number"]))
        if "name" in body:
            handset.rename(str(body["name"]))
        handset.set_behaviour(**body.get("behaviour", {}))
    with exchange.lock:
        return plain(list(exchange.phones.values()))


def act(exchange: Exchange, request: Request, body: Body) -> Any:
    """POST: press_button, reply, send_raw, read, answer, decline, be_busy, press, hang_up, as on a `Handset`."""
    handset = Handset(exchange, request.path_params["number"])
    match request.path_params["action"]:
        case "press_button":
            return _message(handset.press_button(body.get("sid", ""), title=body.get("title", "")))
        case "reply":
            return _message(handset.reply(body["text"], body.get("channel", "sms"), to=body.get("to", "")))
        case "send_raw":
            channel = body.get("channel", "whatsapp")
            return _message(handset.send_raw(body["params"], channel, text=body.get("text", "")))
        case "read":
            handset.read(body.get("sid", ""))
        case "answer":
            handset.answer()
        case "decline":
            handset.decline()
        case "be_busy":
            handset.be_busy()
        case "press":
            return {"heard": handset.press(str(body["keys"]))}
        case "hang_up":
            handset.hang_up()
        case other:
            raise LookupError(f"A phone has no {other!r}.")
    return {"done": True}


def faults(exchange: Exchange, request: Request, body: Body) -> Any:
    """GET: the orders and the words there are. POST a fault: order it. DELETE: behave again."""
    if request.method == "POST":
        return plain(exchange.faults.add(str(body.pop("kind", "")), **body))
    if request.method == "DELETE":
        exchange.faults.clear()
    return {"orders": exchange.faults.listed(), "request": REQUEST_FAULTS, "entity": ENTITY_FAULTS}


def templates(exchange: Exchange, request: Request, body: Body) -> Any:
    """GET: the templates. POST `{"sid", "approval", "body", …}`: change one."""
    if request.method == "POST":
        sid = str(body.pop("sid", ""))
        if exchange.templates.find(sid) is None:
            raise LookupError("There is no such template.")
        return plain(exchange.templates.change(sid, **body))
    return plain(exchange.templates.listed())


def clock(exchange: Exchange, request: Request, body: Body) -> Any:
    """GET: the time. POST `{"mode": "manual"|"real", "speed"}`, `{"advance_s": 5}` or `{"settle": true}`."""
    if body.get("mode") == "manual":
        exchange.clock.freeze()
    elif body.get("mode") == "real" or "speed" in body:
        exchange.clock.resume(speed=float(body.get("speed", 1.0)))
    if "advance_s" in body:
        exchange.clock.advance(float(body["advance_s"]))
    elif body.get("settle"):
        exchange.clock.settle()
    return {"now": exchange.clock.now().isoformat(), "mode": exchange.clock.mode, "speed": exchange.clock.speed}


def opt_outs(exchange: Exchange, request: Request, body: Body) -> Any:
    """GET: who opted out from which sender. POST `{"at": "create"|"callback"}`: when texts to them are refused."""
    if body.get("at") in ("create", "callback"):
        exchange.opt_out_at = body["at"]
    with exchange.lock:
        pairs = [{"sender": sender, "number": number} for sender, number in sorted(exchange.opted_out)]
    return {"at": exchange.opt_out_at, "opted_out": pairs}


def reset(exchange: Exchange, request: Request, body: Body) -> Any:
    """POST: forget all that happened and all that was ordered."""
    exchange.reset()
    return {"done": True}


async def _answer(answer: Answer, request: Request) -> Response:
    exchange: Exchange = request.app.state.exchange
    try:
        raw = await request.body()
        body = json.loads(raw) if raw else {}
        if not isinstance(body, dict) or len(raw) > MAX_BODY:
            raise ValueError("The body must be a JSON object.")
        return JSONResponse(await run_in_threadpool(answer, exchange, request, body))
    except (AssertionError, LookupError, ValueError, TypeError, RuntimeError) as error:
        return JSONResponse({"error": str(error)}, 409 if isinstance(error, AssertionError) else 400)


def _route(path: str, answer: Answer, *methods: str) -> Route:
    return Route(f"/sandbox/api/{path}", partial(_answer, answer), methods=list(methods))


routes = [
    _route("messages", messages, "GET"),
    _route("calls", calls, "GET"),
    _route("mail", mails, "GET"),
    _route("deliveries", deliveries, "GET"),
    _route("debugger", troubles, "GET"),
    _route("phones", phones, "GET", "POST"),
    _route("phones/{number}/{action}", act, "POST"),
    _route("faults", faults, "GET", "POST", "DELETE"),
    _route("templates", templates, "GET", "POST"),
    _route("clock", clock, "GET", "POST"),
    _route("opt-outs", opt_outs, "GET", "POST"),
    _route("reset", reset, "POST"),
]
