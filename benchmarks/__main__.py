"""The command line: `python -m benchmarks [--seconds 3] [--rounds 3] [--clients 16] [--accounts 64]`."""

import argparse
import os
import sys

from benchmarks import surroundings
from benchmarks.ports import free_port


def arguments() -> argparse.Namespace:
    """What was asked for; the default takes under three minutes on two cores."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each measurement takes, per round")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured, in turns")
    parser.add_argument("--clients", type=int, default=16, help="connections at once")
    parser.add_argument("--accounts", type=int, default=64, help="accounts that the calls are spread over")
    return parser.parse_args()


def main() -> int:
    """Prepare an installation of its own, measure, print; 1 when a measured request failed."""
    asked = arguments()
    if not os.environ.get("DATABASE_URL") or not os.environ.get("REDIS_URL"):
        print("DATABASE_URL and REDIS_URL are not set; `make bench` starts both.", file=sys.stderr)
        return 2
    port = free_port()
    os.environ.update(surroundings.environment(f"http://127.0.0.1:{port}"))
    surroundings.make_database(os.environ["DATABASE_URL"])
    import django

    django.setup()
    # Only now may Django's models be imported.
    from benchmarks.rounds import run

    return run(port, seconds=asked.seconds, rounds=asked.rounds, clients=asked.clients, accounts=asked.accounts)


if __name__ == "__main__":
    sys.exit(main())
