"""Inside an app: edges call the domain, the domain uses the models, and never the other way round."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
APPS = ("accounts", "workflows", "alerts", "confirmations", "mcp_gateway")
EDGES = {"urls", "views", "webhooks", "api", "forms", "admin", "tasks"}
# Django's own places, which may look in both directions.
OUTSIDE = {"apps", "checks", "management", "migrations", "templatetags"}
BASE = {"models", "states"}


def room_of(module: str) -> str:
    """Which room of its app a module stands in: edge, domain, base or outside."""
    parts = module.split(".")[1:]
    if any(part in OUTSIDE for part in parts):
        return "outside"
    if any(part in EDGES or part.rpartition("_")[2] in EDGES for part in parts):
        return "edge"
    return "base" if parts and parts[0] in BASE else "domain"


def modules(app: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / app).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path, app: str) -> Iterator[str]:
    """Every module of the same app that a file imports, anywhere in it, as far as its text says."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.startswith(f"{app}."))


@pytest.mark.parametrize("app", APPS)
def test_the_domain_never_imports_an_edge(app: str) -> None:
    wrong = [
        f"{module} -> {target}"
        for module, path in modules(app)
        if room_of(module) in ("domain", "base") and module != app
        for target in imports(path, app)
        if room_of(target) == "edge"
    ]
    assert wrong == []


@pytest.mark.parametrize("app", APPS)
def test_models_and_states_import_no_domain(app: str) -> None:
    wrong = [
        f"{module} -> {target}"
        for module, path in modules(app)
        if room_of(module) == "base"
        for target in imports(path, app)
        if room_of(target) != "base"
    ]
    assert wrong == []


def test_the_rooms_are_told_apart() -> None:
    assert room_of("alerts.webhooks") == "edge"
    assert room_of("alerts.views.timeline") == "edge"
    assert room_of("mcp_gateway.docs_views") == "edge"
    assert room_of("alerts.delivery") == "domain"
    assert room_of("alerts.models.attempt") == "base"
    assert room_of("accounts.management.commands.sweep") == "outside"
    assert list(imports(Path(__file__), "django")) == ["django.conf.settings"]
