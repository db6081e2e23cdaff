"""/authorize: what is refused before sign-in, the consent page, and what Allow and Deny do."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from oauth2_provider.models import get_grant_model

from accounts.models import Account, Connection, Letter, User
from mcp_gateway.models import Application
from tests.gateway import flow

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"resource": None}, "invalid_target"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": [settings.MCP_RESOURCE, "https://other.example"]}, "invalid_target"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"scope": "nope"}, "invalid_scope"),
        ({"response_type": "token"}, "unauthorized_client"),
        ({"prompt": "none"}, "login_required"),
    ],
)
def test_a_request_that_cannot_be_granted_goes_back_with_issuer_and_state_before_anyone_signs_in(
    stranger: Client, app: Application, changes: dict[str, Any], error: str
) -> None:
    response = stranger.get(flow.address(flow.request_of(app, flow.pkce()[1], **changes)))
    answer = flow.answer_of(response)
    assert response["Location"].startswith(flow.LOOPBACK + "?")
    assert (answer["error"], answer["iss"], answer["state"]) == (error, settings.BASE_URL, "st")


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "nobody"},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "http://127.0.0.1/other"},
        {"redirect_uri": "http://localhost/callback"},
        {"redirect_uri": "http://["},
        {"client_id": None},
        {"state": "\x00"},
        {"client_id": "\x00"},
    ],
)
def test_a_client_or_address_that_is_not_known_gets_a_page_and_no_redirect(
    stranger: Client, app: Application, changes: dict[str, Any]
) -> None:
    response = stranger.get(flow.address(flow.request_of(app, flow.pkce()[1], **changes)))
    assert response.status_code == 400
    assert "Location" not in response
    assert b"Nothing was granted" in response.content


def test_broken_percent_encoding_is_the_callers_fault(stranger: Client, app: Application) -> None:
    assert stranger.get("/authorize?client_id=%zz&response_type=code").status_code == 400


def test_a_good_request_asks_a_stranger_to_sign_in_and_comes_back(stranger: Client, app: Application) -> None:
    response = stranger.get(flow.address(flow.request_of(app, "c" * 43)))
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/?next=/authorize%3F")
    assert "client_id%3Dcheckout-monitor" in response["Location"]


def test_a_client_can_ask_for_a_fresh_sign_in(browser: Client, app: Application) -> None:
    response = browser.get(flow.address(flow.request_of(app, "c" * 43, prompt="login")))
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/?again=1&next=/authorize%3F")
    assert "prompt" not in response["Location"]


def test_granting_always_takes_a_person(browser: Client, app: Application) -> None:
    answer = flow.answer_of(browser.get(flow.address(flow.request_of(app, "c" * 43, prompt="none"))))
    assert (answer["error"], answer["iss"]) == ("consent_required", settings.BASE_URL)


def test_a_loopback_redirect_may_use_any_port(browser: Client, app: Application) -> None:
    asked = flow.request_of(app, "c" * 43, redirect_uri="http://127.0.0.1:49152/callback")
    assert browser.get(flow.address(asked)).status_code == 200


def test_the_consent_page_shows_an_unverified_name_the_account_and_where_access_goes(
    browser: Client, app: Application, owner: User
) -> None:
    asked = flow.request_of(app, "c" * 43, redirect_uri="https://agent.example/callback")
    response = browser.get(flow.address(asked))
    page = response.content.decode()
    assert "<strong>Checkout monitor</strong>" in page
    assert "(name not verified)" in page
    assert "We can&#x27;t confirm this app&#x27;s name." in page or "We can't confirm this app's name." in page
    assert "<dd>agent.example</dd>" in page
    assert owner.email in page
    assert page.count('type="checkbox"') == 1
    assert 'name="scope" value="alerts.send" checked' in page
    assert not Connection.objects.exists()


def test_the_form_may_lead_to_the_clients_address_and_to_no_other(browser: Client, app: Application) -> None:
    asked = flow.request_of(app, "c" * 43, redirect_uri="https://agent.example/callback")
    policy = browser.get(flow.address(asked))["Content-Security-Policy"]
    assert "form-action 'self' https://agent.example;" in policy + ";"


@pytest.mark.parametrize(
    ("redirect", "name"),
    [
        ("https://claude.ai/api/mcp/auth_callback", "Claude"),
        ("https://chatgpt.com/connector_platform_oauth_redirect", "ChatGPT"),
        ("https://vscode.dev/redirect", "VS Code"),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "Cursor"),
    ],
)
def test_a_platform_is_recognised_by_where_the_code_goes(
    browser: Client, app: Application, redirect: str, name: str
) -> None:
    app.redirect_uris, app.name = redirect, "Call me anything"
    app.save()
    page = browser.get(flow.address(flow.request_of(app, "c" * 43, redirect_uri=redirect))).content.decode()
    assert f"<strong>{name}</strong>" in page
    assert "Recognised ✓" in page
    assert "not verified" not in page


def test_a_famous_name_at_another_address_is_not_recognised(browser: Client, app: Application) -> None:
    app.name, app.redirect_uris = "Claude", "https://claude.ai.evil.example/api/mcp/auth_callback"
    app.save()
    page = browser.get(flow.address(flow.request_of(app, "c" * 43, redirect_uri=app.redirect_uris))).content.decode()
    assert "(name not verified)" in page
    assert "Recognised" not in page


def test_allow_gives_a_code_and_one_connection_and_tells_the_owner(
    browser: Client, app: Application, owner: User, account: Account
) -> None:
    answer = flow.decide(browser, flow.request_of(app, flow.pkce()[1]))
    assert (answer["iss"], answer["state"]) == (settings.BASE_URL, "st")
    assert get_grant_model().objects.get().resource == [settings.MCP_RESOURCE]
    connection = Connection.objects.get()
    assert (connection.account, connection.client_id, connection.name) == (account, app.client_id, app.name)
    assert connection.approved_by == owner
    letter = Letter.objects.get(account=account, kind="agent_connected")
    assert "Checkout monitor" in letter.body
    flow.decide(browser, flow.request_of(app, flow.pkce()[1]))
    assert Connection.objects.count() == 1
    assert Letter.objects.filter(kind="agent_connected").count() == 1


def test_deny_gives_nothing(browser: Client, app: Application) -> None:
    answer = flow.decide(browser, flow.request_of(app, flow.pkce()[1]), allow=False)
    assert (answer["error"], answer["iss"], answer["state"]) == ("access_denied", settings.BASE_URL, "st")
    assert not Connection.objects.exists()
    assert not get_grant_model().objects.exists()


def test_an_unticked_scope_is_not_granted(browser: Client, stranger: Client, app: Application) -> None:
    tokens = flow.connect(browser, stranger, app, scopes=())
    assert tokens["scope"] == "alerts.read"


def test_a_form_cannot_add_a_scope_that_was_not_asked_for(browser: Client, stranger: Client, app: Application) -> None:
    tokens = flow.connect(browser, stranger, app, scopes=("alerts.send",), scope="alerts.read")
    assert tokens["scope"] == "alerts.read"


def test_a_login_without_an_account_is_told_so_and_nothing_is_granted(client: Client, app: Application) -> None:
    user = User.objects.create_user("staff@example.com", is_staff=True)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    response = client.post(flow.address(flow.request_of(app, flow.pkce()[1])), {"allow": "true"})
    assert response.status_code == 403
    assert b"You need a BreakPass account" in response.content
    assert not Connection.objects.exists()
