"""What staff pause and resume by command, and what agents notice of it (docs/operations.md, Pauses)."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.countries import country_names
from accounts.models import Account, Pause
from alerts.models import Alert
from tests.accounts.staff import SAM, TOOLS, refusal_of
from tests.contract.course import Course, send, shown, start
from tests.factories import AccountFactory, PersonFactory, PlanFactory
from tests.mcp_client import McpClient, issue_token

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("load_rates", "course")]


def stopped_tools(agent: McpClient) -> dict[str, str]:
    """The senders that are refused now, each with its code; those that go are cancelled again."""
    found = {}
    for tool, more in TOOLS.items():
        key = {"idempotency_key": f"{tool}-{Alert.objects.count()}"}
        text = {"message": f"Is it paused? {Alert.objects.count()}"}
        answer = agent.call_raw(tool, {**text, **more, **key})["structuredContent"]
        if "error" in answer:
            found[tool] = answer["error"]["code"]
        else:
            agent.call("cancel_alert", {"alert_id": answer["alert_id"]})
    return found


@pytest.mark.parametrize(
    ("flag", "args", "stopped"),
    [
        ("all", (), set(TOOLS)),
        ("account", ("--account", SAM), set(TOOLS)),
        ("destination", ("--countries", "us", "ca"), set(TOOLS)),
        ("whatsapp", (), {"send_whatsapp", "start_workflow"}),
        ("sms", (), {"send_sms"}),
        ("call", (), {"make_call", "start_workflow"}),
    ],
)
def test_each_flag_stops_what_it_names_and_no_more(
    run: Any, agent: McpClient, flag: str, args: tuple[str, ...], stopped: set[str]
) -> None:
    assert stopped_tools(agent) == {}
    paused = run("pause_sending", flag, "--reason", "an outage in Ohio", *args)
    assert paused["flag"] == flag
    assert stopped_tools(agent) == dict.fromkeys(stopped, "SERVICE_PAUSED")
    for tool in stopped:
        assert refusal_of(agent, tool) == {
            "code": "SERVICE_PAUSED",
            "message": "Sending is paused right now. Try again later.",
            "retry_after_s": 300,
            "details": {"flag": flag},
        }
    lifted = run("resume_sending", flag, *(args if flag == "account" else ()))
    assert lifted == {"flag": flag, "changed": True}
    assert stopped_tools(agent) == {}


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("whatsapp_capacity", "WhatsApp is paused right now. Use make_call, or send_sms where SMS is offered."),
        ("whatsapp_not_live", "WhatsApp can't be used yet. Use SMS or a call."),
    ],
)
def test_whatsapp_out_of_use_is_another_channel_not_a_pause(
    run: Any, agent: McpClient, flag: str, message: str
) -> None:
    run("pause_sending", flag, "--reason", "Meta")
    assert refusal_of(agent, "send_whatsapp") == {
        "code": "CHANNEL_UNAVAILABLE",
        "message": message,
        "details": {"channel": "whatsapp", "reason": flag, "available_channels": ["sms", "call"]},
    }
    assert stopped_tools(agent) == {"send_whatsapp": "CHANNEL_UNAVAILABLE"}
    code = start(agent, "inform")
    assert [step["channel"] for step in shown(agent, code)["attempts"]] == ["sms"]
    run("resume_sending", flag)
    assert send(agent, "whatsapp").startswith("A-")


def test_a_pause_of_destinations_stops_those_numbers_and_is_lifted_country_by_country(
    run: Any, account: Account, agent: McpClient
) -> None:
    PersonFactory(account=account, name="Ada", number="+447700900123")
    PersonFactory(account=account, name="Bo", number="+4915123456789")
    assert run("pause_sending", "destination", "--reason", "storm", "--countries", "gb", "DE") == {
        "flag": "destination",
        "countries": ["DE", "GB"],
        "account_id": None,
    }
    send(agent, "sms")
    for name in ("Ada", "Bo"):
        refused = agent.refusal("send_sms", {"message": "Hello.", "recipient": name})
        assert (refused["code"], refused["details"]) == ("SERVICE_PAUSED", {"flag": "destination"})
    assert run("resume_sending", "destination", "--countries", "GB") == {"flag": "destination", "changed": True}
    assert send(agent, "sms", recipient="Ada", message="Hello.").startswith("A-")
    assert agent.refusal("send_sms", {"message": "Hello.", "recipient": "Bo"})["code"] == "SERVICE_PAUSED"
    assert Pause.objects.get(lifted_at=None).countries == "DE"


def test_a_pause_of_one_account_is_no_other_accounts(run: Any, account: Account) -> None:
    other = McpClient(Client(), issue_token(AccountFactory(number="+12025550144", plan=PlanFactory())))
    run("pause_sending", "account", "--reason", "abuse", "--account", SAM)
    assert stopped_tools(other) == {}


def test_running_alerts_skip_what_is_paused_and_go_on_with_the_rest(run: Any, agent: McpClient, course: Course) -> None:
    code = start(agent, "escalate")
    run("pause_sending", "call", "--reason", "carrier")
    course.run()
    assert [one.channel for one in course.sent] == ["whatsapp"]
    attempts = shown(agent, code)["attempts"]
    assert [(one["status"], one["failure_code"]) for one in attempts[:2]] == [
        ("sending", None),
        ("skipped", "SERVICE_PAUSED"),
    ]
    run("resume_sending", "call")
    course.wait(minutes=1)
    assert [one.channel for one in course.sent] == ["whatsapp", "call"]


def test_while_all_is_paused_reading_cancelling_and_acknowledging_go_on(
    run: Any, agent: McpClient, course: Course
) -> None:
    code, other = start(agent, "acknowledge"), send(agent, "sms")
    course.run()
    run("pause_sending", "all", "--reason", "restore")
    assert agent.call("cancel_alert", {"alert_id": other})["terminal"] is True
    token = Alert.objects.get(code=code).ack_token
    course.write("whatsapp:+12025550143", "Acknowledge", ButtonPayload=token)
    assert shown(agent, code)["status"] == "acknowledged"
    assert agent.call("get_setup_status")["account_state"] == "ready"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("destination",), "Countries go with the flag `destination`, and only with it."),
        (("all", "--countries", "US"), "Countries go with the flag `destination`, and only with it."),
        (("destination", "--countries", "US", "UK", "XX"), "No country has the code UK, XX."),
        (("account",), "An account goes with the flag `account`, and only with it."),
        (("sms", "--account", SAM), "An account goes with the flag `account`, and only with it."),
    ],
)
def test_a_pause_that_makes_no_sense_is_refused_and_pauses_nobody(
    account: Account, args: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(CommandError) as failed:
        call_command("pause_sending", *args, "--reason", "storm")
    assert str(failed.value) == sentence
    assert not Pause.objects.exists()


def test_more_countries_than_a_pause_holds_are_refused_and_leave_it_as_it_was(run: Any) -> None:
    codes = sorted(country_names())
    run("pause_sending", "destination", "--reason", "storm", "--countries", *codes[:100])
    with pytest.raises(CommandError, match=r"^That is most of the world: pause `all` instead\.$"):
        call_command("pause_sending", "destination", "--reason", "storm", "--countries", *codes[100:])
    assert Pause.objects.get().countries.split() == codes[:100]
