"""`hunt [URL]`: the suite, and then its machines without end, until the time is over."""

from __future__ import annotations

import argparse
import random

from conformance.cli.run import examination, examined

MINUTES = 10.0
"""Of a hunt of which nobody says how long it is."""


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument("--hours", type=float, default=0.0, metavar="H", help="time for the whole hunt, in hours")
    added.add_argument(
        "--minutes", type=float, default=0.0, metavar="M", help="minutes, added to the hours (default: 10)"
    )
    examination(added, hunts=True)


def run(options: argparse.Namespace) -> int:
    """A seed that nobody gave is another one each time, and is told."""
    minutes = 0.0 if options.again else options.hours * 60 + options.minutes or MINUTES
    options.seed = options.seed or str(random.SystemRandom().randrange(2**31))
    options.depth = options.depth or "smoke"
    return examined(options, None, f"--amqp-hunt={minutes}", hunts=True)
