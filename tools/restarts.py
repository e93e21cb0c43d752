"""Measures what a broker keeps when it is ended and started again many times: DUR and the confirms that outlive a kill.

    python -m tools.restarts --rounds 20 --restart COMMAND [--kill COMMAND] NAME=URL
    python -m tools.restarts --rounds 20                      the reference broker, with both

A round is one run of the suite on these rules alone, with a seed of its own, on a broker that goes on with its data. It
restarts the broker a few times in good order, and kills it where that can be done. Printed is how often each rule got
each verdict; the exit code is 1 if a rule was broken, or was judged in no round. OUT/NAME/ROUND/ keeps the report of a
round, OUT/restarts.json the tally.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.repeat import Tally

RULES = "DUR-*,CNF-013"
"""What a restart keeps, and what a kill does."""
SHOWN = frozenset({"held", "deviates"})


def again(folder: Path, port: int, how: str) -> None:
    """Ends the reference broker that keeps its data there by this signal, and starts it."""
    told = folder / "pid"
    if told.exists():
        _end(int(told.read_text()), how)
    command = [sys.executable, "-m", "reference_broker", "--port", str(port), "--data", str(folder / "data")]
    with (folder / "log.txt").open("w") as log:
        broker = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=log, text=True)
    told.write_text(str(broker.pid))
    assert broker.stdout is not None
    with broker.stdout as said:
        listens = said.readline().startswith("listening on ")
    if not listens:
        raise SystemExit(f"the reference broker does not listen at {port}: {(folder / 'log.txt').read_text().strip()}")


def _end(process: int, how: str) -> None:
    """Sends the signal, and waits until the last of the process's threads is gone, and its sockets with it."""
    ended = os.pidfd_open(process)
    try:
        os.kill(process, getattr(signal, how))
        select.select([ended], [], [])
    finally:
        os.close(ended)


@contextmanager
def reference(folder: Path) -> Iterator[tuple[str, str, str]]:
    """A reference broker that goes on with its data: its URL, and the commands that restart and kill it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pid").unlink(missing_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    again(folder, port, "SIGTERM")
    command = [sys.executable, "-m", "tools.restarts", "--again", str(folder), "--port", str(port), "--signal"]
    try:
        yield f"amqp://127.0.0.1:{port}", shlex.join([*command, "SIGTERM"]), shlex.join([*command, "SIGKILL"])
    finally:
        _end(int((folder / "pid").read_text()), "SIGKILL")


def one_round(url: str, number: int, options: argparse.Namespace, out: Path, tally: Tally) -> None:
    """One run, with its number as seed."""
    command = [sys.executable, "-m", "conformance.cli", "run", url, "--rules", options.rules, "--depth", options.depth]
    command += ["--seed", str(number), "--min-coverage", "0", "--report", str(out), "--restart", options.restart]
    command += ["--kill", options.kill] if options.kill else []
    out.mkdir(parents=True, exist_ok=True)
    with (out / "log.txt").open("w") as log:
        code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
    results = out / "results.json"
    tally.add(code, json.loads(results.read_text()) if results.exists() else None)


def measure(name: str, url: str, options: argparse.Namespace) -> int:
    """All rounds on one broker, and the table."""
    tally = Tally(name)
    for number in range(options.rounds):
        one_round(url, number, options, options.out / name / f"{number:03}", tally)
        (options.out / "restarts.json").write_text(json.dumps(tally.row(), indent=1, sort_keys=True) + "\n")
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    print(table(tally))
    return 1 if wrong(tally) else 0


def table(tally: Tally) -> str:
    """How often each rule got each verdict."""
    exits = ", ".join(f"exit {code} x{count}" for code, count in sorted(tally.exits.items()))
    lines = [f"{tally.name} ({tally.version or 'no results'}): {tally.exits.total()} rounds ({exits})"]
    for rule, seen in sorted(tally.verdicts.items()):
        lines.append(f"  {rule}  " + ", ".join(f"{verdict} x{count}" for verdict, count in seen.most_common()))
    return "\n".join(lines)


def wrong(tally: Tally) -> list[str]:
    """The rules that were broken in a round, or seen to be kept in none."""
    return [rule for rule, seen in tally.verdicts.items() if seen["broken"] or SHOWN.isdisjoint(seen)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.restarts", description="What do restarts keep?")
    parser.add_argument("broker", nargs="?", metavar="NAME=URL", help="a broker; none: the reference broker")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--restart", help="the command that restarts it in good order")
    parser.add_argument("--kill", help="the command that kills it and starts it again")
    parser.add_argument("--rules", default=RULES)
    parser.add_argument("--depth", default="smoke")
    parser.add_argument("--out", type=Path, default=Path("build/restarts"))
    for inner in ("--again", "--port", "--signal"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.again:
        again(Path(options.again), int(options.port), options.signal)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    if options.broker:
        name, found, url = options.broker.partition("=")
        if not (found and options.restart):
            parser.error("a broker is named NAME=URL, with the command that restarts it")
        return measure(name, url, options)
    with reference((options.out / "broker").resolve()) as (url, options.restart, options.kill):
        return measure("reference", url, options)


if __name__ == "__main__":
    sys.exit(main())
