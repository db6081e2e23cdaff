"""What a person sends to us: words, a pressed button, STOP and START; and what is answered."""

import json

from sandbox.exchange import Exchange
from sandbox.messaging import accept, address, mark_read
from sandbox.records import Message, MessageChannel, new_sid
from sandbox.segments import count_segments
from sandbox.twiml import BadDocument, Reply, parse
from sandbox.webhooks import Reply as HttpReply

STOP_WORDS = frozenset({"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"})
START_WORDS = frozenset({"START", "YES", "UNSTOP"})
HELP_WORDS = frozenset({"HELP", "INFO"})
READS_AFTER_S = 1.0
AUTO_REPLIES = {
    "STOP": "You are unsubscribed and get no more messages from this number. Reply START to subscribe again.",
    "START": "You are subscribed to messages from this number again.",
    "HELP": "Reply STOP to unsubscribe. Message and data rates may apply.",
}


def keep_habits(exchange: Exchange) -> None:
    """Let phones do by themselves what their behaviour says about a WhatsApp message: read it, press its button."""

    def mind(message: Message) -> None:
        behaviour = exchange.phone(message.number).behaviour
        if message.channel != "whatsapp":
            return
        if behaviour.reads:
            exchange.clock.after(READS_AFTER_S, lambda: mark_read(exchange, message), sid=message.sid)
        if behaviour.button_after_s is not None and message.buttons:
            exchange.clock.after(behaviour.button_after_s, lambda: _press(exchange, message), sid=message.sid)

    exchange.when_delivered.append(mind)


def _press(exchange: Exchange, message: Message) -> None:
    press_button(exchange, message)


def press_button(exchange: Exchange, message: Message, title: str = "") -> Message:
    """Press a quick reply; each message's button works once on the phone. `LookupError` when there is none."""
    with exchange.lock:
        button = next((b for b in message.buttons if title in ("", b.title)), None)
        if button is None:
            raise LookupError("This message has no such button.")
        mark_read(exchange, message)
        message.pressed = button.title
        extra = {
            "MessageType": "button",
            "ButtonText": button.title,
            "ButtonPayload": button.payload,
            "OriginalRepliedMessageSid": message.sid,
            "OriginalRepliedMessageSender": address("whatsapp", message.sender),
        }
        return write(exchange, message.number, button.title, "whatsapp", to=message.sender, extra=extra)


def write(
    exchange: Exchange,
    number: str,
    text: str,
    channel: MessageChannel,
    *,
    to: str = "",
    extra: dict[str, str] | None = None,
) -> Message:
    """A person sends a message to one of our numbers (`to`; by default the account's on that channel)."""
    with exchange.lock:
        phone = exchange.phone(number)
        config, now = exchange.config, exchange.clock.now()
        ours = to or (config.whatsapp_from if channel == "whatsapp" else config.sms_from)
        sid = new_sid("SM")
        segments = count_segments(text)
        message = Message(
            sid, channel, ours, number, text, "inbound", "received", now, now, sent_at=now, segments=segments
        )
        exchange.messages[sid] = message
        exchange.touch()
        params = {
            "AccountSid": config.account_sid,
            "ApiVersion": "2010-04-01",
            "Body": text,
            "From": address(channel, number),
            "To": address(channel, ours),
            "MessageSid": sid,
            "SmsMessageSid": sid,
            "SmsSid": sid,
            "SmsStatus": "received",
            "NumMedia": "0",
            "NumSegments": str(segments),
        }
        if channel == "whatsapp":
            exchange.windows[ours, number] = now
            name = phone.name or "Phone"
            params |= {"MessageType": "text", "WaId": number.lstrip("+"), "ProfileName": name, "Forwarded": "false"}
            params["ChannelMetadata"] = json.dumps({"type": "whatsapp", "data": {"context": {"ProfileName": name}}})
            params |= extra or {}
        else:
            params |= _mind_keywords(exchange, message)
        if config.inbound_url:
            exchange.post(
                "inbound",
                config.inbound_url,
                params,
                sid=sid,
                then=lambda reply: _answer(exchange, message, reply),
            )
        return message


def _mind_keywords(exchange: Exchange, message: Message) -> dict[str, str]:
    """Opt out or in, with the network's own answer. Gives OptOutType where that is switched on."""
    word = message.body.strip().upper()
    pair = (message.sender, message.number)
    kind = "STOP" if word in STOP_WORDS else "START" if word in START_WORDS else "HELP" if word in HELP_WORDS else ""
    if not kind or (kind == "START" and word == "YES" and pair not in exchange.opted_out):
        return {}
    if kind == "STOP":
        exchange.opted_out.add(pair)
    elif kind == "START":
        exchange.opted_out.discard(pair)
    _reply(exchange, message, AUTO_REPLIES[kind])
    return {"OptOutType": kind} if exchange.config.advanced_opt_out else {}


def _reply(exchange: Exchange, to: Message, text: str) -> None:
    now = exchange.clock.now()
    accept(
        exchange,
        Message(
            new_sid("SM"),
            to.channel,
            to.sender,
            to.number,
            text,
            "outbound-reply",
            "queued",
            now,
            now,
            segments=count_segments(text),
            expected=True,
        ),
    )


def _answer(exchange: Exchange, message: Message, reply: HttpReply | None) -> None:
    """Do what the answer to an inbound webhook says: nothing, or a message back."""
    if reply is None or reply.status >= 400 or not reply.body.strip():
        return
    url = exchange.config.inbound_url
    try:
        verbs, warnings = parse(reply.content_type, reply.body)
    except BadDocument as error:
        exchange.note_trouble(error.code, url, message.sid, error.detail)
        return
    for warning in warnings:
        exchange.note_trouble(12200, url, message.sid, warning)
    with exchange.lock:
        for verb in verbs:
            if isinstance(verb, Reply):
                _reply(exchange, message, verb.text)
