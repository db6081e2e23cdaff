"""The life of an outgoing message: accepted, sent, delivered or failed, read."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from sandbox.content import APPROVAL_ERRORS, NOT_APPROVED
from sandbox.exchange import Exchange
from sandbox.faults import pick
from sandbox.records import Message

WINDOW = timedelta(hours=24)
INSTALL_SID = "XE" + "5a" * 16


def address(channel: str, number: str) -> str:
    """A number as the REST API writes it on this channel."""
    return f"whatsapp:{number}" if channel == "whatsapp" else number


def accept(exchange: Exchange, message: Message) -> None:
    """Take an outgoing message in and set it on its way. Call with the lock held."""
    message.faults = exchange.faults.take_for_entity(message.number, message.channel)
    exchange.messages[message.sid] = message
    exchange.phone(message.number)
    exchange.touch()
    hold = pick(message.faults, "hold")
    wait_s = hold.seconds if hold else 0.0
    if wait_s > message.validity_s:
        _later(exchange, message, message.validity_s, lambda: fail(exchange, message, 30036))
        return
    _later(exchange, message, wait_s + exchange.config.timings.sent_s, lambda: _send(exchange, message))


def _later(exchange: Exchange, message: Message, delay_s: float, step: Callable[[], None]) -> None:
    """Take the next step after a while, unless the message has ended by then."""

    def run() -> None:
        with exchange.lock:
            if not message.is_final:
                step()

    exchange.clock.after(delay_s, run, sid=message.sid)


def _move(exchange: Exchange, message: Message, status: str, *, error_code: int | None = None) -> None:
    """Change the status and report it."""
    now = exchange.clock.now()
    message.status, message.updated_at, message.error_code = status, now, error_code
    if status == "sent":
        message.sent_at = now
    is_last = message.is_final or (status == "sent" and pick(message.faults, "no_receipt") is not None)
    if message.is_final and message.ended_at is None:
        message.ended_at = now
    exchange.touch()
    if not message.callback_url:
        return
    extra = pick(message.faults, "extra_status") if is_last and status != "read" else None
    if extra:
        exchange.call_back(message, extra.status, _params(exchange, message, extra.status), is_last=False)
    exchange.call_back(message, status, _params(exchange, message, status), is_last=is_last)


def _params(exchange: Exchange, message: Message, status: str) -> dict[str, str]:
    params = {
        "AccountSid": exchange.config.account_sid,
        "ApiVersion": "2010-04-01",
        "From": address(message.channel, message.sender),
        "To": address(message.channel, message.number),
        "MessageSid": message.sid,
        "MessageStatus": status,
        "SmsSid": message.sid,
        "SmsStatus": status,
    }
    if status in ("failed", "undelivered") and message.error_code is not None:
        params["ErrorCode"] = str(message.error_code)
    if message.channel == "whatsapp":
        params |= {"ChannelPrefix": "whatsapp", "ChannelInstallSid": INSTALL_SID, "ChannelToAddress": message.number}
        if status in ("delivered", "read", "undelivered"):
            params["EventType"] = status.upper()
        if "ErrorCode" in params:
            params["ChannelStatusMessage"] = f"Message failed with code {message.error_code}"
    elif status in ("delivered", "undelivered"):
        params["RawDlrDoneDate"] = exchange.clock.now().strftime("%y%m%d%H%M")
    return params


def fail(exchange: Exchange, message: Message, code: int, status: str = "failed") -> None:
    """End a message in failure."""
    _move(exchange, message, status, error_code=code)


def _send(exchange: Exchange, message: Message) -> None:
    behaviour = exchange.phone(message.number).behaviour
    ordered = pick(message.faults, "fail")
    if ordered:
        # `undelivered` is what the network says after it took the message; `failed` comes before.
        if ordered.status == "undelivered":
            _move(exchange, message, "sent")
            wait_s = exchange.config.timings.failed_s
            _later(exchange, message, wait_s, lambda: fail(exchange, message, ordered.code, "undelivered"))
        else:
            fail(exchange, message, ordered.code, ordered.status or "failed")
        return
    if message.channel == "whatsapp":
        refusal = _whatsapp_refusal(exchange, message)
        if refusal:
            fail(exchange, message, refusal)
            return
        if behaviour.whatsapp == "no":
            fail(exchange, message, 63024, "undelivered")
            return
        if behaviour.whatsapp == "blocked":
            fail(exchange, message, 63033, "undelivered")
            return
    elif (message.sender, message.number) in exchange.opted_out and message.direction == "outbound-api":
        fail(exchange, message, 21610)
        return
    _move(exchange, message, "sent")
    if pick(message.faults, "no_receipt"):
        return
    timings = exchange.config.timings
    _later(exchange, message, timings.delivered_s, lambda: _arrive(exchange, message))


def _whatsapp_refusal(exchange: Exchange, message: Message) -> int:
    """Why WhatsApp does not take a message: free text or an unapproved template outside the 24 hours. 0: it does."""
    opened_at = exchange.windows.get((message.sender, message.number))
    if opened_at is not None and exchange.clock.now() - opened_at <= WINDOW:
        return 0
    template = exchange.templates.find(message.template_sid)
    if template is None:
        return NOT_APPROVED
    return 0 if template.approval == "approved" else APPROVAL_ERRORS.get(template.approval, NOT_APPROVED)


def _arrive(exchange: Exchange, message: Message) -> None:
    """Reach the phone, or not."""
    behaviour = exchange.phone(message.number).behaviour
    if message.channel == "sms":
        if behaviour.sms == "landline":
            fail(exchange, message, 30006, "undelivered")
            return
        if behaviour.sms == "no_receipt":
            return
    if not behaviour.online:
        if message.channel == "sms":
            wait_s = exchange.config.timings.unreachable_s
            _later(exchange, message, wait_s, lambda: fail(exchange, message, 30003, "undelivered"))
        return
    _move(exchange, message, "delivered")
    for listener in exchange.when_delivered:
        listener(message)


def come_online(exchange: Exchange, number: str) -> None:
    """Deliver what waited for this phone."""
    with exchange.lock:
        for message in exchange.messages.values():
            waits = message.status == "sent" and not pick(message.faults, "no_receipt")
            if message.number == number and not message.is_inbound and waits:
                _later(exchange, message, 0.5, partial(_arrive, exchange, message))


def mark_read(exchange: Exchange, message: Message) -> None:
    """The person looked at a WhatsApp message."""
    with exchange.lock:
        if message.channel == "whatsapp" and message.status == "delivered" and not message.is_inbound:
            _move(exchange, message, "read")
