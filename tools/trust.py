"""`make trust`: how many wrong brokers the suite finds, and how often it accuses a right one. Measured, never typed in.

    python -m tools.trust [--sample N --draw SEED] [--legal RUNS] [--broker URL]

A sample draws mutants, and twice as many plays of the correct broker, which are played with a seed of their own.

Three campaigns, each of which carries on where it was interrupted: mutants of the reference broker; beside them, since
it mostly waits, wrong behaviours on the wire in front of a real broker (or of the reference broker, where none is
given); and machines on brokers that take variations. The figures go to build/trust.json, or with a sample to
build/trust-sample.json; the whole document of the first two to build/mutants, of which docs/trust.md is made. The gate
is closed by a mutant that survives, a false alarm, and a MUST that stays under its threshold.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from conformance.campaigns import legal
from conformance.campaigns.detection import FOLDER, ControlSample, DetectionCampaign
from conformance.cli.mutants import keep, sound, survived
from conformance.drive.drivers.errors import Unreachable
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, INTERRUPTED, UNREACHABLE
from reference_broker.mutants import MUTANTS
from tools import wire_mutants

TRUST = Path("build") / "trust.json"
SAMPLE = Path("build") / "trust-sample.json"
LEGAL = 20_000
PLAYS = 2
"""Of the correct broker, for each mutant of a sample."""


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the gate."""
    options = parse(arguments)
    try:
        return measure(options)
    except Unreachable as unreachable:
        print(f"The broker cannot be used ({unreachable.layer}): {unreachable.message}", file=sys.stderr)
        return UNREACHABLE
    except KeyboardInterrupt:
        print("Interrupted. What is done is kept; the same command carries on.", file=sys.stderr)
        return INTERRUPTED


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.trust", description="Can the suite be trusted?")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many mutants, drawn; and fewer seeds")
    parser.add_argument("--draw", type=int, default=0, metavar="SEED", help="of the sample (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="per mutant (default: %(default)s)")
    parser.add_argument("--legal", type=int, default=LEGAL, metavar="RUNS", help="histories in lawful chaos")
    parser.add_argument(
        "--broker",
        metavar="URL",
        default=os.environ.get("AMQP_RABBITMQ_URL"),
        help="the real broker behind the wire mutants [AMQP_RABBITMQ_URL]",
    )
    parser.add_argument("-n", "--workers", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> int:
    begin = time.monotonic()
    mutants, sample = list(MUTANTS.values()), None
    if options.sample:
        mutants = random.Random(options.draw).sample(mutants, min(options.sample, len(mutants)))
        sample = ControlSample(PLAYS * options.sample, options.draw)
    out = SAMPLE if options.sample else TRUST
    print(f"{len(mutants)} mutants{f', draw {options.draw}' if options.sample else ''}", file=sys.stderr)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as beside:
        on_the_wire = beside.submit(wire_mutants.run, options.broker)
        document = DetectionCampaign(mutants, range(options.seeds), workers=options.workers, sample=sample).run()
        print("wrong on the wire", file=sys.stderr)
        document["wire"] = wire = on_the_wire.result()
    if not options.sample:
        keep(document, FOLDER)
    legal.merge(out, figures(document, wire))
    lawful = GATE_OPEN
    if options.legal:
        print("right brokers that take variations", file=sys.stderr)
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            lawful = legal.run(legal.LegalOptions(options.legal, workers=options.workers, trust=out))
        if lawful != GATE_OPEN:
            print(told.getvalue())
    legal.merge(out, {"seconds": round(time.monotonic() - begin)})
    print("\n".join(words(json.loads(out.read_text(encoding="utf-8")), document)))
    whole = sound(document) and wire["killed"] == len(wire["mutants"])
    return GATE_OPEN if whole and lawful == GATE_OPEN else GATE_CLOSED


def figures(document: Mapping[str, Any], wire: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of the campaigns in numbers."""
    bugs = field_bugs(document["mutants"])
    return {
        "mutants": len(document["mutants"]),
        "killed": document["killed"],
        "survivors": document["survivors"],
        "seeds": len(document["seeds"]),
        "depth": document["depth"],
        "wire_mutants": len(wire["mutants"]),
        "wire_killed": wire["killed"],
        "wire_broker": wire["broker"],
        "field_bugs": len(bugs),
        "field_bugs_found": sum(bugs.values()),
        "examples_median": document["examples_median"],
        "examples_worst": document["examples_worst"],
        "control_histories": document["control"]["histories"],
        "control_broken": len(document["control"]["broken"]),
        "vacuous": document["vacuous"],
    }


def field_bugs(rows: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    """By link: is every mutant killed that imitates this bug of a real broker?"""
    bugs: dict[str, bool] = {}
    for row in rows:
        if row["field"]:
            bugs[row["field"]] = bugs.get(row["field"], True) and row["killed"]
    return bugs


def words(figures: Mapping[str, Any], document: Mapping[str, Any]) -> list[str]:
    """The figures for a person, and what is wrong, one by one."""
    seeds = len(document["seeds"])
    lines = [
        f"mutants {figures['mutants']}, killed {figures['killed']}, survivors {len(figures['survivors'])}"
        f" ({figures['seeds']} seeds each, depth {figures['depth']})",
        *(f"  {row['name']}: {survived(row, seeds)}" for row in document["mutants"] if not row["killed"]),
        f"on the wire, in front of {figures['wire_broker']}: mutants {figures['wire_mutants']}, "
        f"killed {figures['wire_killed']}",
        *(f"  {row['name']} survived" for row in document["wire"]["mutants"] if not row["killed"]),
    ]
    if "chaos_runs" in figures:
        lines.append(f"chaos runs {figures['chaos_runs']}, false alarms {figures['false_alarms']}")
    control = document["control"]
    return [
        *lines,
        f"field bugs in scope {figures['field_bugs']}, found {figures['field_bugs_found']}",
        f"examples until found: median {figures['examples_median'] or 0:g}, worst {figures['examples_worst']}",
        f"correct broker: {control['histories']} histories, {len(control['broken'])} broken verdicts",
        *(f"  false alarm, {told}" for told in (*control["broken"], *control["troubles"])),
        f"MUST rules under their threshold: {len(document['vacuous'])}",
        *(f"  {told}" for told in document["vacuous"]),
        f"{figures['seconds']} s now, {document['seconds']:.0f} s of playing in all",
    ]


if __name__ == "__main__":
    sys.exit(main())
