"""Signing in and up by e-mail code: the same answer to everyone until the address is proven."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from time_machine import TimeMachineFixture

from accounts.models import Account, Member, User
from mcp_gateway.models import Application
from tests.gateway import flow

pytestmark = pytest.mark.django_db
NEEDS_ACCOUNT = b"You need a BreakPass account"


def code_in_mail() -> str:
    """The code of the last mail."""
    found = re.search(r"\b\d{6}\b", str(mail.outbox[-1].body))
    assert found
    return found.group()


def wrong(code: str) -> str:
    """Six digits that are not the code."""
    return f"{(int(code) + 1) % 1_000_000:06d}"


def ask(client: Client, email: str, **more: str) -> Any:
    """Ask for a code."""
    return client.post("/sign-in/", {"email": email, **more})


def test_a_known_address_signs_in_with_its_code(client: Client, owner: User) -> None:
    response = ask(client, owner.email.upper())
    assert (response.status_code, response["Location"]) == (302, "/sign-in/code/")
    assert mail.outbox[-1].to == [owner.email]
    assert mail.outbox[-1].subject == "Your BreakPass code"
    page = client.get("/sign-in/code/")
    assert b"one-time-code" in page.content
    entered = client.post("/sign-in/code/", {"code": code_in_mail()})
    assert (entered.status_code, entered["Location"]) == (302, "/start/")
    assert client.session["_auth_user_id"] == str(owner.pk)


def test_known_and_unknown_addresses_get_the_same_answer(client: Client, owner: User) -> None:
    answers, letters = [], []
    for email in (owner.email, "nobody@example.com"):
        client.logout()
        response = ask(client, email)
        page = client.get("/sign-in/code/").content.decode().replace(email, "EMAIL")
        answers.append((response.status_code, response["Location"], re.sub(r'value="[^"]+"', "", page)))
        letters.append((mail.outbox[-1].subject, str(mail.outbox[-1].body).replace(code_in_mail(), "CODE")))
    assert answers[0] == answers[1]
    assert letters[0] == letters[1]


def test_an_unknown_address_is_told_after_its_code_and_no_account_is_made(client: Client, app: Application) -> None:
    target = flow.address(flow.request_of(app, "c" * 43))
    ask(client, "nobody@example.com", next=target)
    assert client.post("/sign-in/code/", {"code": wrong(code_in_mail())}).status_code == 422
    response = client.post("/sign-in/code/", {"code": code_in_mail()})
    assert response.status_code == 403
    assert NEEDS_ACCOUNT in response.content
    assert not User.objects.exists()
    assert not Account.objects.exists()
    assert "_auth_user_id" not in client.session


def test_signing_in_at_authorize_comes_back_to_the_consent_page(client: Client, owner: User, app: Application) -> None:
    target = flow.address(flow.request_of(app, "c" * 43))
    page = client.get(client.get(target)["Location"])
    assert b"An app asks for access" in page.content
    ask(client, owner.email, next=target)
    response = client.post("/sign-in/code/", {"code": code_in_mail()}, follow=True)
    assert b"Allow access?" in response.content


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "\\\\evil.example"]
)
def test_the_way_back_never_leads_off_this_site(client: Client, owner: User, target: str) -> None:
    ask(client, owner.email, next=target)
    assert client.post("/sign-in/code/", {"code": code_in_mail()})["Location"] == "/start/"


def test_five_wrong_codes_and_then_the_right_one_do_not_sign_in(client: Client, owner: User) -> None:
    ask(client, owner.email)
    code = code_in_mail()
    for left in (4, 3, 2, 1):
        page = client.post("/sign-in/code/", {"code": wrong(code)})
        expected = f"That isn&#x27;t the code. {left} {'try' if left == 1 else 'tries'} left."
        assert expected.encode() in page.content
    assert b"can&#x27;t be tried again" in client.post("/sign-in/code/", {"code": wrong(code)}).content
    assert b"Too many tries" in client.post("/sign-in/code/", {"code": code}).content
    assert "_auth_user_id" not in client.session


def test_a_new_code_works_after_a_void_one_and_the_old_one_does_not(client: Client, owner: User) -> None:
    ask(client, owner.email)
    old = code_in_mail()
    for _ in range(5):
        client.post("/sign-in/code/", {"code": wrong(old)})
    assert client.post("/sign-in/code/again/").status_code == 302
    new = code_in_mail()
    if old != new:
        assert client.post("/sign-in/code/", {"code": old}).status_code == 422
    assert client.post("/sign-in/code/", {"code": new}).status_code == 302


def test_a_code_expires_after_ten_minutes(client: Client, owner: User, clock: TimeMachineFixture) -> None:
    ask(client, owner.email)
    clock.shift(timedelta(minutes=10))
    page = client.post("/sign-in/code/", {"code": code_in_mail()})
    assert b"This code has expired. Ask for a new one." in page.content
    assert "_auth_user_id" not in client.session


def test_a_code_works_only_in_the_browser_that_asked_for_it(client: Client, stranger: Client, owner: User) -> None:
    ask(client, owner.email)
    response = stranger.post("/sign-in/code/", {"code": code_in_mail()})
    assert response["Location"] == "/sign-in/"
    assert "_auth_user_id" not in stranger.session


def test_a_used_code_is_void(client: Client, owner: User) -> None:
    ask(client, owner.email)
    challenge = client.session["mail_challenge"]
    client.post("/sign-in/code/", {"code": code_in_mail()})
    client.logout()
    session = client.session
    session["mail_challenge"] = challenge
    session.save()
    assert client.post("/sign-in/code/", {"code": code_in_mail()}).status_code == 422


def test_only_three_codes_a_minute_go_to_one_address(client: Client, owner: User) -> None:
    for _ in range(3):
        assert ask(client, owner.email).status_code == 302
    refused = ask(client, owner.email)
    assert refused.status_code == 422
    assert b"Too many codes were asked for." in refused.content
    assert len(mail.outbox) == 3
    assert client.post("/sign-in/code/again/").status_code == 429
    assert len(mail.outbox) == 3


def test_a_disabled_login_is_told_so_only_after_its_code(client: Client, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert ask(client, owner.email).status_code == 302
    response = client.post("/sign-in/code/", {"code": code_in_mail()})
    assert response.status_code == 403
    assert b"This login is disabled" in response.content
    assert "_auth_user_id" not in client.session


def test_signing_up_opens_an_account_with_its_owners_name(client: Client, db: None) -> None:
    response = client.post("/sign-up/", {"email": "New@Example.com", "name": "  Ada  Quill "})
    assert response["Location"] == "/sign-in/code/"
    assert not User.objects.exists()
    entered = client.post("/sign-in/code/", {"code": code_in_mail()})
    assert (entered.status_code, entered["Location"]) == (302, "/start/")
    member = Member.objects.get()
    assert (member.user.email, member.account.owner_name, member.is_owner) == ("new@example.com", "Ada Quill", True)
    assert not member.user.has_usable_password()


def test_signing_up_with_a_known_address_looks_the_same_and_signs_in(client: Client, owner: User) -> None:
    response = client.post("/sign-up/", {"email": owner.email, "name": "Mallory"})
    assert response["Location"] == "/sign-in/code/"
    client.post("/sign-in/code/", {"code": code_in_mail()})
    assert client.session["_auth_user_id"] == str(owner.pk)
    assert (User.objects.count(), Account.objects.get().owner_name) == (1, "Sam")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"email": "a@example.com", "name": ""}, b"This field is required."),
        ({"email": "a@example.com", "name": "Owner"}, b"has a meaning of its own"),
        ({"email": "a@example.com", "name": "x" * 31}, b"at most 30 characters"),
        ({"email": "not an address", "name": "Sam"}, b"Enter a valid email address."),
    ],
)
def test_a_sign_up_that_cannot_be_says_why_beside_the_field(
    client: Client, db: None, form: dict[str, str], error: bytes
) -> None:
    response = client.post("/sign-up/", form)
    assert response.status_code == 422
    assert error in response.content
    assert mail.outbox == []


def test_sign_up_can_be_closed(client: Client, db: None, settings: Any) -> None:
    settings.SIGN_UP_OPEN = False
    assert client.get("/sign-up/").status_code == 403
    assert client.post("/sign-up/", {"email": "a@example.com", "name": "Sam"}).status_code == 403
    assert b"/sign-up/" not in client.get("/sign-in/").content
    assert mail.outbox == []


def test_sign_up_closed_between_code_and_entry_makes_no_account(client: Client, db: None, settings: Any) -> None:
    client.post("/sign-up/", {"email": "a@example.com", "name": "Sam"})
    settings.SIGN_UP_OPEN = False
    response = client.post("/sign-in/code/", {"code": code_in_mail()})
    assert NEEDS_ACCOUNT in response.content
    assert not User.objects.exists()


def test_a_mail_that_cannot_leave_is_said_and_not_a_crash(
    client: Client, owner: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ConnectionRefusedError(owner.email)

    monkeypatch.setattr("django.core.mail.EmailMessage.send", fail)
    response = ask(client, owner.email)
    assert response.status_code == 422
    assert b"could not be sent" in response.content
    assert "ConnectionRefusedError" in caplog.text
    assert owner.email not in caplog.text


def test_signing_out_takes_a_press_of_a_button(browser: Client) -> None:
    assert browser.get("/sign-out/").status_code == 200
    assert "_auth_user_id" in browser.session
    assert browser.post("/sign-out/")["Location"] == "/sign-in/"
    assert "_auth_user_id" not in browser.session


def test_a_signed_in_browser_is_sent_on_unless_a_fresh_sign_in_is_asked_for(browser: Client) -> None:
    assert browser.get("/sign-in/")["Location"] == "/start/"
    assert browser.get("/sign-in/?again=1").status_code == 200
