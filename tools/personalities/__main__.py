"""The suite against strangers whose truth is known: `make personalities [RUNS=n] [SEED=n] [DEPTH=smoke]`.

    python -m tools.personalities [--runs N] [--seed SEED] [--depth DEPTH] [--bound SECONDS] [--only GLOB]

Every personality that has a name, and N that are drawn, are each a process of their own on a free port; the command
line examines them as anybody would, and is killed where it does not end in its bound. What it said is kept, one file a
stranger, so that an interrupted campaign carries on, and a truth that is put right is told without playing again. The
figures go to build/personalities.json, of which docs/trust.md is made. Nothing that happens to one run ends the others.
The exit code is 1 where a goal is missed (see `truth.sound`).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reference_broker.personalities import PERSONALITIES, Personality, drawn, personality
from tools.personalities.truth import Compared, How, Run, Said, answers_of, compare, sound, tally

ROOT = Path(__file__).resolve().parents[2]
FIGURES = Path("build") / "personalities.json"
KEPT = Path("build") / "personalities"
BOUNDS = {"smoke": 180.0, "ci": 960.0, "deep": 3600.0}
"""Seconds of a run, by depth."""
INTERRUPT = 10.0
"""Seconds in which an interrupted run may still say what it knows. It has hung all the same."""
STARTS = 20.0
"""Seconds in which a broker has to listen."""
DONE, GATE_CLOSED, INTERRUPTED = 0, 1, 130
GIVEN_UP = (2, 3, 4)
"""Exit codes of a run that says that it could not examine the broker."""


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    depth: str = "smoke"
    bound: float = BOUNDS["smoke"]
    kept: Path = KEPT
    arguments: tuple[str, ...] = ()
    """More of them, for the suite."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    bound = options.bound or BOUNDS[options.depth]
    wanted = CampaignOptions(options.depth, bound, options.kept, tuple(options.argument))
    named = [personality(one) for one in options.name] or chosen(options.runs, options.seed)
    strangers = [one for one in named if fnmatchcase(one.name, options.only)]
    runs: list[Run] = []
    code = DONE
    try:
        for number, (stranger, run) in enumerate(played(strangers, wanted, options.workers, options.fresh), 1):
            runs.append(run)
            print(line(number, len(strangers), runs[-1], compare(runs[-1], stranger.truth)), flush=True)
    except KeyboardInterrupt:
        print("Interrupted. What is done is kept; the same command carries on.", file=sys.stderr)
        code = INTERRUPTED
    document = figures(runs, strangers, wanted)
    if options.only == "*" and not options.name and code == DONE:
        FIGURES.parent.mkdir(exist_ok=True)
        FIGURES.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print("\n".join(words(document)))
    return code if code != DONE or sound(document) else GATE_CLOSED


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.personalities", description="Are strangers judged rightly?")
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="how many more are drawn")
    parser.add_argument("--seed", type=int, default=0, help="of the first of those (default: %(default)s)")
    parser.add_argument("--depth", choices=BOUNDS, default="smoke")
    parser.add_argument("--bound", type=float, metavar="SECONDS", help="of one run (default: by depth)")
    parser.add_argument("-n", "--workers", type=int, default=os.cpu_count() or 1, help="so many at a time")
    parser.add_argument("--name", action="append", default=[], help="only this one, or these traits (TRAIT+TRAIT)")
    parser.add_argument("--only", metavar="GLOB", default="*", help="of those, who are called so; writes no figures")
    parser.add_argument("--fresh", action="store_true", help="play again what has been played")
    parser.add_argument("--kept", type=Path, default=KEPT, metavar="DIR", help="where runs are kept (%(default)s)")
    parser.add_argument("--argument", action="append", default=[], help="one more for the suite; may be repeated")
    return parser.parse_args(arguments)


def chosen(runs: int, seed: int) -> list[Personality]:
    return [*PERSONALITIES.values(), *(drawn(seed + each) for each in range(runs))]


def played(
    strangers: Sequence[Personality],
    wanted: CampaignOptions,
    workers: int,
    fresh: bool,
) -> Iterator[tuple[Personality, Run]]:
    """Each with its run, in the order of the strangers; so many at a time, for most of a run is waiting."""
    with ThreadPoolExecutor(workers) as pool:
        try:
            yield from zip(strangers, pool.map(lambda one: examined(one, wanted, fresh), strangers), strict=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


# -- one stranger


def examined(stranger: Personality, wanted: CampaignOptions, fresh: bool = False) -> Run:
    """As kept from an earlier campaign with the same suite, or played now."""
    path = wanted.kept / wanted.depth / f"{stranger.name}.json"
    key = {
        "suite": source(),
        "traits": [one.name for one in stranger.traits],
        "bound": wanted.bound,
        "arguments": list(wanted.arguments),
    }
    if path.exists() and not fresh:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["key"] == key:
            return restored(kept["run"])
    run = play(stranger, wanted)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"key": key, "run": asdict(run)}, indent=1) + "\n", encoding="utf-8")
    return run


def restored(kept: dict[str, Any]) -> Run:
    kept["said"] = {rule: Said(**one) for rule, one in kept["said"].items()}
    return Run(**{**kept, "traits": tuple(kept["traits"])})


def play(stranger: Personality, wanted: CampaignOptions) -> Run:
    names = tuple(one.name for one in stranger.traits)
    begin = time.monotonic()
    try:
        with broker(stranger.name) as url:
            begin = time.monotonic()
            code, out, told = suite(url, wanted)
    except BrokerFailed as failed:
        return Run(stranger.name, names, "aborted", None, 0.0, {}, str(failed))
    seconds = round(time.monotonic() - begin, 1)
    last = next((line for line in reversed(told.splitlines()) if line.strip()), "")
    results = document(out)
    became = how(code, results is not None, stranger.breaks_down)
    return Run(stranger.name, names, became, code, seconds, answers_of(results) if results is not None else {}, last)


def how(code: int | None, results: bool, breaks_down: bool) -> How:
    """`code` is None for a run that was killed. Only a broker that breaks down may be given up, with or without
    anything to say of it before."""
    if code is None:
        return "hung"
    given_up = code in GIVEN_UP
    return "judged" if (given_up and breaks_down) or (results and not given_up) else "aborted"


class BrokerFailed(Exception):
    """It did not begin to listen: a fault of ours."""


@contextlib.contextmanager
def broker(name: str) -> Iterator[str]:
    """Where a broker with this personality listens, in a process of its own."""
    command = [sys.executable, "-m", "reference_broker", "--personality", name, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], STARTS)
        first = process.stdout.readline() if ready else ""
        if not first.startswith("listening on "):
            raise BrokerFailed(f"the broker {name} does not listen: {first!r}")
        yield first.removeprefix("listening on ").strip()
    finally:
        process.kill()
        process.communicate()


def suite(url: str, wanted: CampaignOptions) -> tuple[int | None, str, str]:
    """Exit code (None: it was killed), what it printed, and what it complained of."""
    minutes = max(1, int(wanted.bound / 60) - 1)
    command = [
        sys.executable,
        "-m",
        "conformance.cli",
        "run",
        url,
        "--depth",
        wanted.depth,
        "--format",
        "json",
        "--time-limit",
        str(minutes),
        *wanted.arguments,
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        out, told = process.communicate(timeout=wanted.bound)
    except subprocess.TimeoutExpired:
        out, told = ended(process)
        return None, out, told
    except BaseException:
        ended(process)
        raise
    return process.returncode, out, told


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Interrupt it, for what it knows so far; then kill it and all that it started, which are a group of their own."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=INTERRUPT)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()


def document(out: str) -> dict[str, Any] | None:
    try:
        read = json.loads(out)
    except ValueError:
        return None
    return read if isinstance(read, dict) and "rules" in read else None


def source() -> str:
    """Of the code that examines and is examined; the table of truth is no part of it, for it is compared anew."""
    digest = hashlib.sha256()
    for package in ("codec", "conformance", "reference_broker"):
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix in (".py", ".toml") and "personalities" not in path.parts:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# -- all of them


def figures(runs: Sequence[Run], strangers: Sequence[Personality], wanted: CampaignOptions) -> dict[str, Any]:
    truths = {one.name: one.truth for one in strangers}
    compared = [compare(run, truths[run.personality]) for run in runs]
    named = sum(run.personality in PERSONALITIES for run in runs)
    return {
        "depth": wanted.depth,
        "bound": wanted.bound,
        "named": named,
        "drawn": len(runs) - named,
        **tally(runs, compared),
    }


def line(number: int, total: int, run: Run, compared: Compared) -> str:
    """The progress of a campaign, one stranger a line."""
    parts = [
        f"{number}/{total} {run.personality}: {run.seconds:.0f} s",
        f"{compared.judged} judged",
        f"{len(compared.found)} found",
        f"{len(compared.missed)} not seen",
        *(f"{one.rule} wrongly {one.what}" for one in compared.wrong),
    ]
    return ", ".join(parts if run.how == "judged" else [*parts, f"{run.how}: {run.last_words[:160]}"])


def words(document: dict[str, Any]) -> list[str]:
    """The figures for a person."""
    judged = document["rules_judged"]
    return [
        f"personalities {document['personalities']}, depth {document['depth']}, rules judged {judged}",
        f"wrongly accused {document['wrongly_accused']} ({document['wrongly_accused'] / (judged or 1):.2%}), "
        f"wrongly held {document['wrongly_held']} ({document['wrongly_held'] / (judged or 1):.2%})",
        f"broken rules found {document['found']}, not seen {document['missed']}",
        f"hung {document['hung']}, aborted {document['aborted']}, "
        f"seconds: median {document['median_seconds']}, worst {document['worst_seconds']}",
    ]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # nothing of ours is to outlive us
    sys.exit(main())
