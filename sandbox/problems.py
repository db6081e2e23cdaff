"""Twilio's refusals: a code, a sentence and an HTTP status."""

from typing import Any

_SENTENCES = {
    20001: "A parameter is not known to this resource.",
    20003: "Authenticate",
    20004: "This method is not allowed on this resource.",
    20404: "The requested resource was not found.",
    20429: "Too many requests.",
    20500: "An internal server error has occurred.",
    20503: "The service is unavailable.",
    21201: "No 'To' number was given.",
    21205: "The 'Url' is not a valid address.",
    21210: "The 'From' number is not verified for calls on this account.",
    21211: "The 'To' number is not a valid phone number.",
    21212: "The 'From' number is not a valid phone number.",
    21213: "No 'From' number was given.",
    21214: "The 'To' number cannot be reached.",
    21215: "The account may not call this number's region.",
    21216: "The account may not call this number.",
    21217: "The phone number does not seem to be valid.",
    21218: "The ApplicationSid is not valid.",
    21220: "The call is not in a state in which it can be changed so.",
    21266: "'To' and 'From' are the same number.",
    21408: "Sending to this number's region is not enabled for the account.",
    21601: "The number cannot receive messages.",
    21602: "A message body is required.",
    21603: "A 'From' number is required.",
    21604: "A 'To' number is required.",
    21606: "The 'From' number is not a number of this account that can send messages.",
    21609: "The 'StatusCallback' is not a valid address.",
    21610: "Attempt to send to a recipient who has unsubscribed.",
    21611: "The 'From' number has too many messages waiting.",
    21612: "This 'To' number cannot be reached from this 'From' number.",
    21614: "The 'To' number is not a mobile number.",
    21617: "The message body is longer than 1600 characters.",
    21620: "A media address is not valid.",
    21624: "The validity period is not between 1 and 36000 seconds.",
    21654: "A ContentSid is required.",
    21655: "The ContentSid is not valid.",
    21656: "The ContentVariables are not valid.",
    21701: "The Messaging Service does not exist.",
    21910: "'From' and 'To' are not of the same channel.",
    63007: "There is no channel with this 'From' address.",
}
_STATUSES = {20003: 401, 20004: 405, 20404: 404, 20429: 429, 20500: 500, 20503: 503}


class ApiError(Exception):
    """A request refused, as the REST API says it."""

    def __init__(self, code: int, *, status: int | None = None, headers: dict[str, str] | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.status = status or _STATUSES.get(code, 400)
        self.headers = headers or {}

    def as_json(self) -> dict[str, Any]:
        """The body of the answer."""
        return {
            "code": self.code,
            "message": _SENTENCES.get(self.code, f"The request failed with error {self.code}."),
            "more_info": f"https://www.twilio.com/docs/errors/{self.code}",
            "status": self.status,
        }
