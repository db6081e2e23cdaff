"""A phone in a test's hand: look at it, write, press buttons, pick up, press keys."""

from dataclasses import replace
from typing import Any

from sandbox import inbound, messaging, ringing, voice
from sandbox.exchange import Exchange
from sandbox.records import Behaviour, Call, Message, MessageChannel


class Handset:
    """One phone by its number. What cannot be done raises `AssertionError` with a sentence."""

    def __init__(self, exchange: Exchange, number: str) -> None:
        self._exchange = exchange
        self.number = number
        exchange.phone(number)

    @property
    def behaviour(self) -> Behaviour:
        """What it does by itself."""
        return self._exchange.phone(self.number).behaviour

    def set_behaviour(self, **changes: Any) -> None:
        """Change what it does by itself; the names are the fields of `records.Behaviour`."""
        phone = self._exchange.phone(self.number)
        with self._exchange.lock:
            was_online = phone.behaviour.online
            phone.behaviour = replace(phone.behaviour, **changes)
            self._exchange.touch()
        if phone.behaviour.online and not was_online:
            messaging.come_online(self._exchange, self.number)

    def rename(self, name: str) -> None:
        """Give the phone's person a name; WhatsApp sends it as ProfileName."""
        self._exchange.phone(self.number).name = name
        self._exchange.touch()

    def messages(self, channel: MessageChannel | None = None) -> list[Message]:
        """What was sent to it and from it, oldest first."""
        with self._exchange.lock:
            found = [m for m in self._exchange.messages.values() if m.number == self.number]
        return [m for m in found if channel in (None, m.channel)]

    def calls(self) -> list[Call]:
        """Its calls, oldest first."""
        with self._exchange.lock:
            return [call for call in self._exchange.calls.values() if call.number == self.number]

    def call(self) -> Call:
        """The call that is going on, ringing included."""
        found = next((call for call in reversed(self.calls()) if call.is_live), None)
        assert found is not None, "No call is going on."
        return found

    def press_button(self, sid: str = "", *, title: str = "") -> Message:
        """Press the quick reply of a message; without `sid`, of the newest that has one. Gives the answer sent."""
        found = [m for m in self.messages("whatsapp") if m.buttons and sid in ("", m.sid)]
        assert found, "No such message with a button arrived."
        assert found[-1].status in ("delivered", "read"), (
            f"The message is {found[-1].status}, so it isn't on the phone."
        )
        return inbound.press_button(self._exchange, found[-1], title)

    def reply(self, text: str, channel: MessageChannel = "sms", *, to: str = "") -> Message:
        """Write to the number that wrote last on this channel, or to `to`."""
        return inbound.write(self._exchange, self.number, text, channel, to=to or self.correspondent(channel))

    def correspondent(self, channel: MessageChannel) -> str:
        """The number that wrote last on this channel and takes answers; empty when none did."""
        senders = [m.sender for m in self.messages(channel) if m.sender.startswith("+")]
        return senders[-1] if senders else ""

    def send_raw(self, params: dict[str, str], channel: MessageChannel = "whatsapp", *, text: str = "") -> Message:
        """Write a message with parameters of your own, such as another alert's ButtonPayload."""
        return inbound.write(self._exchange, self.number, text, channel, extra=params)

    def read(self, sid: str = "") -> None:
        """Look at the WhatsApp messages, or at one."""
        for message in self.messages("whatsapp"):
            if sid in ("", message.sid):
                messaging.mark_read(self._exchange, message)

    def answer(self) -> Call:
        """Pick up."""
        call = self.call()
        assert ringing.answer(self._exchange, call), f"The call is {call.status}, not ringing."
        return call

    def decline(self) -> None:
        """Refuse the ringing call."""
        call = self.call()
        assert ringing.decline(self._exchange, call), f"The call is {call.status}, not ringing."

    def be_busy(self) -> None:
        """Let the caller hear the busy tone."""
        call = self.call()
        assert ringing.be_busy(self._exchange, call), f"The call is {call.status}, not ringing."

    def press(self, keys: str) -> bool:
        """Press keys. False when one of them was lost, since nobody listened."""
        call = self.call()
        assert call.status == "in-progress", f"The call is {call.status}: pick up first."
        heard = [voice.press(self._exchange, call, key) for key in keys]
        return all(heard)

    def hang_up(self) -> None:
        """End the call."""
        call = self.call()
        assert ringing.hang_up(self._exchange, call), f"The call is {call.status}."

    @property
    def has_opted_out(self) -> bool:
        """Whether Twilio blocks texts to it from the account's SMS number."""
        return (self._exchange.config.sms_from, self.number) in self._exchange.opted_out
