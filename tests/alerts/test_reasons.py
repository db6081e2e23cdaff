"""Failure reasons: the table, and which sign of the carrier leads to which."""

import pytest

from alerts.carriers.reasons import REASONS, reason_for, was_not_picked_up

TEXTS = {
    "R01": "The phone was off or out of reach.",
    "R02": "The number isn't valid or isn't in service.",
    "R03": "This number can't receive texts.",
    "R04": "This number isn't on WhatsApp.",
    "R05": "The person stopped alerts to this number.",
    "R06": "The carrier blocked the text as spam.",
    "R07": "BreakPass can't reach this country or network right now.",
    "R08": "The line was busy.",
    "R09": "The call couldn't be connected.",
    "R10": "WhatsApp refused the message content.",
    "R11": "WhatsApp limited delivery.",
    "R12": "A BreakPass sending number or setting has a problem.",
    "R13": "The delivery network had an error.",
    "R14": "It couldn't be delivered in time.",
    "R15": "The delivery failed for an unknown reason.",
}
CODES = {
    "R01": "30003 30017",
    "R02": "21211 21214 21217 13224 13226 30005",
    "R03": "21614 21635 30006 21612",
    "R04": "63003 63024",
    "R05": "21610 63014 63033",
    "R06": "30004 30007 30450 63026",
    "R07": "21408 21215 13227 21203 21703 30018 30024",
    "R09": "32017 32203 13225 21216",
    "R10": "63005 63013 63016 63021 63027 63028 63040 63041 63042 21654 21655 21656",
    "R11": "63017 63018 63032 63038 63049",
    "R12": "20003 21210 21603 21606 21608 21609 30002 30022 30023 30032 30033 30034 30035 63001 63007 63020 63051",
    "R13": "21611 30001 30410 30500 63010 63012 20429 20500",
    "R14": "30036",
    "R15": "30008 39999 1 99999",
}


def test_the_words_of_every_reason() -> None:
    assert {code: reason.text for code, reason in REASONS.items()} == TEXTS


@pytest.mark.parametrize(
    ("code", "error"), [(code, int(error)) for code, many in CODES.items() for error in many.split()]
)
def test_a_carrier_code_leads_to_its_reason(code: str, error: int) -> None:
    assert reason_for(error).code == code
    assert reason_for(error).text == TEXTS[code]


@pytest.mark.parametrize(
    ("sip", "status", "code"),
    [
        (404, "failed", "R02"),
        (484, "failed", "R02"),
        (604, "failed", "R02"),
        (486, "failed", "R08"),
        (600, "failed", "R08"),
        (486, "busy", "R08"),
        (None, "busy", "R08"),
        (500, "failed", "R09"),
        (503, "failed", "R09"),
        (603, "failed", "R09"),
        (488, "failed", "R09"),
    ],
)
def test_a_call_that_fails_is_explained_by_its_sip_code(sip: int | None, status: str, code: str) -> None:
    assert reason_for(None, sip=sip, status=status).code == code


def test_a_failure_without_a_sign_is_unknown_and_a_call_that_failed_was_not_connected() -> None:
    assert reason_for(None).code == "R15"
    assert reason_for(None, status="failed").code == "R15"
    assert reason_for(None, status="undelivered").code == "R15"
    assert reason_for(None, status="canceled").code == "R15"
    assert reason_for(None, status="failed", is_call=True).code == "R09"
    assert reason_for(39999, status="failed", is_call=True).code == "R15"


def test_a_code_says_more_than_the_status_of_the_answer_that_held_it() -> None:
    assert reason_for(None, http=500).code == "R13"
    assert reason_for(None, http=429).code == "R13"
    assert reason_for(20429, http=429).code == "R13"
    assert reason_for(21211, http=400).code == "R02"
    assert reason_for(None, http=400).code == "R15"


def test_busy_is_charged_reduced_spam_may_be_charged_and_all_else_is_released() -> None:
    assert {code: reason.money for code, reason in REASONS.items() if reason.money != "release"} == {
        "R08": "reduced",
        "R06": "release_or_charge",
    }


def test_staff_hear_of_what_only_they_can_mend() -> None:
    assert {code for code, reason in REASONS.items() if reason.tells_staff} == {"R10", "R12"}


def test_an_sms_may_follow_only_after_these() -> None:
    assert {code for code, reason in REASONS.items() if reason.allows_fallback} == {
        *("R01", "R03", "R04", "R06", "R07", "R10", "R11", "R12", "R15")
    }
    assert reason_for(63010).allows_fallback
    assert not reason_for(None, http=500).allows_fallback


def test_a_number_that_is_wrong_is_flagged_and_one_without_whatsapp_is_marked() -> None:
    assert {code for code, reason in REASONS.items() if reason.flags_number} == {"R02"}
    assert {code for code, reason in REASONS.items() if reason.marks_whatsapp_no} == {"R04"}


def test_stopping_by_sms_stops_everything_and_blocking_on_whatsapp_only_that() -> None:
    stopped, blocked = reason_for(21610), reason_for(63014)
    assert (stopped.opts_out, stopped.pauses_whatsapp, stopped.allows_fallback) == (True, False, False)
    assert (blocked.opts_out, blocked.pauses_whatsapp, blocked.allows_fallback) == (False, True, True)
    assert reason_for(63033) == blocked


def test_a_call_that_rang_out_is_not_a_failure_with_a_reason() -> None:
    assert was_not_picked_up("no-answer")
    assert was_not_picked_up("failed", sip=480)
    assert was_not_picked_up("failed", sip=487)
    assert not was_not_picked_up("failed", sip=404)
    assert not was_not_picked_up("failed")
    assert not was_not_picked_up("busy", sip=486)
    assert not was_not_picked_up("canceled")
