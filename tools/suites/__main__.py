"""`make clients-suites`: client libraries' own suites on the reference broker, beside a RabbitMQ.

    python -m tools.suites [NAME...] --rabbitmq URL [--admin URL] [--source NAME=FOLDER ...]

Tallies go to build/suites/NAME-reference.json and NAME-RabbitMQ.json; the page docs/client-suites.md is made of all
that are there; a suite that was not played keeps its former figures. Ends with 1 where RabbitMQ passes a test that we
fail without a reason in reasons.toml, where a reason is stale, or where a suite cannot be played. One whose tests are
only in a repository that cannot be reached is told, and is no failure, unless it was asked for by its name.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.suites import page
from tools.suites.brokers import rabbitmq, reference
from tools.suites.suite import FOLDER, Library, NoSuite, NoTests, libraries, play, prepare


def measured(library: Library, options: argparse.Namespace) -> None:
    """Both tallies of one library, or only ours where no RabbitMQ is named."""
    prepare(library, options.source.get(library.name))
    with reference([library.sources / name for name in library.tls]) as broker:
        tally = play(library, broker)
        tally.write(FOLDER / f"{library.name}-reference.json")
        print(page.line(tally), flush=True)
    if options.rabbitmq:
        with rabbitmq(options.rabbitmq, options.admin) as broker:
            tally = play(library, broker)
            tally.write(FOLDER / f"{library.name}-RabbitMQ.json")
            print(page.line(tally), flush=True)


def source(text: str) -> tuple[str, Path]:
    name, _, folder = text.partition("=")
    if name not in libraries() or not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FOLDER, of {', '.join(libraries())}")
    return name, Path(folder)


def main(arguments: Sequence[str] | None = None) -> int:
    known = libraries()
    parser = argparse.ArgumentParser(prog="python -m tools.suites", description="Client libraries' own suites.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)} (default: all)")
    parser.add_argument("--rabbitmq", metavar="URL", help="the RabbitMQ to compare with")
    parser.add_argument("--admin", metavar="URL", help="and its management API")
    parser.add_argument(
        "--source",
        action="append",
        type=source,
        default=[],
        metavar="NAME=FOLDER",
        help="a checkout, where the sdist holds no tests",
    )
    options = parser.parse_args(arguments)
    options.source = dict(options.source)
    wrong = [name for name in options.names if name not in known]
    if wrong:
        parser.error(f"no library {', '.join(wrong)}; there are {', '.join(known)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    missing = []
    for name in options.names or known:
        try:
            measured(known[name], options)
        except NoSuite as why:
            missing += [name] if name in options.names or not isinstance(why, NoTests) else []
            print(f"{name}: not played: {why}", file=sys.stderr, flush=True)
    problems = page.write()
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems or missing))


if __name__ == "__main__":
    sys.exit(main())
