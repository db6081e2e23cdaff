"""The operations page names every setting and every command there is."""

import re
from pathlib import Path

from django.conf import settings
from django.core.management import get_commands

ROOT = Path(settings.BASE_DIR)
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
OURS = ("accounts", "alerts", "breakpass", "confirmations", "mcp_gateway", "workflows")


def test_every_setting_of_the_environment_is_on_the_page() -> None:
    source = (ROOT / "breakpass" / "settings.py").read_text(encoding="utf-8")
    names = set(re.findall(r'(?:setting|env(?:\.\w+)?)\(\s*"([A-Z][A-Z0-9_]+)"', source))
    assert len(names) > 40
    assert sorted(name for name in names if f"`{name}`" not in PAGE) == []


def test_every_command_is_on_the_page() -> None:
    commands = {name for name, app in get_commands().items() if app in OURS}
    assert sorted(name for name in commands if not re.search(rf"`{name}\b", PAGE)) == []


def test_the_example_of_a_production_environment_sets_only_what_exists() -> None:
    source = (ROOT / "breakpass" / "settings.py").read_text(encoding="utf-8")
    example = (ROOT / "docs" / "production.env.example").read_text(encoding="utf-8")
    names = re.findall(r"^([A-Z0-9_]+)=", example, flags=re.MULTILINE)
    assert len(names) == len(set(names))
    assert [name for name in names if f'"{name}"' not in source] == []
