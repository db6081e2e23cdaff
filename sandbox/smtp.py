"""A small SMTP receiver: just enough of RFC 5321 for a mail program to hand its messages to the mailbox."""

import asyncio
import re

from sandbox.mailbox import Mailbox

MAX_BYTES = 10 * 1024 * 1024
MAX_LINE = 4096
MAX_RECIPIENTS = 100
IDLE_S = 300.0
_PATH = re.compile(r"^(FROM|TO):\s*<([^<>\s]*)>(.*)$", re.IGNORECASE)


class SmtpServer:
    """Listens on loopback and puts what comes into the mailbox. Takes no sign-in and sends nothing on."""

    def __init__(self, mailbox: Mailbox, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._mailbox = mailbox
        self._host, self._asked_port = host, port
        self._server: asyncio.Server | None = None
        self._sessions: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """The port it listens on; 0 before it does."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server and self._server.sockets else 0

    async def start(self) -> None:
        """Begin to listen. `OSError` when the port is taken."""
        self._server = await asyncio.start_server(self._serve, self._host, self._asked_port, limit=MAX_LINE)

    async def stop(self) -> None:
        """Stop listening and end what is open."""
        if self._server is not None:
            self._server.close()
            for task in list(self._sessions):
                task.cancel()
            await asyncio.gather(*self._sessions, return_exceptions=True)
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._sessions.add(task)
        try:
            async with asyncio.timeout(IDLE_S):
                await _Session(self._mailbox, reader, writer).run()
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._sessions.discard(task)
            writer.close()


class _Session:
    """One connection."""

    def __init__(self, mailbox: Mailbox, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._mailbox = mailbox
        self._reader = reader
        self._writer = writer
        self._greeted = False
        self._sender: str | None = None
        self._recipients: list[str] = []

    async def run(self) -> None:
        """Answer commands until QUIT or the end of the connection."""
        await self._say("220 sandbox ESMTP")
        while True:
            line = await self._line()
            if line is None:
                return
            verb, _, rest = line.partition(" ")
            if verb.upper() == "QUIT":
                await self._say("221 Bye")
                return
            await self._say(await self._answer(verb.upper(), rest.strip()))

    async def _answer(self, verb: str, rest: str) -> str:
        match verb:
            case "EHLO":
                self._begin()
                return f"250-sandbox\r\n250-SIZE {MAX_BYTES}\r\n250-8BITMIME\r\n250 SMTPUTF8"
            case "HELO":
                self._begin()
                return "250 sandbox"
            case "NOOP":
                return "250 OK"
            case "RSET":
                self._sender, self._recipients = None, []
                return "250 OK"
            case "MAIL":
                return self._mail(rest)
            case "RCPT":
                return self._rcpt(rest)
            case "DATA":
                return await self._data()
            case "VRFY":
                return "252 Cannot say"
        return "500 Unknown command"

    def _begin(self) -> None:
        self._greeted, self._sender, self._recipients = True, None, []

    def _mail(self, rest: str) -> str:
        found = _PATH.match(rest)
        if not self._greeted or self._sender is not None:
            return "503 Bad sequence of commands"
        if found is None or found[1].upper() != "FROM":
            return "501 MAIL FROM:<address>"
        size = re.search(r"SIZE=(\d+)", found[3], re.IGNORECASE)
        if size and int(size[1]) > MAX_BYTES:
            return "552 Too large"
        self._sender = found[2]
        return "250 OK"

    def _rcpt(self, rest: str) -> str:
        found = _PATH.match(rest)
        if self._sender is None:
            return "503 Bad sequence of commands"
        if found is None or found[1].upper() != "TO" or not found[2]:
            return "501 RCPT TO:<address>"
        if len(self._recipients) >= MAX_RECIPIENTS:
            return "452 Too many recipients"
        self._recipients.append(found[2])
        return "250 OK"

    async def _data(self) -> str:
        if self._sender is None or not self._recipients:
            return "503 Bad sequence of commands"
        await self._say("354 End with a line that holds only a dot")
        raw = await self._message()
        sender, recipients = self._sender, tuple(self._recipients)
        self._sender, self._recipients = None, []
        if raw is None:
            return "552 Too large"
        self._mailbox.receive(sender, recipients, raw)
        return "250 OK"

    async def _message(self) -> bytes | None:
        """The message up to the lone dot, doubled dots undone. None when it was too large; it is read all the same."""
        pieces: list[bytes] = []
        size = 0
        at_line_start = True
        while True:
            try:
                piece = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                # A line longer than the buffer comes in pieces.
                piece = await self._reader.readexactly(error.consumed)
            if at_line_start and piece in (b".\r\n", b".\n"):
                return b"".join(pieces) if size <= MAX_BYTES else None
            if at_line_start and piece.startswith(b"."):
                piece = piece[1:]
            at_line_start = piece.endswith(b"\n")
            size += len(piece)
            if size <= MAX_BYTES:
                pieces.append(piece)

    async def _line(self) -> str | None:
        try:
            raw = await self._reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            await self._say("500 Line too long")
            return None
        except asyncio.IncompleteReadError:
            return None
        return raw.decode("utf-8", "replace").rstrip("\r\n")

    async def _say(self, text: str) -> None:
        self._writer.write(text.encode() + b"\r\n")
        await self._writer.drain()
