"""`python -m breakpass.embedded run`, and `… with [--durable] COMMAND` for one command on servers of its own."""

import os
import subprocess
import sys
from pathlib import Path

from breakpass.embedded.pair import Pair
from breakpass.embedded.problems import CannotStart
from breakpass.embedded.record import SWITCH

BASE_DIR = Path(__file__).resolve().parent.parent.parent


def run_with(command: list[str], *, durable: bool) -> int:
    """Run a command on servers under `var/test` (`var/bench` when durable); return its exit code."""
    pair = Pair(BASE_DIR / "var" / ("bench" if durable else "test"), durable=durable, what="A test or bench run")
    env = os.environ | pair.start() | {SWITCH: "off"}
    try:
        return subprocess.run(command, env=env, check=False).returncode
    finally:
        pair.stop()


def main(arguments: list[str]) -> int:
    """The command line; prints the one sentence of a `CannotStart`."""
    try:
        match arguments:
            case ["run"]:
                from breakpass.embedded.stack import run

                return run(BASE_DIR)
            case ["with", "--durable", *command] if command:
                return run_with(command, durable=True)
            case ["with", *command] if command:
                return run_with(command, durable=False)
    except CannotStart as problem:
        print(problem, file=sys.stderr)
        return 1
    except PermissionError as problem:
        print(
            f"{problem.filename} may not be written: it belongs to another user (was it made by root?).",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return 130
    print("usage: python -m breakpass.embedded run | with [--durable] COMMAND …", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
