"""TwiML documents as verbs: what a call or an answer to an inbound message may say."""

from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET


class BadDocument(Exception):
    """A document that cannot be used. `code` is the number in Twilio's debugger."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Say:
    """Read a text aloud, `loop` times (0 is without end, held to 50)."""

    text: str
    loop: int = 1


@dataclass(frozen=True, slots=True)
class Pause:
    """Say nothing for so many seconds."""

    length_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Gather:
    """Listen for keys while the nested verbs are spoken and `timeout_s` after them. `num_digits` 0: no limit."""

    prompts: tuple[Say | Pause, ...] = ()
    listens_for_keys: bool = True
    num_digits: int = 0
    timeout_s: float = 5.0
    finish_on_key: str = "#"
    action: str = ""
    method: str = "POST"
    acts_on_empty: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """Go on with another document."""

    url: str
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Hangup:
    """End the call."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Refuse the call; of a call that we placed, the end."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer an inbound message with a message."""

    text: str


Verb = Say | Pause | Gather | Redirect | Hangup | Reject | Reply

ALLOWED = {
    "Say": {"voice", "language", "loop"},
    "Pause": {"length"},
    "Gather": {
        *("input", "action", "method", "timeout", "finishOnKey", "numDigits", "actionOnEmptyResult", "language"),
        *("speechTimeout", "hints", "profanityFilter", "bargeIn", "speechModel", "partialResultCallback", "enhanced"),
    },
    "Redirect": {"method"},
    "Hangup": set[str](),
    "Reject": {"reason"},
    "Message": {"to", "from", "action", "method"},
}
XML_TYPES = frozenset({"text/xml", "application/xml", "text/html"})


def parse(content_type: str, body: bytes) -> tuple[list[Verb], list[str]]:
    """The verbs of a document, and what was wrong with it but could be passed over (12200).

    Raises `BadDocument`: 12300 for a content type that is not XML, 12100 for what does not parse as a TwiML response.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in XML_TYPES:
        raise BadDocument(12300, f"content type {media_type or 'missing'}")
    # Entities are how small documents become huge ones, and TwiML has no use for a DTD.
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise BadDocument(12100, "a document type declaration")
    try:
        root = ET.fromstring(body)
    except ET.ParseError as error:
        raise BadDocument(12100, f"not XML: {error}") from error
    if root.tag != "Response":
        raise BadDocument(12100, f"the root is <{root.tag}>, not <Response>")
    warnings: list[str] = []
    return _verbs(root, warnings), warnings


def _verbs(parent: ET.Element, warnings: list[str]) -> list[Verb]:
    verbs: list[Verb] = []
    if (parent.text or "").strip() or any((child.tail or "").strip() for child in parent):
        warnings.append(f"text directly in <{parent.tag}>")
    for element in parent:
        allowed = ALLOWED.get(element.tag)
        if allowed is None:
            warnings.append(f"<{element.tag}> is not a verb the sandbox knows")
            continue
        unknown = sorted(set(element.attrib) - allowed)
        if unknown:
            warnings.append(f"<{element.tag}> has no attribute {', '.join(unknown)}")
        try:
            verbs.append(_verb(element, warnings))
        except ValueError as error:
            warnings.append(f"<{element.tag}>: {error}")
    return verbs


def _verb(element: ET.Element, warnings: list[str]) -> Verb:
    text = "".join(element.itertext()).strip()
    get: Any = element.attrib.get
    match element.tag:
        case "Say":
            loop = int(get("loop", "1"))
            return Say(text, 50 if loop == 0 else min(loop, 50))
        case "Pause":
            return Pause(float(get("length", "1")))
        case "Gather":
            nested = _verbs(element, warnings)
            prompts = tuple(verb for verb in nested if isinstance(verb, Say | Pause))
            if len(prompts) != len(nested):
                warnings.append("<Gather> holds only Say and Pause")
            return Gather(
                prompts=prompts,
                listens_for_keys="dtmf" in get("input", "dtmf").split(),
                num_digits=int(get("numDigits", "0")),
                timeout_s=5.0 if get("timeout", "5") == "auto" else float(get("timeout", "5")),
                finish_on_key=get("finishOnKey", "#"),
                action=get("action", ""),
                method=get("method", "POST").upper(),
                acts_on_empty=get("actionOnEmptyResult", "false").lower() == "true",
            )
        case "Redirect":
            return Redirect(text, get("method", "POST").upper())
        case "Hangup":
            return Hangup()
        case "Reject":
            return Reject()
    return Reply(text)
