"""Why a delivery failed, as people read it: R01 to R15, and what follows from each (behaviour, Failure reasons)."""

from dataclasses import dataclass, replace
from typing import Literal

Money = Literal["release", "reduced", "release_or_charge"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One failure reason: its words, what the alert does next, what happens to the money, and whom it concerns.

    `money` is `release_or_charge` where a text blocked as spam is charged after the fifth failed send of a UTC day.
    """

    code: str
    text: str
    # One SMS may follow, where this was a WhatsApp message.
    allows_fallback: bool = False
    # This channel is not tried again in the alert; other channels are.
    stops_channel: bool = False
    money: Money = "release"
    tells_staff: bool = False
    marks_whatsapp_no: bool = False
    pauses_whatsapp: bool = False
    flags_number: bool = False
    opts_out: bool = False


_TABLE = (
    Reason("R01", "The phone was off or out of reach.", allows_fallback=True),
    Reason("R02", "The number isn't valid or isn't in service.", stops_channel=True, flags_number=True),
    Reason("R03", "This number can't receive texts.", stops_channel=True, allows_fallback=True),
    Reason("R04", "This number isn't on WhatsApp.", allows_fallback=True, stops_channel=True, marks_whatsapp_no=True),
    Reason("R05", "The person stopped alerts to this number.", opts_out=True),
    Reason(
        "R06",
        "The carrier blocked the text as spam.",
        allows_fallback=True,
        stops_channel=True,
        money="release_or_charge",
    ),
    Reason(
        "R07",
        "BreakPass can't reach this country or network right now.",
        allows_fallback=True,
        stops_channel=True,
    ),
    Reason("R08", "The line was busy.", money="reduced"),
    Reason("R09", "The call couldn't be connected."),
    Reason("R10", "WhatsApp refused the message content.", allows_fallback=True, tells_staff=True),
    Reason("R11", "WhatsApp limited delivery.", allows_fallback=True),
    Reason("R12", "A BreakPass sending number or setting has a problem.", allows_fallback=True, tells_staff=True),
    Reason("R13", "The delivery network had an error."),
    Reason("R14", "It couldn't be delivered in time."),
    Reason("R15", "The delivery failed for an unknown reason.", allows_fallback=True),
)
REASONS = {reason.code: reason for reason in _TABLE}

UNKNOWN = REASONS["R15"]
NETWORK_ERROR = REASONS["R13"]
# Blocked on WhatsApp alone: the person may still be reached otherwise.
BLOCKED_ON_WHATSAPP = replace(REASONS["R05"], opts_out=False, pauses_whatsapp=True, allows_fallback=True)
# A failure that the carrier has confirmed, unlike an outcome nobody knows.
CONFIRMED_NETWORK_ERROR = replace(NETWORK_ERROR, allows_fallback=True)

_CODES: dict[str, tuple[int, ...]] = {
    "R01": (30003, 30017),
    "R02": (21211, 21214, 21217, 13224, 13226, 30005),
    "R03": (21614, 21635, 30006, 21612),
    "R04": (63003, 63024),
    "R05": (21610,),
    "R06": (30004, 30007, 30450, 63026),
    "R07": (21408, 21215, 13227, 21203, 21703, 30018, 30024),
    "R09": (32017, 32203, 13225, 21216),
    "R10": (63005, 63013, 63016, 63021, 63027, 63028, 63040, 63041, 63042, 21654, 21655, 21656),
    "R11": (63017, 63018, 63032, 63038, 63049),
    "R12": (
        *(20003, 21210, 21603, 21606, 21608, 21609, 30002, 30022, 30023, 30032, 30033, 30034, 30035),
        *(63001, 63007, 63020, 63051),
    ),
    "R14": (30036,),
}
_BY_CODE: dict[int, Reason] = {code: REASONS[name] for name, codes in _CODES.items() for code in codes}
_BY_CODE |= dict.fromkeys((63014, 63033), BLOCKED_ON_WHATSAPP)
_BY_CODE |= dict.fromkeys((21611, 30001, 30410, 30500, 63010, 63012, 20500, 20503, 20504), CONFIRMED_NETWORK_ERROR)
_BY_CODE |= {20429: NETWORK_ERROR}

_INVALID_SIP = frozenset({404, 484, 604})
_BUSY_SIP = frozenset({486, 600})
_NOT_PICKED_UP_SIP = frozenset({480, 487})


def reason_for(
    error_code: int | None,
    *,
    sip: int | None = None,
    status: str | None = None,
    http: int | None = None,
    is_call: bool = False,
) -> Reason:
    """The reason behind a failed send, from the most telling sign the carrier gave; R15 when none is known.

    `status` is the carrier's word for how it ended; `sip` a call's SIP response; `http` the status of its refusal.
    A call nobody picked up has no reason (`was_not_picked_up`); it is not asked for here.
    """
    if error_code is not None and error_code in _BY_CODE:
        return _BY_CODE[error_code]
    if http is not None and (http == 429 or http >= 500):
        return NETWORK_ERROR
    if sip in _INVALID_SIP:
        return REASONS["R02"]
    if status == "busy" or sip in _BUSY_SIP:
        return REASONS["R08"]
    if sip is not None and (500 <= sip < 600 or sip == 603):
        return REASONS["R09"]
    if status == "failed" and error_code is None and (is_call or sip is not None):
        return REASONS["R09"]
    return UNKNOWN


def was_not_picked_up(status: str, *, sip: int | None = None) -> bool:
    """True for a call that rang and nobody answered: charged the reduced fee, no failure reason (cases, 13)."""
    return status == "no-answer" or (status == "failed" and sip in _NOT_PICKED_UP_SIP)
