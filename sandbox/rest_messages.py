"""The Messages resource: create, fetch, list, cancel, redact."""

from datetime import datetime
from typing import Any

from sandbox.content import read_variables
from sandbox.exchange import Exchange
from sandbox.messaging import accept, address
from sandbox.problems import ApiError
from sandbox.records import Message, MessageChannel, new_sid
from sandbox.rest import (
    API,
    NAME_SENDER,
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
from sandbox.segments import count_segments

CREATE_NAMES = words(
    "To StatusCallback ApplicationSid MaxPrice ProvideFeedback Attempt ValidityPeriod ForceDelivery ContentRetention "
    "AddressRetention SmartEncoded PersistentAction TrafficType ShortenUrls ScheduleType SendAt SendAsMms "
    "ContentVariables RiskCheck From FallbackFrom MessagingServiceSid Body MediaUrl ContentSid"
)
LIST_NAMES = words("To From DateSent DateSent< DateSent> PageSize Page PageToken")
UPDATE_NAMES = frozenset({"Body", "Status"})
MAX_BODY_CHARS = 1600
MAX_VALIDITY_S = 36000
PRICE_AFTER_S = 60
BOOLEANS = frozenset({"true", "false"})
# Twilio's magic numbers for tests, which fail at once.
MAGIC = {
    "+15005550001": 21211,
    "+15005550002": 21612,
    "+15005550003": 21408,
    "+15005550004": 21610,
    "+15005550009": 21614,
}


def as_json(exchange: Exchange, message: Message) -> dict[str, Any]:
    """The Message resource."""
    account = exchange.config.account_sid
    uri = f"{API}/{account}/Messages/{message.sid}"
    ours, theirs = address(message.channel, message.sender), address(message.channel, message.number)
    return {
        "account_sid": account,
        "api_version": "2010-04-01",
        "body": message.body,
        "date_created": rfc2822(message.created_at),
        "date_sent": rfc2822(message.sent_at),
        "date_updated": rfc2822(message.updated_at),
        "direction": message.direction,
        "error_code": message.error_code,
        "error_message": f"Error {message.error_code}" if message.error_code else None,
        "from": theirs if message.is_inbound else ours,
        "messaging_service_sid": None,
        "num_media": "0",
        "num_segments": str(message.segments),
        "price": _price(exchange, message),
        "price_unit": "USD",
        "sid": message.sid,
        "status": message.status,
        "subresource_uris": {"media": f"{uri}/Media.json"},
        "to": ours if message.is_inbound else theirs,
        "uri": f"{uri}.json",
    }


def _price(exchange: Exchange, message: Message) -> str | None:
    """Known only a while after the end, and negative."""
    at: datetime | None = message.ended_at
    if at is None or (exchange.clock.now() - at).total_seconds() < PRICE_AFTER_S:
        return None
    return f"-{0.0083 * message.segments:.5f}" if message.status in ("delivered", "read") else "0.00000"


def check_route(exchange: Exchange, parameters: Parameters) -> tuple[MessageChannel, str, str]:
    """Channel, sender and number of a message, refused as Twilio refuses them."""
    to, sender = parameters.one("To"), parameters.one("From")
    if not to:
        raise ApiError(21604)
    if parameters.one("MessagingServiceSid"):
        raise ApiError(21701)
    if not sender:
        raise ApiError(21603)
    if to.startswith("whatsapp:") != sender.startswith("whatsapp:"):
        raise ApiError(21910)
    channel: MessageChannel = "whatsapp" if to.startswith("whatsapp:") else "sms"
    number, ours = to.removeprefix("whatsapp:"), sender.removeprefix("whatsapp:")
    if not is_e164(number):
        raise ApiError(21211)
    if channel == "whatsapp":
        if ours != exchange.config.whatsapp_from:
            raise ApiError(63007)
        return channel, ours, number
    if number in MAGIC:
        raise ApiError(MAGIC[number])
    if ours == number:
        raise ApiError(21266)
    if NAME_SENDER.match(ours):
        # Names are no senders in the United States and Canada.
        if number.startswith("+1"):
            raise ApiError(21612)
    elif not is_e164(ours):
        raise ApiError(21212)
    elif ours != exchange.config.sms_from:
        raise ApiError(21606)
    if exchange.opt_out_at == "create" and (ours, number) in exchange.opted_out:
        raise ApiError(21610)
    return channel, ours, number


def create(exchange: Exchange, parameters: Parameters) -> tuple[int, dict[str, Any]]:
    """Accept a message; it is sent a moment later."""
    parameters.check_names(CREATE_NAMES)
    with exchange.lock:
        channel, sender, number = check_route(exchange, parameters)
        now = exchange.clock.now()
        message = Message(
            new_sid("MM" if parameters.one("ContentSid") else "SM"),
            channel,
            sender,
            number,
            parameters.one("Body"),
            "outbound-api",
            "queued",
            now,
            now,
            params=flat(parameters),
        )
        _check_options(parameters)
        _fill(exchange, message, parameters)
        message.segments = count_segments(message.body) if channel == "sms" else 1
        message.callback_url = parameters.one("StatusCallback")
        message.validity_s = int(parameters.one("ValidityPeriod") or MAX_VALIDITY_S)
        accept(exchange, message)
        return 201, as_json(exchange, message)


def _check_options(parameters: Parameters) -> None:
    callback = parameters.one("StatusCallback")
    if callback and not is_callback_url(callback):
        raise ApiError(21609)
    validity = parameters.one("ValidityPeriod")
    if validity and not (validity.isdigit() and 1 <= int(validity) <= MAX_VALIDITY_S):
        raise ApiError(21624)
    check_word(parameters, "RiskCheck", frozenset({"enable", "disable"}))
    for name in ("ContentRetention", "AddressRetention"):
        check_word(parameters, name, frozenset({"retain", "discard", "obfuscate"}))
    for name in ("SmartEncoded", "ProvideFeedback", "ForceDelivery", "ShortenUrls", "SendAsMms"):
        check_word(parameters, name, BOOLEANS)
    if parameters.one("ScheduleType") or parameters.one("SendAt"):
        # Only a Messaging Service schedules, and this account has none.
        raise ApiError(21701)
    if any(not is_callback_url(url) for url in parameters.all("MediaUrl")):
        raise ApiError(21620)


def _fill(exchange: Exchange, message: Message, parameters: Parameters) -> None:
    """Put the words into a message: its body, or a template with its variables."""
    content_sid = parameters.one("ContentSid")
    if content_sid:
        template = exchange.templates.find(content_sid)
        if template is None:
            raise ApiError(21655)
        message.template_sid = content_sid
        message.variables = read_variables(template, parameters.one("ContentVariables"))
        message.body, message.buttons = template.fill(message.variables)
    elif parameters.one("ContentVariables"):
        raise ApiError(21654)
    elif not message.body and not parameters.all("MediaUrl"):
        raise ApiError(21602)
    if len(message.body) > MAX_BODY_CHARS:
        raise ApiError(21617)


def find(exchange: Exchange, sid: str) -> Message:
    """The message with this SID; refuses (20404) an unknown one."""
    message = exchange.messages.get(sid)
    if message is None:
        raise ApiError(20404)
    return message


def fetch(exchange: Exchange, sid: str) -> tuple[int, dict[str, Any]]:
    """One message."""
    with exchange.lock:
        return 200, as_json(exchange, find(exchange, sid))


def listed(exchange: Exchange, parameters: Parameters) -> tuple[int, dict[str, Any]]:
    """Messages, newest first. One that is not sent yet counts by the time it was created."""
    parameters.check_names(LIST_NAMES)
    with exchange.lock:
        found = [
            as_json(exchange, message)
            for message in reversed(exchange.messages.values())
            if within(message.sent_at or message.created_at, parameters, "DateSent")
        ]
    to, sender = parameters.one("To"), parameters.one("From")
    rows = [row for row in found if to in ("", row["to"]) and sender in ("", row["from"])]
    path = f"{API}/{exchange.config.account_sid}/Messages.json"
    return 200, page_of(rows, parameters, name="messages", path=path)


def update(exchange: Exchange, sid: str, parameters: Parameters) -> tuple[int, dict[str, Any]]:
    """Redact the body of a message that ended. None is ever scheduled here, so there is nothing to cancel."""
    parameters.check_names(UPDATE_NAMES)
    with exchange.lock:
        message = find(exchange, sid)
        if parameters.one("Status"):
            raise ApiError(20001)
        if any(key == "Body" for key, _ in parameters.pairs):
            if parameters.one("Body") or not message.is_final:
                raise ApiError(20001)
            message.body = ""
            exchange.touch()
        return 200, as_json(exchange, message)


routes = resource("Messages", "", create=create, listed=listed, fetch=fetch, update=update)
