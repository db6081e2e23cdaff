"""/token: bound to the resource, rotating, forgiving a lost answer once, and deaf to anything stolen."""

import json
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_refresh_token_model
from time_machine import TimeMachineFixture

from accounts import connections
from accounts.locking import locked
from accounts.models import Account, Connection, User
from mcp_gateway.models import Application
from tests.gateway import flow

pytestmark = pytest.mark.django_db
AccessToken, RefreshToken = get_access_token_model(), get_refresh_token_model()


def living_chains() -> int:
    """How many refresh tokens can still be used."""
    return int(RefreshToken.objects.filter(revoked=None, access_token__isnull=False).count())


def test_a_code_becomes_an_hour_of_access_to_our_resource(browser: Client, stranger: Client, app: Application) -> None:
    tokens = flow.connect(browser, stranger, app)
    assert (tokens["expires_in"], tokens["token_type"]) == (3600, "Bearer")
    assert set(tokens["scope"].split()) == {"alerts.read", "alerts.send"}
    stored = AccessToken.objects.get()
    assert stored.resource == [settings.MCP_RESOURCE]
    assert stored.token == ""
    assert flow.status_at_mcp(stranger, tokens["access_token"]) == 200


def test_answers_are_json_and_never_cached(stranger: Client, app: Application) -> None:
    for form in (
        {"grant_type": "password", "username": "a", "password": "b"},
        {"grant_type": "refresh_token", "refresh_token": "x", "client_id": app.client_id},
        {},
        {"grant_type": "authorization_code", "code": "\x00", "client_id": app.client_id},
    ):
        response = stranger.post("/token", form)
        assert response.status_code in (400, 401)
        assert response["Content-Type"] == "application/json"
        assert (response["Cache-Control"], response["Pragma"]) == ("no-store", "no-cache")
        assert "error" in json.loads(response.content)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"resource": "https://other.example"}, "invalid_target"),
        ({"code_verifier": "v" * 43}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_grant"),
        ({"redirect_uri": "https://agent.example/callback"}, "invalid_request"),
        ({"client_id": "somebody-else"}, "invalid_client"),
    ],
)
def test_a_code_is_bound_to_its_request(
    browser: Client, stranger: Client, app: Application, changes: dict[str, str | None], error: str
) -> None:
    verifier, challenge = flow.pkce()
    code = flow.decide(browser, flow.request_of(app, challenge))["code"]
    response = flow.exchange(stranger, app, code, verifier, **changes)
    assert response.status_code in (400, 401)
    assert json.loads(response.content)["error"] in (error, "invalid_request" if error == "invalid_grant" else error)
    assert not AccessToken.objects.exists()


def test_a_code_used_twice_takes_back_what_it_gave(browser: Client, stranger: Client, app: Application) -> None:
    verifier, challenge = flow.pkce()
    code = flow.decide(browser, flow.request_of(app, challenge))["code"]
    tokens = json.loads(flow.exchange(stranger, app, code, verifier).content)
    replay = flow.exchange(stranger, app, code, verifier)
    assert (replay.status_code, json.loads(replay.content)["error"]) == (400, "invalid_grant")
    assert flow.status_at_mcp(stranger, tokens["access_token"]) == 401
    assert flow.refresh(stranger, app, tokens["refresh_token"]).status_code == 400


def test_an_expired_code_gives_nothing(
    browser: Client, stranger: Client, app: Application, clock: TimeMachineFixture
) -> None:
    verifier, challenge = flow.pkce()
    code = flow.decide(browser, flow.request_of(app, challenge))["code"]
    clock.shift(61)
    assert flow.exchange(stranger, app, code, verifier).status_code == 400
    assert not AccessToken.objects.exists()


def test_a_refresh_rotates_and_ends_the_token_before(browser: Client, stranger: Client, app: Application) -> None:
    first = flow.connect(browser, stranger, app)
    second = json.loads(flow.refresh(stranger, app, first["refresh_token"], resource=settings.MCP_RESOURCE).content)
    assert second["refresh_token"] != first["refresh_token"]
    assert second["scope"] == first["scope"]
    assert flow.status_at_mcp(stranger, first["access_token"]) == 401
    assert flow.status_at_mcp(stranger, second["access_token"]) == 200
    assert living_chains() == 1


def test_a_refresh_cannot_widen_scope_or_resource(browser: Client, stranger: Client, app: Application) -> None:
    tokens = flow.connect(browser, stranger, app, scopes=())
    wider = flow.refresh(stranger, app, tokens["refresh_token"], scope="alerts.read alerts.send")
    assert json.loads(wider.content)["error"] == "invalid_scope"
    elsewhere = flow.refresh(stranger, app, tokens["refresh_token"], resource="https://other.example")
    assert json.loads(elsewhere.content)["error"] == "invalid_target"
    assert flow.refresh(stranger, app, tokens["refresh_token"]).status_code == 200


def test_a_lost_answer_is_given_again_and_its_unused_successor_ends(
    browser: Client, stranger: Client, app: Application, clock: TimeMachineFixture
) -> None:
    first = flow.connect(browser, stranger, app)
    lost = json.loads(flow.refresh(stranger, app, first["refresh_token"]).content)
    clock.shift(119)
    again = flow.refresh(stranger, app, first["refresh_token"])
    assert again.status_code == 200
    tokens = json.loads(again.content)
    assert tokens["access_token"] != lost["access_token"]
    assert flow.status_at_mcp(stranger, lost["access_token"]) == 401
    assert flow.status_at_mcp(stranger, tokens["access_token"]) == 200
    assert living_chains() == 1
    assert RefreshToken.objects.values("token_family").distinct().count() == 1


def test_the_grace_for_a_lost_answer_is_counted_from_the_first_rotation(
    browser: Client, stranger: Client, app: Application, clock: TimeMachineFixture
) -> None:
    first = flow.connect(browser, stranger, app)
    flow.refresh(stranger, app, first["refresh_token"])
    clock.shift(100)
    assert flow.refresh(stranger, app, first["refresh_token"]).status_code == 200
    clock.shift(20)
    late = flow.refresh(stranger, app, first["refresh_token"])
    assert (late.status_code, json.loads(late.content)["error"]) == (400, "invalid_grant")
    assert living_chains() == 0


def test_a_token_whose_successor_was_used_ends_the_family(browser: Client, stranger: Client, app: Application) -> None:
    first = flow.connect(browser, stranger, app)
    second = json.loads(flow.refresh(stranger, app, first["refresh_token"]).content)
    third = json.loads(flow.refresh(stranger, app, second["refresh_token"]).content)
    assert flow.refresh(stranger, app, first["refresh_token"]).status_code == 400
    assert flow.status_at_mcp(stranger, third["access_token"]) == 401
    assert flow.refresh(stranger, app, third["refresh_token"]).status_code == 400
    assert living_chains() == 0


def test_a_refresh_token_lives_90_days(
    browser: Client, stranger: Client, app: Application, clock: TimeMachineFixture
) -> None:
    first = flow.connect(browser, stranger, app)
    clock.shift(timedelta(days=90) - timedelta(seconds=5))
    second = flow.refresh(stranger, app, first["refresh_token"])
    assert second.status_code == 200
    clock.shift(timedelta(days=90) + timedelta(seconds=5))
    assert flow.refresh(stranger, app, json.loads(second.content)["refresh_token"]).status_code == 400


def test_another_client_cannot_use_or_end_a_token(browser: Client, stranger: Client, app: Application) -> None:
    tokens = flow.connect(browser, stranger, app)
    other = Application.objects.create(
        client_id="other",
        client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris=flow.LOOPBACK,
    )
    assert flow.refresh(stranger, other, tokens["refresh_token"]).status_code == 400
    assert stranger.post("/token", {"token": tokens["refresh_token"], "client_id": "other"}).status_code == 200
    assert flow.status_at_mcp(stranger, tokens["access_token"]) == 200
    assert flow.refresh(stranger, app, tokens["refresh_token"]).status_code == 200


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
@pytest.mark.parametrize("hint", ["access_token", "refresh_token", ""])
def test_revoking_either_token_ends_both(
    browser: Client, stranger: Client, app: Application, kind: str, hint: str
) -> None:
    tokens = flow.connect(browser, stranger, app)
    form = {"token": tokens[kind], "client_id": app.client_id, **({"token_type_hint": hint} if hint else {})}
    assert stranger.post("/token", form).status_code == 200
    assert flow.status_at_mcp(stranger, tokens["access_token"]) == 401
    assert flow.refresh(stranger, app, tokens["refresh_token"]).status_code == 400
    assert stranger.post("/token", {"token": "unknown", "client_id": app.client_id}).status_code == 200


def test_a_disabled_login_is_out_at_once(browser: Client, stranger: Client, app: Application, owner: User) -> None:
    tokens = flow.connect(browser, stranger, app)
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert flow.status_at_mcp(stranger, tokens["access_token"]) == 401
    assert flow.refresh(stranger, app, tokens["refresh_token"]).status_code == 400


def test_a_login_disabled_between_consent_and_exchange_gets_nothing(
    browser: Client, stranger: Client, app: Application, owner: User
) -> None:
    verifier, challenge = flow.pkce()
    code = flow.decide(browser, flow.request_of(app, challenge))["code"]
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert flow.exchange(stranger, app, code, verifier).status_code == 400
    assert not AccessToken.objects.exists()


def test_a_revoked_connection_is_out_at_once_and_comes_back_by_consent_with_its_brake(
    browser: Client, stranger: Client, app: Application, account: Account
) -> None:
    tokens = flow.connect(browser, stranger, app)
    braked_until = timezone.now() + timedelta(minutes=9)
    Connection.objects.update(braked_until=braked_until)
    with locked(account.pk) as held:
        connections.revoke(held, Connection.objects.get(), now=timezone.now())
    assert flow.status_at_mcp(stranger, tokens["access_token"]) == 401
    assert flow.refresh(stranger, app, tokens["refresh_token"]).status_code == 400
    assert not AccessToken.objects.exists()
    again = flow.connect(browser, stranger, app)
    assert flow.status_at_mcp(stranger, again["access_token"]) == 200
    connection = Connection.objects.get()
    assert (connection.revoked_at, connection.braked_until) == (None, braked_until)


def test_an_anonymous_token_request_never_fetches_a_metadata_document(
    stranger: Client, app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("mcp_gateway.oauth.cimd.DocumentFetcher.fetch", lambda self, url: asked.append(url))
    response = stranger.post(
        "/token",
        {
            "grant_type": "authorization_code",
            "client_id": "https://victim.example/client.json",
            "code": "x",
            "code_verifier": "y" * 43,
            "redirect_uri": flow.LOOPBACK,
        },
    )
    assert response.status_code == 401
    assert asked == []
