"""Every way to stop ends everything to the number, on every account, and tells each owner (cases, 16 and 17)."""

from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, Holder, Letter, Number, VerificationCode
from accounts.readiness import blockers
from alerts.carriers.base import Refused
from alerts.models import Attempt, CarrierEvent
from tests.accounts.sides import ADA, OPTED_OUT, Side, newest_digits
from tests.contract.course import Course, attempt_of, send, shown, start

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("load_rates", "course")]


def by_sms(course: Course, mine: Side, theirs: Side) -> None:
    """A text."""
    course.write(ADA, "Stop.")


def by_whatsapp(course: Course, mine: Side, theirs: Side) -> None:
    """A WhatsApp message, which stops the number, not the channel."""
    course.write(f"whatsapp:{ADA}", "STOP")


def by_the_carriers_word(course: Course, mine: Side, theirs: Side) -> None:
    """A word that only the carrier knows."""
    course.write(ADA, "διακοπή", OptOutType="STOP")


def by_key_9(course: Course, mine: Side, theirs: Side) -> None:
    """In a call from the other account."""
    code = send(theirs.agent, "call", recipient="Ada")
    course.run()
    course.press(course.pick_up(code, 1), "stop", "9", call_sid=attempt_of(code, 1).carrier_sid)


def by_page(course: Course, mine: Side, theirs: Side) -> None:
    """On the public page, with the code that it sends."""
    client = Client()
    client.post(reverse("stop"), {"country": "US", "number": ADA, "channel": "sms"})
    assert client.post(reverse("stop-code"), {"code": newest_digits()}).status_code == 200


def by_email(course: Course, mine: Side, theirs: Side) -> None:
    """To the support address; staff do it."""
    call_command("stop_number", ADA)


def by_answer(course: Course, mine: Side, theirs: Side) -> None:
    """The carrier refuses a send: the person stopped us there."""
    course.carrier.answers = [Refused(21610, 400)]
    send(theirs.agent, "sms", recipient="Ada")
    course.run()


def by_callback(course: Course, mine: Side, theirs: Side) -> None:
    """The carrier took it and says so later."""
    code = send(theirs.agent, "sms", recipient="Ada")
    course.run()
    course.report(code, 1, "failed", ErrorCode=21610)


def by_code(course: Course, mine: Side, theirs: Side) -> None:
    """The carrier refuses a code that was sent to the number."""
    course.carrier.answers = [Refused(21610, 400)]
    theirs.invite()
    course.run()


WAYS: list[Callable[[Course, Side, Side], None]] = [
    *(by_sms, by_whatsapp, by_the_carriers_word, by_key_9, by_page, by_email, by_answer, by_callback, by_code)
]


@pytest.mark.parametrize("stop", WAYS, ids=lambda way: way.__name__)
def test_every_way_to_stop_stops_everything_everywhere(
    course: Course, mine: Side, theirs: Side, stop: Callable[[Course, Side, Side], None]
) -> None:
    running = start(mine.agent, "acknowledge", recipient="Ada")
    course.run()
    course.report(running, 1, "delivered")
    course.wait(minutes=1)
    stop(course, mine, theirs)
    assert mine.number.is_opted_out()
    assert theirs.number.is_opted_out()
    for side in (mine, theirs):
        assert side.refusals() == [OPTED_OUT] * 4
        # For setup she still counts as verified (behaviour, Numbers).
        [entry] = [one for one in side.agent.call("get_setup_status")["recipients"] if one["name"] == "Ada"]
        assert entry["verified"] is True
        assert blockers(side.account) == []
    alert = shown(mine.agent, running)
    assert (alert["status"], alert["failure"]["code"], alert["failure"]["reason"]) == (
        "failed",
        "RECIPIENT_OPTED_OUT",
        "R05",
    )
    assert [one["failure_code"] for one in alert["attempts"]] == [None, *["RECIPIENT_OPTED_OUT"] * 2]
    assert not Attempt.objects.filter(held_at__isnull=False, settlement="").exists()
    sent_before = len(course.sent)
    mine.invite()
    theirs.invite("whatsapp")
    course.wait(minutes=45)
    assert len(course.sent) == sent_before
    # Each owner is told once, in our words.
    letters = list(
        Letter.objects.filter(kind="opted_out").order_by("account_id").values_list("account_id", "kind", "subject")
    )
    assert letters == [(side.account.pk, "opted_out", "Ada stopped BreakPass alerts") for side in (mine, theirs)]
    body = Letter.objects.get(account=mine.account, kind="opted_out").body
    for hidden in ("Stop.", "STOP", "διακοπή", "5550171", "press", "21610"):
        assert hidden not in body


@pytest.mark.parametrize(
    "word",
    [
        *("STOP", "stop", " Stop \n", "stop!", "«stop»", "STOPALL", "StopAll.", "UNSUBSCRIBE", "cancel", "END", "quit"),
        *("revoke", "OPTOUT", "opt out", "Opt-Out", "ARRET", "Arrêt", "arrêt.", "PARAR", "Baja", "baja,", "STOPP"),
        *("Stop. Thank you", "STOP, please"),
    ],
)
@pytest.mark.parametrize("channel", ["", "whatsapp:"])
def test_every_form_of_a_stop_word(course: Course, mine: Side, word: str, channel: str) -> None:
    course.write(f"{channel}{ADA}", word)
    assert mine.agent.refusal("send_sms", {"message": "Hello.", "recipient": "Ada"}) == OPTED_OUT
    assert Holder.objects.get(pk=mine.number.holder_id).opted_out_via == ("whatsapp" if channel else "sms")
    kept = [str(event.params) + event.status + event.kind for event in CarrierEvent.objects.all()]
    assert kept == ["{'ApiVersion': '2010-04-01'}inboundinbound_stop"]


@pytest.mark.parametrize(
    "body", ["don't stop", "stopping by", "please stop", "stop it", "ending", "cancelled", "START", "help", "", "🛑"]
)
def test_what_is_no_stop_word_stops_nothing(course: Course, mine: Side, body: str) -> None:
    course.write(ADA, body)
    assert not mine.number.is_opted_out()
    assert send(mine.agent, "sms", recipient="Ada").startswith("A-")
    assert not Letter.objects.filter(kind="opted_out").exists()


def test_staff_hear_whether_it_changed_anything_and_the_number_is_in_no_answer(
    mine: Side, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("stop_number", "+1 202 555 0171")
    call_command("stop_number", ADA)
    assert capsys.readouterr().out == '{"changed": true}\n{"changed": false}\n'
    assert Holder.objects.get(pk=mine.number.holder_id).opted_out_via == "email"
    with pytest.raises(CommandError, match=r"^Enter a phone number with \+ and its country code\.$"):
        call_command("stop_number", "Ada")


def test_staff_can_stop_a_number_that_was_never_met(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("stop_number", ADA)
    side = Side("+12025550143", is_verified=False)
    assert side.refusals() == [OPTED_OUT] * 4


# --- the stop page


def ask_to_stop(client: Client) -> int:
    """Enter Ada's number on the public page; how many codes there are now."""
    client.post(reverse("stop"), {"country": "US", "number": ADA, "channel": "sms"})
    return VerificationCode.objects.count()


def test_proving_a_number_in_order_to_stop_it_agrees_to_nothing(mine: Side) -> None:
    side = Side("+12025550144", is_verified=False)
    Number.objects.filter(account=side.account).exclude(pk=side.number_pk).delete()
    Number.objects.filter(pk=mine.number_pk).delete()
    Account.objects.filter(pk=side.account.pk).update(is_paused_until_verified=True)
    client = Client()
    assert ask_to_stop(client) == 1
    client.post(reverse("stop-code"), {"code": newest_digits()})
    assert side.number.is_opted_out()
    assert side.number.verified_at is None
    side.account.refresh_from_db()
    assert side.account.is_paused_until_verified is True
    assert side.agent.call("get_setup_status")["account_state"] == "verification_needed"


def test_the_page_reaches_a_number_that_is_on_again_somewhere(course: Course, mine: Side, theirs: Side) -> None:
    course.write(ADA, "STOP")
    course.wait(minutes=5)
    Number.objects.filter(pk=mine.number_pk).update(verified_at=None)
    assert ask_to_stop(Client()) == 0
    Number.objects.filter(pk=theirs.number_pk).update(verified_at=timezone.now())
    course.wait(minutes=5)
    client = Client()
    assert ask_to_stop(client) == 1
    client.post(reverse("stop-code"), {"code": newest_digits()})
    assert theirs.refusals() == [OPTED_OUT] * 4


def test_the_page_goes_by_an_account_that_may_send(mine: Side, theirs: Side) -> None:
    Account.objects.filter(pk=min(mine.account.pk, theirs.account.pk)).update(status="suspended")
    assert ask_to_stop(Client()) == 1
    assert VerificationCode.objects.get().account_id == max(mine.account.pk, theirs.account.pk)
