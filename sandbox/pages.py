"""The pages: phones in the browser, and the mailbox. Plain forms; the script only spares reloading."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import phonenumbers
from jinja2 import Environment, FileSystemLoader, select_autoescape
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from sandbox.exchange import Exchange
from sandbox.handset import Handset
from sandbox.rest import is_e164

HERE = Path(__file__).resolve().parent
KEYS = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "0", "#")
LETTERS = dict(zip("23456789", ("ABC", "DEF", "GHI", "JKL", "MNO", "PQRS", "TUV", "WXYZ"), strict=True))
_LINK = re.compile(r"https?://[^\s<>\"']+[^\s<>\"'.,;:!?)\]]")


def linkify(text: str) -> Markup:
    """Text with its http(s) addresses as links and all else escaped."""
    pieces: list[Markup | str] = []
    end = 0
    for found in _LINK.finditer(text):
        pieces += [
            escape(text[end : found.start()]),
            Markup('<a href="{0}" rel="noopener noreferrer" target="_blank">{0}</a>').format(found[0]),
        ]
        end = found.end()
    return Markup("").join([*pieces, escape(text[end:])])


def spaced(number: str) -> str:
    """A number in groups, for the eye; a sender's name as it is."""
    try:
        return phonenumbers.format_number(phonenumbers.parse(number), phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    except phonenumbers.NumberParseException:
        return number


_environment = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=select_autoescape(default=True),
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {"linkify": linkify, "spaced": spaced}


def _render(request: Request, name: str, **values: Any) -> Response:
    """A page; 304 when the script asks again and nothing has changed."""
    exchange: Exchange = request.app.state.exchange
    tag = f'"{exchange.started}-{exchange.version}-{len(exchange.mailbox.listed())}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    counts = {"mail_count": len(exchange.mailbox.listed()), "now": exchange.clock.now(), "clock": exchange.clock}
    html = _environment.get_template(name).render(request=request, **counts, **values)
    return HTMLResponse(html, headers={"ETag": tag})


def _number(request: Request) -> str:
    number = str(request.path_params["number"])
    if not is_e164(number):
        raise HTTPException(404)
    return number


def _cards(exchange: Exchange) -> list[dict[str, Any]]:
    """What the front page says about each phone, the one with the latest news first."""
    cards = []
    for phone in exchange.phones.values():
        messages = [m for m in exchange.messages.values() if m.number == phone.number]
        calls = [call for call in exchange.calls.values() if call.number == phone.number]
        last = messages[-1] if messages else None
        times = [m.created_at for m in messages[-1:]] + [call.updated_at for call in calls[-1:]]
        unread = sum(m.channel == "whatsapp" and m.status == "delivered" for m in messages)
        live = next((call for call in calls if call.is_live), None)
        cards.append({"phone": phone, "last": last, "unread": unread, "call": live, "at": max(times, default=None)})
    return sorted(cards, key=lambda card: (card["at"] is not None, card["at"] or 0), reverse=True)


async def index(request: Request) -> Response:
    """All phones."""
    exchange: Exchange = request.app.state.exchange
    with exchange.lock:
        return _render(request, "index.html", cards=_cards(exchange))


async def add_phone(request: Request) -> Response:
    """Add a phone, and go to it."""
    exchange: Exchange = request.app.state.exchange
    form = await request.form()
    number = re.sub(r"[\s().-]", "", str(form.get("number", "")))
    if not is_e164(number):
        with exchange.lock:
            page = _render(
                request,
                "index.html",
                cards=_cards(exchange),
                problem="Write the number with + and the country code, such as +12025550101.",
                typed=form.get("number", ""),
            )
        return HTMLResponse(page.body, 422)
    handset = Handset(exchange, number)
    if form.get("name"):
        handset.rename(str(form["name"])[:60])
    return RedirectResponse(f"/phone/{number}", 303)


async def phone(request: Request) -> Response:
    """One phone: chats and the call. Looking at it reads the WhatsApp messages."""
    exchange: Exchange = request.app.state.exchange
    number = _number(request)
    handset = Handset(exchange, number)
    await run_in_threadpool(handset.read)
    with exchange.lock:
        calls = handset.calls()
        live = next((call for call in reversed(calls) if call.is_live and call.status != "queued"), None)
        return _render(
            request,
            "phone.html",
            phone=exchange.phone(number),
            whatsapp=handset.messages("whatsapp"),
            sms=handset.messages("sms"),
            can_reply_sms=bool(handset.correspondent("sms") or not handset.messages("sms")),
            opted_out=handset.has_opted_out,
            live=live,
            calls=[call for call in reversed(calls) if not call.is_live][:6],
            keys=KEYS,
            letters=LETTERS,
        )


def _behave(handset: Handset, form: dict[str, str]) -> None:
    handset.rename(form.get("name", "")[:60].strip())
    handset.set_behaviour(
        online=form.get("online") == "on",
        whatsapp=form.get("whatsapp", "yes"),
        sms=form.get("sms", "yes"),
        call=form.get("call", "ring"),
        press="".join(key for key in form.get("press", "") if key in KEYS)[:20],
    )


ACTIONS: dict[str, Callable[[Handset, dict[str, str]], object]] = {
    "write": lambda handset, form: (
        handset.reply(form["text"][:1600], "whatsapp" if form.get("channel") == "whatsapp" else "sms")
        if form.get("text", "").strip()
        else None
    ),
    "button": lambda handset, form: handset.press_button(form.get("sid", ""), title=form.get("title", "")),
    "answer": lambda handset, form: handset.answer(),
    "decline": lambda handset, form: handset.decline(),
    "busy": lambda handset, form: handset.be_busy(),
    "press": lambda handset, form: handset.press(form.get("key", "")[:1]),
    "hang-up": lambda handset, form: handset.hang_up(),
    "behave": _behave,
}


async def act(request: Request) -> Response:
    """Something done on a phone. What came too late is passed over: the page shows how things are."""
    exchange: Exchange = request.app.state.exchange
    number = _number(request)
    action = ACTIONS.get(request.path_params["action"])
    if action is None:
        raise HTTPException(404)
    form = {key: value for key, value in (await request.form()).items() if isinstance(value, str)}

    def run() -> None:
        try:
            action(Handset(exchange, number), form)
        except (AssertionError, LookupError):
            return

    await run_in_threadpool(run)
    return RedirectResponse(f"/phone/{number}", 303)


async def mailbox(request: Request) -> Response:
    """All mail, newest first."""
    exchange: Exchange = request.app.state.exchange
    return _render(request, "mail.html", mails=exchange.mailbox.listed()[::-1])


async def mail(request: Request) -> Response:
    """One mail."""
    exchange: Exchange = request.app.state.exchange
    found = exchange.mailbox.find(request.path_params["mail"])
    if found is None:
        raise HTTPException(404)
    return _render(request, "one_mail.html", mail=found)


routes = [
    Route("/", index, methods=["GET"]),
    Route("/phones", add_phone, methods=["POST"]),
    Route("/phone/{number}", phone, methods=["GET"]),
    Route("/phone/{number}/{action}", act, methods=["POST"]),
    Route("/mail", mailbox, methods=["GET"]),
    Route("/mail/{mail}", mail, methods=["GET"]),
]
