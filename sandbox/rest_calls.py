"""The Calls resource: create, fetch, list, cancel, hang up, redirect."""

from typing import Any

from sandbox import voice
from sandbox.calls import end
from sandbox.exchange import Exchange
from sandbox.problems import ApiError
from sandbox.records import Call, new_sid
from sandbox.rest import (
    API,
    Parameters,
    check_word,
    flat,
    is_callback_url,
    is_e164,
    page_of,
    resource,
    rfc2822,
    within,
    words,
)
from sandbox.ringing import place

CREATE_NAMES = words(
    "To From Method FallbackUrl FallbackMethod StatusCallback StatusCallbackEvent StatusCallbackMethod SendDigits "
    "Timeout Record RecordingChannels RecordingStatusCallback RecordingStatusCallbackMethod SipAuthUsername "
    "SipAuthPassword MachineDetection MachineDetectionTimeout RecordingStatusCallbackEvent Trim CallerId "
    "MachineDetectionSpeechThreshold MachineDetectionSpeechEndThreshold MachineDetectionSilenceTimeout AsyncAmd "
    "AsyncAmdStatusCallback AsyncAmdStatusCallbackMethod Byoc CallReason CallToken RecordingTrack TimeLimit "
    "ClientNotificationUrl Url Twiml ApplicationSid"
)
LIST_NAMES = words(
    "To From ParentCallSid Status StartTime StartTime< StartTime> EndTime EndTime< EndTime> PageSize Page PageToken"
)
UPDATE_NAMES = words("Url Method Status FallbackUrl FallbackMethod StatusCallback StatusCallbackMethod Twiml TimeLimit")
EVENTS = frozenset({"initiated", "ringing", "answered", "completed"})
METHODS = frozenset({"get", "post"})
MAX_TWIML_CHARS = 4000
MAX_RING_S = 600
MAX_LIMIT_S = 14400
MAGIC = {"+15005550001": 21217, "+15005550002": 21214, "+15005550003": 21215, "+15005550004": 21216}
# The resource does not know the word `initiated`, which only callbacks use.
RESOURCE_STATUS = {"initiated": "queued"}


def as_json(exchange: Exchange, call: Call) -> dict[str, Any]:
    """The Call resource."""
    account = exchange.config.account_sid
    uri = f"{API}/{account}/Calls/{call.sid}"
    return {
        "account_sid": account,
        "answered_by": None,
        "api_version": "2010-04-01",
        "caller_name": None,
        "date_created": rfc2822(call.created_at),
        "date_updated": rfc2822(call.updated_at),
        "direction": "outbound-api",
        "duration": str(call.duration_s) if call.ended_at else None,
        "end_time": rfc2822(call.ended_at),
        "forwarded_from": None,
        "from": call.sender,
        "from_formatted": call.sender,
        "group_sid": None,
        "parent_call_sid": None,
        "phone_number_sid": None,
        "price": None,
        "price_unit": "USD",
        "queue_time": "0",
        "sid": call.sid,
        "start_time": rfc2822(call.answered_at or call.ended_at),
        "status": RESOURCE_STATUS.get(call.status, call.status),
        "subresource_uris": {
            name: f"{uri}/{path}.json"
            for name, path in (("events", "Events"), ("notifications", "Notifications"), ("recordings", "Recordings"))
        },
        "to": call.number,
        "to_formatted": call.number,
        "trunk_sid": None,
        "uri": f"{uri}.json",
    }


def create(exchange: Exchange, parameters: Parameters) -> tuple[int, dict[str, Any]]:
    """Place a call; the phone rings a moment later."""
    parameters.check_names(CREATE_NAMES)
    with exchange.lock:
        number, sender = _check_route(exchange, parameters)
        _check_options(parameters)
        now = exchange.clock.now()
        call = Call(new_sid("CA"), sender, number, "queued", now, now, params=flat(parameters))
        call.url, call.twiml = parameters.one("Url"), parameters.one("Twiml")
        call.method = parameters.one("Method").upper() or "POST"
        call.fallback_url = parameters.one("FallbackUrl")
        call.fallback_method = parameters.one("FallbackMethod").upper() or "POST"
        call.callback_url = parameters.one("StatusCallback")
        call.callback_method = parameters.one("StatusCallbackMethod").upper() or "POST"
        events = {word for value in parameters.all("StatusCallbackEvent") for word in value.split()}
        call.events = frozenset(events or {"completed"})
        call.ring_s = _seconds(parameters, "Timeout", 60, MAX_RING_S)
        call.limit_s = _seconds(parameters, "TimeLimit", MAX_LIMIT_S, MAX_LIMIT_S)
        place(exchange, call)
        return 201, as_json(exchange, call)


def _check_route(exchange: Exchange, parameters: Parameters) -> tuple[str, str]:
    number, sender = parameters.one("To"), parameters.one("From")
    if not number:
        raise ApiError(21201)
    if not sender:
        raise ApiError(21213)
    if number in MAGIC:
        raise ApiError(MAGIC[number])
    if not is_e164(number):
        raise ApiError(21211)
    if not is_e164(sender):
        raise ApiError(21212)
    if sender != exchange.config.voice_from:
        raise ApiError(21210)
    return number, sender


def _check_options(parameters: Parameters) -> None:
    url, twiml = parameters.one("Url"), parameters.one("Twiml")
    if parameters.one("ApplicationSid"):
        raise ApiError(21218)
    if not url and not twiml:
        raise ApiError(21205)
    for name in ("Url", "FallbackUrl"):
        if parameters.one(name) and not is_callback_url(parameters.one(name)):
            raise ApiError(21205)
    if parameters.one("StatusCallback") and not is_callback_url(parameters.one("StatusCallback")):
        raise ApiError(21609)
    if len(twiml) > MAX_TWIML_CHARS:
        raise ApiError(20001)
    for name in ("Method", "FallbackMethod", "StatusCallbackMethod"):
        check_word(parameters, name, METHODS)
    events = {word for value in parameters.all("StatusCallbackEvent") for word in value.split()}
    if not events <= EVENTS:
        raise ApiError(20001)


def _seconds(parameters: Parameters, name: str, default: int, high: int) -> int:
    text = parameters.one(name)
    if not text:
        return default
    if not text.isdigit() or not 1 <= int(text) <= high:
        raise ApiError(20001)
    return int(text)


def find(exchange: Exchange, sid: str) -> Call:
    """The call with this SID; refuses (20404) an unknown one."""
    call = exchange.calls.get(sid)
    if call is None:
        raise ApiError(20404)
    return call


def fetch(exchange: Exchange, sid: str) -> tuple[int, dict[str, Any]]:
    """One call."""
    with exchange.lock:
        return 200, as_json(exchange, find(exchange, sid))


def listed(exchange: Exchange, parameters: Parameters) -> tuple[int, dict[str, Any]]:
    """Calls, newest first."""
    parameters.check_names(LIST_NAMES)
    with exchange.lock:
        found = [
            as_json(exchange, call)
            for call in reversed(exchange.calls.values())
            if within(call.answered_at or call.created_at, parameters, "StartTime")
            and (call.ended_at is None or within(call.ended_at, parameters, "EndTime"))
        ]
    wanted = [(key, parameters.one(name)) for key, name in (("to", "To"), ("from", "From"), ("status", "Status"))]
    rows = [row for row in found if all(value in ("", row[key]) for key, value in wanted)]
    path = f"{API}/{exchange.config.account_sid}/Calls.json"
    return 200, page_of(rows, parameters, name="calls", path=path)


def update(exchange: Exchange, sid: str, parameters: Parameters) -> tuple[int, dict[str, Any]]:
    """Cancel a call that is not answered, hang one up, or give it another document. Refuses (21220) an ended call."""
    parameters.check_names(UPDATE_NAMES)
    check_word(parameters, "Status", frozenset({"canceled", "completed"}))
    with exchange.lock:
        call = find(exchange, sid)
        wanted = parameters.one("Status").lower()
        answered = call.status == "in-progress"
        if not call.is_live or (wanted == "canceled" and answered):
            raise ApiError(21220)
        url, twiml = parameters.one("Url"), parameters.one("Twiml")
        if wanted:
            end(exchange, call, "completed" if answered else "canceled")
        elif url or twiml:
            if not answered:
                raise ApiError(21220)
            if url and not is_callback_url(url):
                raise ApiError(21205)
            voice.redirect(exchange, call, url, parameters.one("Method").upper() or "POST", twiml)
        return 200, as_json(exchange, call)


routes = resource("Calls", "call", create=create, listed=listed, fetch=fetch, update=update)
