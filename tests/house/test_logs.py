"""No log holds anybody's data: a whole life on real processes, with everything that goes wrong in one, then a search.

What is searched for are numbers in any shape, codes, texts, addresses of e-mail, tokens and the carrier's ids.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.management.commands.seed_demo import EMAIL
from tests.house.life import Life, connect, invite_ada, knock_at_every_door, send_by_all_channels, sign_up, stop_by_sms
from tests.house.running import Running

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Life, dict[str, str]]]:
    """A life that was lived, and every log that it left."""
    home: Path = tmp_path_factory.mktemp("home")
    running = Running(home)
    lived = Life(running)
    logs: dict[str, str] | None = None
    try:
        running.start()
        lived.begin()
        sam = lived.visitor().open(running.sign_in_url)
        sign_up(lived)
        invite = invite_ada(lived, sam)
        connect(lived, sam, twice=True)
        agent = lived.agent(connect(lived, sam))
        issued = running.command("issue_token", EMAIL, "--client", "Headless")
        lived.secret("access token", issued["access_token"])
        token = send_by_all_channels(lived, agent)
        stop_by_sms(lived, agent)
        seen = knock_at_every_door(lived, agent, invite, token)
        assert not {status for status in seen if status >= 500}, "a stranger brought something down"
        assert {400, 401, 403, 404, 405, 413} <= seen
        lived.close()
        logs = running.stop()
        yield lived, logs
    finally:
        lived.close()
        if logs is None:
            for name, text in running.stop().items():
                print(f"--- {name}\n{text[-3000:]}")


def test_no_log_holds_a_number_a_code_a_text_or_a_token(life: tuple[Life, dict[str, str]]) -> None:
    lived, logs = life
    found = [
        (name, what, line)
        for name, text in logs.items()
        for what, secret in lived.secrets.items()
        for line in text.splitlines()
        if re.search(
            rf"(?<!\d){re.escape(secret)}(?!\d)" if secret.isdigit() and len(secret) == 6 else re.escape(secret),
            line,
            re.IGNORECASE,
        )
    ]
    assert found == []


def test_the_logs_are_there_and_say_what_went_wrong(life: tuple[Life, dict[str, str]]) -> None:
    _, logs = life
    assert {"web.log", "worker.log", "beat.log", "sandbox.log", "postgres.log", "redis.log"} <= set(logs)
    assert "Unprocessable Entity: /join/<str:token>/code/" in logs["web.log"]
    assert "Not Found: an address we do not have" in logs["web.log"]
    assert "Traceback" not in "".join(logs.values())
