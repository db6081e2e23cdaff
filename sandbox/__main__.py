"""`python -m sandbox --port 8001 --app-url http://127.0.0.1:8000`: the sandbox as a process."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence

from sandbox.box import Sandbox
from sandbox.config import Config

SMTP_PORT = 1025


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number from 0 to 65535")
    return int(text)


def read_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The command line; what is missing comes from the environment."""
    parser = argparse.ArgumentParser(prog="python -m sandbox", description="A stand-in for Twilio, with phones.")
    environ = os.environ
    parser.add_argument("--host", default=environ.get("SANDBOX_HOST") or "127.0.0.1", help="default 127.0.0.1")
    parser.add_argument("--port", type=_port, default=environ.get("SANDBOX_PORT") or "8001", help="default 8001")
    parser.add_argument(
        "--smtp-port", type=_port, default=environ.get("SANDBOX_SMTP_PORT") or str(SMTP_PORT), help="default 1025"
    )
    parser.add_argument(
        "--app-url",
        default=environ.get("BASE_URL") or "http://127.0.0.1:8000",
        help="where the product serves; inbound messages are posted there",
    )
    parser.add_argument("--speed", type=float, default=1.0, help="seconds that pass in a real second (default 1)")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    """Serve until Ctrl-C or SIGTERM. Exit code 1, with a sentence, when a port is taken."""
    options = read_arguments(argv)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # At INFO it would write down every address it posts to.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    config = Config.from_environment(os.environ, app_url=options.app_url)
    sandbox = Sandbox(config, speed=options.speed, host=options.host, port=options.port, smtp_port=options.smtp_port)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sandbox.server.ask_to_stop())
    try:
        sandbox.start()
    except OSError as error:
        print(
            f"The sandbox cannot listen on port {options.port} (phones) and {options.smtp_port} (mail) of "
            f"{options.host}: {error.strerror or error}. Stop what uses them, or choose others with --port and "
            "--smtp-port.",
            file=sys.stderr,
        )
        return 1
    print(f"Phones {sandbox.url}/   Mailbox {sandbox.url}/mail   SMTP port {sandbox.smtp_port}", flush=True)
    sandbox.server.wait()
    sandbox.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
