"""`make run` with stand-ins for its processes: stopped, killed, crowded out, and started again."""

import os
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from breakpass.embedded import discover, record, redis
from breakpass.embedded.record import Entry
from tests.house.test_embedded import connect

PROCFILE = """release: true
web: python -m http.server --bind 127.0.0.1 ${PORT}
worker: sleep 1000
beat: sleep 1000
"""
StartToy = Callable[[int], subprocess.Popen[str]]
STARTED = "BreakPass is running."


@pytest.fixture(autouse=True)
def no_urls_and_no_production(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "ENVIRONMENT", record.SWITCH):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A project whose processes are stand-ins: `make run` knows them from its Procfile only."""
    (tmp_path / "Procfile").write_text(PROCFILE, encoding="utf-8")
    (tmp_path / "healthz").write_text("ok", encoding="utf-8")
    return tmp_path


@pytest.fixture
def start_toy(toy: Path) -> Iterator[StartToy]:
    """Start the toy project's `make run` on a port; what still runs at the end is stopped."""
    runs: list[subprocess.Popen[str]] = []

    def start(port: int) -> subprocess.Popen[str]:
        runs.append(launch(toy, port))
        return runs[-1]

    yield start
    for run in runs:
        if run.poll() is None:
            run.terminate()
        run.communicate(timeout=30)


def launch(toy: Path, port: int) -> subprocess.Popen[str]:
    code = (
        "import sys, pathlib; from breakpass.embedded import __main__ as m; "
        "m.BASE_DIR = pathlib.Path(sys.argv[1]); sys.exit(m.main(['run']))"
    )
    env = os.environ | {"PYTHONPATH": str(settings.BASE_DIR), "PORT": str(port), "TWILIO_ACCOUNT_SID": "AC" + "0" * 32}
    return subprocess.Popen(
        [sys.executable, "-c", code, str(toy)],
        env=env,
        cwd=toy,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def read_until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return "".join(lines)
    raise AssertionError("".join(lines))


def processes_of(toy: Path) -> list[psutil.Process]:
    return [psutil.Process(entry.pid) for entry in record.read(record.path_of(toy))]


def wait_for(happened: Callable[[], bool], timeout_s: float = 15) -> None:
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def gone(processes: list[psutil.Process], timeout_s: float = 15) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=timeout_s)
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.drill
def test_ctrl_c_stops_every_process_and_the_next_run_starts_again(toy: Path, start_toy: StartToy) -> None:
    for _ in range(2):
        run = start_toy(redis.free_port())
        read_until(run, "Ctrl-C stops everything")
        children = processes_of(toy)
        assert len(children) == 5
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 0
        assert gone(children)
        assert not record.path_of(toy).exists()


@pytest.mark.drill
def test_a_second_ctrl_c_does_not_wait_for_a_stubborn_process(toy: Path, start_toy: StartToy) -> None:
    deaf = "worker: sh -c 'trap \"echo not now\" TERM; while true; do sleep 0.1; done'"
    stubborn = PROCFILE.replace("worker: sleep 1000", deaf)
    (toy / "Procfile").write_text(stubborn, encoding="utf-8")
    run = start_toy(redis.free_port())
    read_until(run, "Ctrl-C stops everything")
    children = processes_of(toy)
    run.send_signal(signal.SIGINT)
    wait_for(lambda: "not now" in (toy / "var" / "log" / "worker.log").read_text(encoding="utf-8"))
    run.send_signal(signal.SIGINT)
    assert run.wait(8) == 0
    assert gone(children)


@pytest.mark.drill
def test_a_killed_run_takes_its_processes_along_and_the_next_one_recovers(toy: Path, start_toy: StartToy) -> None:
    run = start_toy(redis.free_port())
    read_until(run, STARTED)
    with connect(discover(toy)["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    children = processes_of(toy)
    run.kill()
    run.wait(10)
    assert gone(children)
    run = start_toy(redis.free_port())
    read_until(run, STARTED)
    with connect(discover(toy)["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    run.terminate()
    assert run.wait(30) == 0


@pytest.mark.drill
def test_servers_that_outlived_their_run_are_stopped_by_the_next(toy: Path, start_toy: StartToy) -> None:
    sleeper = subprocess.Popen(["sleep", "1000"])
    # Its parent, which we are here, has to take note of its end as soon as it comes.
    threading.Thread(target=sleeper.wait, daemon=True).start()
    record.path_of(toy).parent.mkdir(parents=True)
    began = psutil.Process(sleeper.pid).create_time()
    bystander = Entry("worker", os.getpid(), 0.0, "", {})
    record.write(record.path_of(toy), [Entry("worker", sleeper.pid, began, "", {}), bystander])
    run = start_toy(redis.free_port())
    read_until(run, STARTED)
    assert sleeper.wait(5) == -signal.SIGTERM
    run.terminate()
    assert run.wait(30) == 0


@pytest.mark.drill
def test_a_port_already_taken_is_one_sentence(toy: Path, start_toy: StartToy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = start_toy(port)
        output, _ = run.communicate(timeout=30)
    assert run.returncode == 1
    assert (
        f"Port {port} is already taken: stop what uses it, or choose another with PORT={port + 10} make run." in output
    )
    assert "Traceback" not in output
    assert discover(toy) == {}


@pytest.mark.drill
def test_two_runs_at_once_leave_the_first_alone(toy: Path, start_toy: StartToy) -> None:
    first = start_toy(redis.free_port())
    read_until(first, STARTED)
    second = start_toy(redis.free_port())
    output, _ = second.communicate(timeout=30)
    assert second.returncode == 1
    assert f"make run is already running in this checkout (process {first.pid}); stop that one first." in output
    assert "Traceback" not in output
    assert len(processes_of(toy)) == 5
    first.terminate()
    assert first.wait(30) == 0


@pytest.mark.drill
def test_a_process_that_ends_on_its_own_ends_the_run_with_its_last_words(toy: Path, start_toy: StartToy) -> None:
    failing = PROCFILE.replace("worker: sleep 1000", "worker: sh -c 'sleep 1; echo out of luck; exit 3'")
    (toy / "Procfile").write_text(failing, encoding="utf-8")
    run = start_toy(redis.free_port())
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "worker ended on its own (exit code 3)" in output
    assert "worker.log ends with: out of luck\n" in output
    assert discover(toy) == {}


@pytest.mark.drill
def test_a_failing_release_is_one_sentence_and_nothing_stays(toy: Path, start_toy: StartToy) -> None:
    (toy / "Procfile").write_text(PROCFILE.replace("true", "echo no table >&2; exit 1"), encoding="utf-8")
    run = start_toy(redis.free_port())
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert output.rstrip().endswith("ends with: no table")
    assert "Traceback" not in output
    assert discover(toy) == {}


@pytest.mark.drill
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_plain_user_runs_it_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    for folder in home.parents:
        folder.chmod(folder.stat().st_mode | 0o001)
    code = (
        "import sys, pathlib; from breakpass.embedded.pair import Pair; "
        "p = Pair(pathlib.Path(sys.argv[1]), durable=False, what='A run'); print(sorted(p.start())); p.stop()"
    )
    # This Python may lie in root's own folder; the system's, of the same version, can load the same packages.
    own, system = Path(sys.executable), Path(f"/usr/bin/python3.{sys.version_info.minor}")
    paths = [str(settings.BASE_DIR), sysconfig.get_path("purelib")]
    env = {"PYTHONPATH": os.pathsep.join(paths), "PATH": os.environ["PATH"]}
    for python in (own, system):
        argv = [str(python), "-c", code, str(home / "var")]
        try:
            done = subprocess.run(
                argv, env=env, cwd=home, user=65534, group=65534, extra_groups=[], capture_output=True, text=True
            )
        except (PermissionError, FileNotFoundError):
            continue
        assert done.stdout == "['DATABASE_URL', 'REDIS_URL']\n", done.stderr
        assert not (home / "var" / "run" / "servers.json").exists()
        return
    pytest.skip("no Python here is open to other users")


@pytest.mark.drill
@pytest.mark.parametrize("name", ["postgres", "redis", "web", "worker"])
def test_a_killed_process_is_named_with_its_signal_and_takes_the_rest_along(
    toy: Path, start_toy: StartToy, name: str
) -> None:
    run = start_toy(redis.free_port())
    read_until(run, "Ctrl-C stops everything")
    children = processes_of(toy)
    next(psutil.Process(each.pid) for each in record.read(record.path_of(toy)) if each.name == name).kill()
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert f"{name} ended on its own (killed by SIGKILL); " in output
    assert output.rstrip().endswith("Stopping the rest; the data stays in var/.")
    assert gone(children)
    assert discover(toy) == {}
