"""Content templates: their texts, their approval by WhatsApp, and the check of the variables put into them."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from sandbox.config import Config
from sandbox.problems import ApiError
from sandbox.records import Button

Approval = Literal["unsubmitted", "received", "pending", "approved", "rejected", "paused", "disabled"]
APPROVALS = frozenset({"unsubmitted", "received", "pending", "approved", "rejected", "paused", "disabled"})
# What a message with a template in this state fails with, outside the 24 hours in which free text is allowed.
APPROVAL_ERRORS: dict[str, int] = {"rejected": 63040, "paused": 63041, "disabled": 63042}
NOT_APPROVED = 63016

_VARIABLE = re.compile(r"\{\{(\w+)\}\}")
_FORBIDDEN = re.compile(r"[\n\r\t]| {5,}")
BUTTON_TITLE = "Acknowledge"


@dataclass(frozen=True, slots=True)
class Template:
    """One template. `button` is the quick reply's payload, which may hold a variable; empty: no button."""

    sid: str
    name: str
    body: str
    button: str = ""
    button_title: str = BUTTON_TITLE
    approval: Approval = "approved"
    category: str = "UTILITY"
    rejection_reason: str = ""

    @property
    def variables(self) -> list[str]:
        """The names of its variables, in order."""
        names = _VARIABLE.findall(self.body + self.button)
        return sorted(set(names), key=lambda name: (len(name), name))

    @property
    def content_type(self) -> str:
        """The Content API's word for its kind."""
        return "twilio/quick-reply" if self.button else "twilio/text"

    def as_json(self, account_sid: str, base_url: str, at: str) -> dict[str, Any]:
        """The Content resource."""
        types: dict[str, Any] = {self.content_type: {"body": self.body}}
        if self.button:
            action = {"type": "QUICK_REPLY", "title": self.button_title, "id": self.button}
            types[self.content_type]["actions"] = [action]
        url = f"{base_url}/v1/Content/{self.sid}"
        return {
            "sid": self.sid,
            "account_sid": account_sid,
            "friendly_name": self.name,
            "language": "en",
            "variables": {name: f"example {name}" for name in self.variables},
            "types": types,
            "date_created": at,
            "date_updated": at,
            "url": url,
            "links": {
                "approval_create": f"{url}/ApprovalRequests/whatsapp",
                "approval_fetch": f"{url}/ApprovalRequests",
            },
        }

    def approval_json(self, account_sid: str, base_url: str) -> dict[str, Any]:
        """The ApprovalFetch resource."""
        return {
            "sid": self.sid,
            "account_sid": account_sid,
            "whatsapp": {
                "type": "whatsapp",
                "name": self.name,
                "category": self.category,
                "content_type": self.content_type,
                "status": self.approval,
                "rejection_reason": self.rejection_reason,
                "allow_category_change": False,
            },
            "url": f"{base_url}/v1/Content/{self.sid}/ApprovalRequests",
        }

    def fill(self, variables: dict[str, str]) -> tuple[str, tuple[Button, ...]]:
        """The message with its variables, and its buttons."""

        def value(found: re.Match[str]) -> str:
            return variables[found[1]]

        body = _VARIABLE.sub(value, self.body)
        if not self.button:
            return body, ()
        return body, (Button(self.button_title, _VARIABLE.sub(value, self.button)),)


class Templates:
    """The account's templates. A test changes one's approval or text and the product has to notice."""

    def __init__(self, config: Config) -> None:
        self._original = [
            Template(config.template_alert, "breakpass_alert", config.body_alert),
            Template(config.template_alert_ack, "breakpass_alert_ack", config.body_alert_ack, button="{{3}}"),
            Template(config.template_code, "breakpass_code", config.body_code),
        ]
        self._by_sid: dict[str, Template] = {}
        self.reset()

    def reset(self) -> None:
        """All as they were, and approved."""
        self._by_sid = {template.sid: template for template in self._original}

    def find(self, sid: str) -> Template | None:
        """The template with this SID."""
        return self._by_sid.get(sid)

    def listed(self) -> list[Template]:
        """All templates."""
        return list(self._by_sid.values())

    def change(self, sid: str, **changes: Any) -> Template:
        """Change `approval`, `body`, `button`, `button_title`, `category`. `KeyError`, `ValueError` for what is not."""
        if changes.get("approval", "approved") not in APPROVALS:
            raise ValueError("There is no such approval status.")
        try:
            self._by_sid[sid] = replace(self._by_sid[sid], **changes)
        except TypeError as error:
            raise ValueError(str(error)) from error
        return self._by_sid[sid]

    def remove(self, sid: str) -> None:
        """Delete a template."""
        self._by_sid.pop(sid, None)


def read_variables(template: Template, text: str) -> dict[str, str]:
    """ContentVariables as WhatsApp takes them. Refuses (21656) all else: not an object of strings, one missing or too
    many, an empty one, or one with a line break, a tab or more than four spaces in a row."""
    try:
        found = json.loads(text) if text else {}
    except json.JSONDecodeError as error:
        raise ApiError(21656) from error
    if not isinstance(found, dict) or set(found) != set(template.variables):
        raise ApiError(21656)
    for value in found.values():
        if not isinstance(value, str) or not value.strip() or _FORBIDDEN.search(value):
            raise ApiError(21656)
    return found
