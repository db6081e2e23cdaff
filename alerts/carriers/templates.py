"""The approved WhatsApp templates against what we expect of them: a mismatch is never sent (TEMPLATE_MISMATCH)."""

import logging
import re
from typing import Literal

from django.conf import settings
from django.core.cache import cache

from alerts.carriers.base import Carrier, CarrierProblem, Template, TemplateState
from alerts.carriers.twilio import content_sid
from breakpass.errors import Refusal

Verdict = Literal["fits", "differs", "unknown"]
VARIABLE = re.compile(r"\{\{(\w+)\}\}")
FITS_FOR_S, DIFFERS_FOR_S, UNKNOWN_FOR_S = 600, 60, 15
logger = logging.getLogger(__name__)


def fits(found: TemplateState, template: Template) -> bool:
    """Whether WhatsApp approved it and our values stand where we mean them to.

    Who and what, once each and in this order; the service's name around them; on `alert_ack` one button that sends our
    token back, and no such button elsewhere. The other words may be improved or translated at Twilio without a release.
    """
    payloads = [payload for _, payload in found.buttons if payload]
    return (
        found.approval == "approved"
        and VARIABLE.findall(found.body) == ["1", "2"]
        and settings.SERVICE_NAME in found.body
        and payloads == (["{{3}}"] if template == "alert_ack" else [])
    )


def known(template: Template) -> Verdict:
    """What the last look said, from the cache alone: usable under a lock, where nothing goes on the wire."""
    try:
        verdict = cache.get(_key(template))
    except Exception as error:  # a cache that is down stops nothing
        logger.warning("template verdict not read: %s", type(error).__name__)
        return "unknown"
    return verdict if verdict in ("fits", "differs") else "unknown"


def look(template: Template, carrier: Carrier) -> Verdict:
    """The cached verdict, else the carrier's template compared now. On the wire: never inside a transaction."""
    verdict = known(template)
    if verdict != "unknown" or not content_sid(template):
        return verdict
    try:
        if cache.get(f"{_key(template)}:asked"):
            return "unknown"
    except Exception as error:  # as above
        logger.warning("template verdict not read: %s", type(error).__name__)
    try:
        verdict = "fits" if fits(carrier.fetch_template(template), template) else "differs"
    except CarrierProblem:
        # Not there, or not to be read now: no proof of a difference. Sending says what is wrong, if anything.
        verdict = "unknown"
    try:
        if verdict == "unknown":
            cache.set(f"{_key(template)}:asked", True, UNKNOWN_FOR_S)
        else:
            cache.set(_key(template), verdict, FITS_FOR_S if verdict == "fits" else DIFFERS_FOR_S)
    except Exception as error:  # as above
        logger.warning("template verdict not kept: %s", type(error).__name__)
    return verdict


def for_alert(*, requires_ack: bool) -> Template:
    """The template an alert's WhatsApp messages use."""
    return "alert_ack" if requires_ack else "alert"


def check(template: Template) -> None:
    """Refuse when the last look found a difference. The cache alone: call `look` first, outside the lock."""
    if known(template) == "differs":
        raise Refusal("TEMPLATE_MISMATCH", "A WhatsApp message template failed its check, so nothing was sent.")


def _key(template: Template) -> str:
    return f"template:{template}:{content_sid(template)}"
