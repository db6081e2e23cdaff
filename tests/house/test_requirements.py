"""The lock files: pinned, hashed, without addresses; each direct dependency says why it is there."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
LOCKS = ("base", "dev")


def name_of(requirement: str) -> str:
    """A requirement's package name, as lock files spell it."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def pins(lock: str) -> dict[str, list[str]]:
    """The pinned requirements of a lock file and their hashes."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("    --hash=sha256:"):
            current.append(line.strip(" \\").removeprefix("--hash=sha256:"))
        elif line and not line.lstrip().startswith("#"):
            pin, _, _ = line.strip(" \\").partition(" ; ")
            current = found.setdefault(pin, [])
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_one_exact_release_with_its_hashes(lock: str) -> None:
    found = pins(lock)
    assert len(found) > 40
    assert [pin for pin in found if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.+-]*", pin)] == []
    assert [pin for pin, hashes in found.items() if not hashes] == []
    assert [pin for pin, hashes in found.items() if any(not re.fullmatch("[0-9a-f]{64}", one) for one in hashes)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_a_server_or_a_path(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    assert "://" not in text
    # The only options are hashes, and no word begins as a path does.
    assert [option for option in re.findall(r"--[a-z-]+", text) if option != "--hash"] == []
    assert re.findall(r"(?<![\w.])[./~]+/\w+|(?<!\S)/\w+", text) == []


def test_development_runs_the_very_releases_of_production() -> None:
    assert sorted(set(pins("base")) - set(pins("dev"))) == []


def test_every_direct_dependency_is_locked_and_gives_its_reason() -> None:
    source = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(source)
    locked = {pin.partition("==")[0] for pin in pins("dev")}
    direct = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    assert [name for name in map(name_of, direct) if name not in locked] == []
    lines = [line.strip() for line in source.splitlines() if re.match(r"\s*\"[\w.\[\]-]+(>=|==)", line)]
    assert len(lines) == len(direct)
    assert [line for line in lines if not re.search(r'",\s+# \S.{8,}$', line)] == []


def test_the_conformance_suite_is_pinned_without_addresses() -> None:
    lock = json.loads((ROOT / "tests" / "conformance" / "package-lock.json").read_text(encoding="utf-8"))
    packages = {path: entry for path, entry in lock["packages"].items() if path}
    assert packages["node_modules/@modelcontextprotocol/conformance"]["version"] == "0.2.0-alpha.12"
    assert [path for path, entry in packages.items() if "resolved" in entry] == []
    assert [path for path, entry in packages.items() if not entry["integrity"].startswith("sha512-")] == []
