"""A lost answer is made good by what the carrier has, and never by what is somebody else's (cases, 12)."""

from datetime import timedelta

import pytest

from accounts.models import Account, Number, VerificationCode
from alerts import delivery, outbox
from alerts.carriers.base import Report, Unknown
from alerts.claiming import claim
from alerts.models import Attempt
from tests.alerts.rows import NOON, Step, first_of, make_account, make_alert, make_number, money_of
from tests.carrier import FakeCarrier

pytestmark = pytest.mark.django_db
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
SID = f"SM{5:032x}"
DELIVERED = Report(source="asked", sid=SID, status="delivered")


def code_by_call(number: Number, *, sid: str) -> VerificationCode:
    """A verification code that was read out to the same number by a call."""
    return VerificationCode.objects.create(
        number=number,
        number_hash=number.holder.number_hash,
        account=number.account,
        channel="call",
        code_hash="0" * 64,
        created_at=NOON,
        expires_at=NOON + 10 * MINUTE,
        claimed_at=NOON,
        carrier_sid=sid,
    )


def as_it_stands(attempt: Attempt) -> tuple[str, str, str]:
    attempt.refresh_from_db()
    return attempt.status, attempt.carrier_sid, attempt.failure_code


def test_what_may_be_another_request_s_is_left_to_it_until_that_one_knows(account: Account, number: Number) -> None:
    lost, slow = first_of(make_alert(number)), first_of(make_alert(number))
    claim(lost.pk, NOON)  # its worker dies before the request
    claim(slow.pk, NOON)  # its request arrives, and the answer takes long
    carrier = FakeCarrier(finds=[DELIVERED])
    delivery.look_after(lost.pk, NOON + 30 * SECOND, carrier=carrier, clock=lambda: NOON + 30 * SECOND)
    assert as_it_stands(lost) == ("sending", "", "")
    callback = Report(source="callback", sid=SID, status="delivered")
    assert delivery.record(str(slow.ref), callback, now=NOON + 31 * SECOND) is True
    for minutes in range(1, 4):
        outbox.sweep(NOON + minutes * MINUTE, carrier=carrier)
    assert as_it_stands(slow) == ("delivered", SID, "")
    assert as_it_stands(lost) == ("failed", "", "PROVIDER_ERROR")
    assert money_of(account) == (993, 0)


def test_the_other_request_may_be_another_account_s(number: Number) -> None:
    elsewhere = make_number(make_account())
    lost, slow = first_of(make_alert(number)), first_of(make_alert(elsewhere))
    claim(lost.pk, NOON)
    claim(slow.pk, NOON)
    outbox.sweep(NOON + 30 * SECOND, carrier=FakeCarrier(finds=[DELIVERED]))
    assert (as_it_stands(lost)[1], as_it_stands(slow)[1]) == ("", "")


def test_two_lost_answers_take_one_message_each(account: Account, number: Number) -> None:
    lost = [first_of(make_alert(number)), first_of(make_alert(number))]
    for attempt in lost:
        delivery.send_attempt(attempt.pk, NOON, carrier=FakeCarrier(answers=[Unknown()]))
    other = f"SM{6:032x}"
    carrier = FakeCarrier(finds=[DELIVERED, Report(source="asked", sid=other, status="delivered")])
    outbox.sweep(NOON + 5 * SECOND, carrier=carrier)
    assert {as_it_stands(attempt)[:2] for attempt in lost} == {("delivered", SID), ("delivered", other)}
    assert money_of(account) == (986, 0)


def test_two_lost_answers_and_one_message_end_as_one_delivery(account: Account, number: Number) -> None:
    lost = [first_of(make_alert(number)), first_of(make_alert(number))]
    for attempt in lost:
        delivery.send_attempt(attempt.pk, NOON, carrier=FakeCarrier(answers=[Unknown()]))
    carrier = FakeCarrier(finds=[DELIVERED])
    outbox.sweep(NOON + 5 * SECOND, carrier=carrier)
    assert [as_it_stands(attempt)[0] for attempt in lost] == ["sending", "sending"]
    for minutes in range(1, 10):
        outbox.sweep(NOON + minutes * MINUTE, carrier=carrier)
    assert sorted(as_it_stands(attempt)[0] for attempt in lost) == ["delivered", "failed"]
    assert money_of(account) == (993, 0)


@pytest.mark.parametrize("sid", [f"CA{5:032x}", ""], ids=["known", "its answer still open"])
def test_a_call_that_reads_out_a_code_is_not_taken_for_a_lost_alert(account: Account, number: Number, sid: str) -> None:
    alert = make_alert(number, [Step(0, "call")])
    claim(first_of(alert).pk, NOON)
    code_by_call(number, sid=sid)
    found = Report(source="asked", sid=f"CA{5:032x}", status="completed", duration_s=20)
    outbox.sweep(NOON + 30 * SECOND, carrier=FakeCarrier(finds=[found]))
    assert as_it_stands(first_of(alert)) == ("sending", "", "")
    assert money_of(account) == (1000, 12)
