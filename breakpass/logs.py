"""Log lines that hold nobody's data: routes in place of addresses, and types in place of an error's own words.

An address can hold an invite's token or a number that somebody typed; a database error quotes the row that it is about.
"""

import copy
import logging
from types import TracebackType
from typing import Any, Final

UNKNOWN_ADDRESS: Final = "an address we do not have"


class DiscreetFormatter(logging.Formatter):
    """Writes a record without an address, the words of an exception, or what Celery quotes of one."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as a line, and the frames of its exception if it has one."""
        shown = copy.copy(record)
        shown.exc_text = None
        request = getattr(record, "request", None)
        if record.name.startswith("django.security") and record.exc_info and record.exc_info[0] is not None:
            shown.msg, shown.args = f"{record.exc_info[0].__name__}: %s", (route_of(request),)
        elif request is not None and isinstance(record.args, tuple):
            shown.args = tuple(without_address(value, request) for value in record.args)
        elif isinstance(record.args, dict) and "exc" in record.args:
            # Celery's report of a task that raised: `exc` is the error's repr, `traceback` its text.
            shown.args = {**record.args, "exc": str(record.args["exc"]).split("(")[0], "traceback": ""}
        return super().format(shown)

    def formatException(self, ei: Any) -> str:
        """The frames and types of an exception and of what caused it, the first cause first."""
        error: BaseException | None = ei[1]
        parts: list[str] = []
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            parts.append("\n".join([*frames_of(error.__traceback__), type(error).__name__]))
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\n".join(reversed(parts))


def frames_of(trace: TracebackType | None) -> list[str]:
    """Where an exception passed, outermost first: file, line and function, without the source's text."""
    lines: list[str] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        lines.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}')
        trace = trace.tb_next
    return lines


def route_of(request: Any) -> str:
    """The pattern of the address that was asked for, such as "join/<str:token>/"."""
    match = getattr(request, "resolver_match", None)
    return f"/{match.route}" if match is not None else UNKNOWN_ADDRESS


def without_address(value: object, request: Any) -> object:
    """A value of a log line, or the route when it is the request's address; what follows a dash quotes the request."""
    if not isinstance(value, str):
        return value
    return route_of(request) if value.startswith("/") else value.split(" - ")[0]
