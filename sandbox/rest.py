"""What every REST resource shares: Basic authentication, parameters, paging, errors, and the ordered misbehaviour."""

import asyncio
import base64
import binascii
import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.connections import drop_connection
from sandbox.exchange import Exchange
from sandbox.faults import Fault, pick
from sandbox.problems import ApiError

API = "/2010-04-01/Accounts"
MAX_BODY = 256 * 1024
RUSH_S = 5.0
_E164 = re.compile(r"\+[1-9]\d{6,14}\Z")
_NANP = re.compile(r"\+1[2-9]\d{9}\Z")
NAME_SENDER = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9 +&_-]{1,11}\Z")


@dataclass(frozen=True, slots=True)
class Parameters:
    """A request's parameters, in the order they came; a name may repeat."""

    pairs: tuple[tuple[str, str], ...] = ()

    def one(self, name: str) -> str:
        """The last value of this name; empty when it is not there."""
        return next((value for key, value in reversed(self.pairs) if key == name), "")

    def all(self, name: str) -> list[str]:
        """Every value of this name."""
        return [value for key, value in self.pairs if key == name]

    def check_names(self, known: frozenset[str]) -> None:
        """Refuse a name that the resource does not have (20001). Twilio would pass over it, and hide a slip."""
        if not {key for key, _ in self.pairs} <= known:
            raise ApiError(20001)


Answer = tuple[int, Any]
Work = Callable[[Parameters], Answer]


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def is_e164(number: str) -> bool:
    """Whether this is a number one can send to: E.164, and ten digits after +1."""
    return bool(_E164.match(number)) and (not number.startswith("+1") or bool(_NANP.match(number)))


def is_callback_url(url: str) -> bool:
    """Whether Twilio would post there: HTTP, with a host, and no underscore in it."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "_" not in (parts.hostname or "")
    except ValueError:
        return False


def rfc2822(at: datetime | None) -> str | None:
    """A time as the REST API writes it."""
    return format_datetime(at) if at else None


def is_authenticated(exchange: Exchange, header: str) -> bool:
    """Whether the header holds the account's SID and token."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        found = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return False
    config = exchange.config
    return hmac.compare_digest(found, f"{config.account_sid}:{config.auth_token}".encode())


async def read_parameters(request: Request) -> Parameters:
    """The form of a POST, or the query of anything else."""
    if request.method == "POST":
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise ApiError(20001, status=413)
        text = body.decode("utf-8", "replace")
    else:
        text = request.url.query
    return Parameters(tuple(parse_qsl(text, keep_blank_values=True)))


async def serve(request: Request, operation: str, channel: str, work: Work) -> Response:
    """Answer one request: authenticate, do what faults say, do the work, and answer as Twilio does."""
    exchange: Exchange = request.app.state.exchange
    try:
        parameters = await read_parameters(request)
        if not is_authenticated(exchange, request.headers.get("authorization", "")):
            raise ApiError(20003)
        if request.path_params.get("account", exchange.config.account_sid) != exchange.config.account_sid:
            raise ApiError(20003)
        to = parameters.one("To")
        if not channel:
            channel = "whatsapp" if to.startswith("whatsapp:") else "sms"
        faults = exchange.faults.take(operation, to.removeprefix("whatsapp:"), channel)
        _refuse(faults)
        if pick(faults, "refuse_connection"):
            return await drop_connection(request)
        status, answer = await run_in_threadpool(work, parameters)
        return await _misbehave_after(request, exchange, faults, status, answer)
    except ApiError as error:
        headers = dict(error.headers)
        if error.status == 401:
            headers["WWW-Authenticate"] = 'Basic realm="Twilio API"'
        return JSONResponse(error.as_json(), error.status, headers)


def resource(
    name: str,
    channel: str,
    *,
    create: Callable[[Exchange, Parameters], Answer],
    listed: Callable[[Exchange, Parameters], Answer],
    fetch: Callable[[Exchange, str], Answer],
    update: Callable[[Exchange, str, Parameters], Answer],
) -> list[Route]:
    """The two addresses of a resource: all of it (create, list), and one (fetch, update). `channel` as in `serve`."""

    async def several(request: Request) -> Response:
        exchange: Exchange = request.app.state.exchange
        if request.method == "POST":
            return await serve(request, "create", channel, lambda parameters: create(exchange, parameters))
        return await serve(request, "list", channel, lambda parameters: listed(exchange, parameters))

    async def one(request: Request) -> Response:
        exchange: Exchange = request.app.state.exchange
        sid = request.path_params["sid"]
        if request.method == "POST":
            return await serve(request, "update", channel, lambda parameters: update(exchange, sid, parameters))
        return await serve(request, "fetch", channel, lambda parameters: fetch(exchange, sid))

    base = f"{API}/{{account}}/{name}"
    return [
        Route(f"{base}.json", several, methods=["GET", "POST"]),
        Route(f"{base}/{{sid}}.json", one, methods=["GET", "POST"]),
    ]


def _refuse(faults: list[Fault]) -> None:
    """Raise what was ordered for a request that is not accepted."""
    if fault := pick(faults, "throttle"):
        raise ApiError(20429, headers={"Retry-After": f"{fault.seconds or 2:g}"})
    if fault := pick(faults, "server_error"):
        status = fault.http_status or 503
        raise ApiError(20500 if status == 500 else 20503, status=status)
    if fault := pick(faults, "reject"):
        raise ApiError(fault.code or 20001, status=fault.http_status or 400)


async def _misbehave_after(
    request: Request, exchange: Exchange, faults: list[Fault], status: int, answer: Any
) -> Response:
    """Do what was ordered for a request that was accepted."""
    if pick(faults, "callback_first"):
        await run_in_threadpool(exchange.clock.rush, answer["sid"], within_s=RUSH_S)
    if fault := pick(faults, "slow"):
        await asyncio.sleep(fault.seconds)
    if pick(faults, "drop_answer"):
        return await drop_connection(request)
    if fault := pick(faults, "error_after_accepting"):
        raise ApiError(20503, status=fault.http_status or 503)
    return JSONResponse(answer, status)


async def refuse_method(request: Request, error: Exception) -> Response:
    """405 as Twilio words it."""
    refusal = ApiError(20004)
    return JSONResponse(refusal.as_json(), refusal.status)


async def refuse_path(request: Request, error: Exception) -> Response:
    """404 as Twilio words it."""
    refusal = ApiError(20404)
    return JSONResponse(refusal.as_json(), refusal.status)


def within(moment: datetime, parameters: Parameters, name: str) -> bool:
    """Whether a time passes the filters `name` (that day), `name>` (then or later), `name<` (then or earlier)."""
    same, after, before = (_moment(parameters.one(name + sign)) for sign in ("", ">", "<"))
    if same is not None and moment.date() != same[0].date():
        return False
    if after is not None and moment < after[0]:
        return False
    if before is None:
        return True
    # A day as a bound takes the whole day in.
    return moment.date() <= before[0].date() if before[1] else moment <= before[0]


def _moment(text: str) -> tuple[datetime, bool] | None:
    """A date or a time from a filter, and whether it is a mere date. Refuses (20001) what is neither."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ApiError(20001) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC), len(text) == 10


def page_of(rows: Sequence[dict[str, Any]], parameters: Parameters, *, name: str, path: str) -> dict[str, Any]:
    """One page of a list, with the addresses of its neighbours."""
    size, page = _whole(parameters, "PageSize", 50, 1, 1000), _whole(parameters, "Page", 0, 0, 10**6)
    filters = [(key, value) for key, value in parameters.pairs if key not in ("PageSize", "Page", "PageToken")]
    start = size * page
    shown = rows[start : start + size]

    def uri(number: int) -> str:
        token = [("PageToken", f"PA{rows[size * number - 1]['sid']}")] if number else []
        return f"{path}?{urlencode([*filters, ('PageSize', size), ('Page', number), *token])}"

    return {
        name: list(shown),
        "page": page,
        "page_size": size,
        "start": start,
        "end": start + max(0, len(shown) - 1),
        "uri": uri(page) if start <= len(rows) else uri(0),
        "first_page_uri": uri(0),
        "next_page_uri": uri(page + 1) if start + size < len(rows) else None,
        "previous_page_uri": uri(page - 1) if page and start <= len(rows) else None,
    }


def _whole(parameters: Parameters, name: str, default: int, low: int, high: int) -> int:
    text = parameters.one(name)
    if not text:
        return default
    if not text.isdigit() or not low <= int(text) <= high:
        raise ApiError(20001)
    return int(text)


def flat(parameters: Parameters) -> dict[str, str]:
    """The parameters for the record; repeated ones joined by a space."""
    found: dict[str, str] = {}
    for key, value in parameters.pairs:
        found[key] = f"{found[key]} {value}" if key in found else value
    return found


def check_word(parameters: Parameters, name: str, allowed: frozenset[str]) -> None:
    """Refuse (20001) a parameter that is there but none of these words."""
    text = parameters.one(name)
    if text and text.lower() not in allowed:
        raise ApiError(20001)
