"""The one way the domain says no: a refusal that every edge knows how to present."""

from collections.abc import Mapping
from typing import Any


class Refusal(Exception):
    """A rule refused an operation; nothing was changed.

    `code` and `message` are the contract's (seed 001, Errors); `details` is JSON-ready; `retry_after_s` is whole
    seconds, at least 1, where waiting helps. Never carries a phone number, country, carrier code or message text.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        self.retry_after_s = retry_after_s

    def as_error(self) -> dict[str, Any]:
        """The contract's `error` object: code, message, and the optional members only when they say something."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.retry_after_s is not None:
            error["retry_after_s"] = self.retry_after_s
        if self.details:
            error["details"] = self.details
        return error
