"""The Procfile: the one place that says how each process is started."""

from pathlib import Path


def read(path: Path) -> dict[str, str]:
    """Process names and their shell commands."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(":", 1) for line in lines if ":" in line and not line.lstrip().startswith("#"))
    return {name.strip(): command.strip() for name, command in pairs}
