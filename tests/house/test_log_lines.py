"""What a log line leaves out: the address that was asked for, and the words of an error."""

import logging
import logging.config
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils.log import log_response

from breakpass.logs import DiscreetFormatter

TOKEN = "aTokenThatOpensAPage12"
DIGITS = "2025550171"


class Lines(logging.Handler):
    """Keeps the lines as the console would show them."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.config.DictConfigurator(settings.LOGGING).configure_formatter(line_format()))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """One record."""
        self.lines.append(self.format(record))


def line_format() -> dict[str, Any]:
    return dict(settings.LOGGING["formatters"]["line"])


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the product's logging writes during a test."""
    handler = Lines()
    assert isinstance(handler.formatter, DiscreetFormatter)
    for name in ("django.request", "django.security", "celery.app.trace"):
        logger = logging.getLogger(name)
        monkeypatch.setattr(logger, "handlers", [*logger.handlers, handler])
    return handler.lines


def without_time(line: str) -> str:
    return line.split(" ", 2)[2]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "said"),
    [
        (f"/join/{TOKEN}/", "WARNING django.request Not Found: /join/<str:token>/"),
        (f"/{DIGITS}", "WARNING django.request Not Found: an address we do not have"),
        (f"/%0a{DIGITS}", "WARNING django.request Not Found: an address we do not have"),
    ],
)
def test_a_refused_request_is_logged_by_its_route(lines: list[str], path: str, said: str) -> None:
    assert Client().get(path).status_code == 404
    assert [without_time(line) for line in lines] == [said]


@pytest.mark.django_db
def test_a_forged_form_is_logged_without_where_it_came_from(lines: list[str]) -> None:
    forger = Client(enforce_csrf_checks=True)
    answer = forger.post("/stop/", {"number": DIGITS}, headers={"Origin": f"https://{DIGITS}.example"})
    assert answer.status_code == 403
    assert [without_time(line) for line in lines] == [
        "WARNING django.security.csrf Forbidden (Origin checking failed): /stop/"
    ]


@pytest.mark.django_db
def test_an_error_is_logged_by_its_frames_and_types(lines: list[str]) -> None:
    request = RequestFactory().get(f"/join/{TOKEN}/")
    try:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT %s::int", [f"not {DIGITS}"])
        except Exception as cause:
            raise IntegrityError(f"Key (number)=({DIGITS}) already exists.") from cause
    except IntegrityError as error:
        answer = HttpResponse(status=500)
        log_response("%s: %s", "Internal Server Error", request.path, response=answer, request=request, exception=error)
    [line] = lines
    assert DIGITS not in line
    assert TOKEN not in line
    shown = line.splitlines()
    assert without_time(shown[0]) == "ERROR django.request Internal Server Error: an address we do not have"
    assert shown[-1] == "IntegrityError"
    assert "InvalidTextRepresentation" in shown
    assert f'  File "{__file__}", line ' in line


def test_a_task_that_raised_is_logged_without_its_errors_words(lines: list[str]) -> None:
    error = ValueError(f"no row for {DIGITS}")
    context = {"id": "1", "name": "accounts.send_mail", "exc": repr(error), "traceback": DIGITS, "args": "()"}
    logging.getLogger("celery.app.trace").error(
        "Task %(name)s[%(id)s] raised unexpected: %(exc)s", context, exc_info=error, extra={"data": context}
    )
    assert [without_time(line) for line in lines] == [
        "ERROR celery.app.trace Task accounts.send_mail[1] raised unexpected: ValueError\nValueError"
    ]


def test_a_suspicious_request_is_logged_by_the_type_of_what_was_wrong(lines: list[str]) -> None:
    request = RequestFactory().get(f"/join/{TOKEN}/")
    try:
        raise ValueError(DIGITS)
    except ValueError as error:
        logging.getLogger("django.security.SuspiciousOperation").error(
            str(error), exc_info=error, extra={"request": request}
        )
    [line] = lines
    assert DIGITS not in line
    assert without_time(line.splitlines()[0]) == (
        "ERROR django.security.SuspiciousOperation ValueError: an address we do not have"
    )
