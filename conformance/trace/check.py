"""`trace check`: recordings and captures judged offline, on this machine or on a cluster.

Progress and complaints go to stderr, Spark's own noise to a log file beside the lake, the summary to stdout. OUT is a
lake that may be used again: runs that are there already are not read again, and all of them make the history page.

    OUT/index.html     the runs that were given: what broke, and the exchange that shows it
    OUT/capture.html   for captures: where in the file each case is, in numbers that Wireshark takes
    OUT/history.html   all runs of the lake: rules over time, flakiness, latencies
    OUT/runs/, cases/  the same as documents
    OUT/lake/          the tables
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Column, Table

from conformance.catalogue import deviations
from conformance.catalogue.profiles import BadProfile
from conformance.catalogue.profiles import load as load_profile
from conformance.history.recording import BadRecording
from conformance.oracle.verdicts import Verdict
from conformance.outcome.bare import excused
from conformance.outcome.gate import Known
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, INTERRUPTED, WRONG_USE, Refused
from conformance.trace.options import CheckOptions
from conformance.trace.stages import Stages
from reports import objects
from reports.objects import Unavailable

if TYPE_CHECKING:
    from conformance.outcome.results import Results
    from conformance.trace.results import CapturePlace, Checked, GivenOptions
    from reports.pipeline.inputs import Inputs

STAGES = ("reading", "starting", "judging", "timing", "evidence", "tables", "pages")
_OURS = re.compile(r"(?:BadRecording|BadCapture|NoTraffic|BadProfile|Unavailable): (.+)")


MUCH = 1 << 30
"""Octets of which nobody tries to hold the events in this process."""


Judged = tuple["list[Checked]", "dict[str, Any]"]
"""The runs, and the summary of the lake that they are in now."""


def check(wanted: CheckOptions) -> int:
    """Judge, write everything to `out`, print a summary; the exit code."""
    known = _known(wanted)
    with Stages(STAGES, sys.stderr) as stages, _refusing():
        if wanted.distributed:
            from reports.pipeline.session import installed

            installed()
        stages("reading", 0, 0)
        from conformance.trace.results import GivenOptions
        from reports.pipeline.inputs import gather

        inputs = gather(wanted.paths, wanted.ports)
        for torn in inputs.torn:
            stages.note(f"{torn} is torn: the run was cut short there, and the line was skipped")
        given = [*map(str, wanted.paths), *(["--whole"] if wanted.whole else [])]
        told = GivenOptions(wanted.words, given, known)
        found, summary = _judged(inputs, wanted, told, stages)
        stages("pages", 0, 0)
        pages = _pages(found, summary, wanted.out)
    _tell(found, wanted)
    for page in pages:
        print(f"report: {page}", file=sys.stderr)
    return GATE_CLOSED if any(one.results.gate.reasons for one in found) else GATE_OPEN


def _judged(inputs: Inputs, wanted: CheckOptions, told: GivenOptions, stages: Stages) -> Judged:
    """In this process, if it is not too much and nobody wants it otherwise; else on Spark."""
    if not wanted.distributed and inputs.octets <= MUCH:
        from conformance.trace.check_alone import judged
        from reports.alone import store

        try:
            return judged(inputs, wanted, told, stages)
        except store.TooMany:
            stages.note(f"More than {store.MOST:,} events are judged on Spark.")
    with _kept(wanted):
        return _on_spark(inputs, wanted, told, stages)


def _on_spark(inputs: Inputs, wanted: CheckOptions, told: GivenOptions, stages: Stages) -> Judged:
    stages("starting", 0, 0)
    from reports.pipeline.session import installed, running

    installed()
    from conformance.trace.results_spark import checked
    from reports.lake.commits import Lake
    from reports.pipeline.job import Job
    from reports.pipeline.watch import watched

    log = wanted.out / "spark.log" if isinstance(wanted.out, Path) else None
    master = wanted.master or "local[*]"
    with running(log, master=master, remote=wanted.remote, octets=inputs.octets) as spark:
        job = Job(spark, Lake(objects.join(wanted.out, "lake")), stages, wanted.profile, wanted.whole)
        runs = job.judged(inputs)
        with watched(spark, "evidence", stages):
            found = checked(job, runs, told)
            job.excuse({one.results.run: excused(one.results) for one in found})
        job.tables()
        return found, job.summary()


def _known(wanted: CheckOptions) -> Known | None:
    """The deviations that the user named; and is the profile one?"""
    try:
        if wanted.profile is not None:
            load_profile(wanted.profile)
        return Known(deviations.load(wanted.deviations), wanted.deviations) if wanted.deviations else None
    except BadProfile as bad:
        raise Refused(WRONG_USE, f"--profile: {bad}.") from None
    except deviations.BadDeviations as bad:
        raise Refused(WRONG_USE, f"--deviations: {bad}.") from None


@contextmanager
def _kept(wanted: CheckOptions) -> Iterator[None]:
    """An interrupt ends the job between two commits, and says what that means. Spark may report it as its own."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except KeyboardInterrupt:
        again = shlex.join(wanted.words)
        lake = objects.join(wanted.out, "lake")
        raise Refused(
            INTERRUPTED,
            f"Interrupted. Every step that was finished is kept in {lake}, and the same words "
            f"go on from there: {again}",
        ) from None
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _refusing() -> Iterator[None]:
    """What is wrong with the files or the machine, as a refusal; also where a worker of Spark found out."""
    from reports.pipeline.inputs import BadLake
    from reports.pipeline.session import NotInstalled, Unreachable

    try:
        yield
    except (BadRecording, BadLake, NotInstalled, Unreachable, Unavailable) as bad:
        raise Refused(WRONG_USE, f"{objects.named(str(bad)).rstrip('.')}.") from None
    except Refused:
        raise
    except Exception as problem:
        told = _OURS.search(str(problem))
        if told is None:
            raise
        raise Refused(WRONG_USE, f"{objects.named(told[1].strip())}.") from None


def _pages(found: Sequence[Checked], summary: dict[str, Any], out: objects.Place) -> list[objects.Place]:
    from conformance.trace.results import document
    from reports import html
    from reports.html.captures import render as captures_page
    from reports.html.history import render as history_page

    documents = [document(one.results) for one in found]
    pages = {"index.html": html.render_many(documents), "history.html": history_page(summary)}
    captured = [
        (results, [asdict(place) for place in one.places], dict(one.about or {}))
        for one, results in zip(found, documents, strict=True)
        if one.about and one.about.get("kind") == "capture"
    ]
    if captured:
        pages["capture.html"] = captures_page(captured)
    files = {f"runs/{_slug(results['run'])}.json": results for results in documents}
    files |= {
        f"cases/{_slug(results['run'])}/{case['id']}.json": _case(results, rule, case, one.places)
        for one, results in zip(found, documents, strict=True)
        for rule in results["rules"]
        for case in rule["cases"]
    }
    texts = {
        name: json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
        for name, content in {**files, "history.json": summary}.items()
    }
    for name, text in {**texts, **pages}.items():
        objects.write(objects.join(out, name), text)
    return [objects.join(out, name) for name in pages]


def _case(
    results: dict[str, Any],
    rule: dict[str, Any],
    case: dict[str, Any],
    places: Iterable[CapturePlace],
) -> dict[str, Any]:
    """One case by itself; of a capture with the file and the numbers of its packets."""
    where = next((place for place in places if place.case == case["id"]), None)
    place = {"capture": {"file": where.file, "packet": where.packet, "packets": where.packets}} if where else {}
    return {
        **place,
        "schema": "amqp-conformance/case/1",
        "run": results["run"],
        "broker": results["broker"]["name"],
        "profile": results["profile"],
        "clause": rule["clause"],
        **case,
    }


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "run"


def _tell(found: Sequence[Checked], wanted: CheckOptions) -> None:
    from conformance.outcome.screen import colored, width
    from conformance.outcome.terminal import summary
    from conformance.trace.results import document

    if wanted.format == "json":
        content = {"schema": "amqp-conformance/check/1", "runs": [document(one.results) for one in found]}
        print(json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False))
    elif len(found) == 1:
        print(summary(found[0].results, color=colored(sys.stdout), width=width(), verbose=wanted.verbose), end="")
    else:
        console = Console(no_color=not colored(sys.stdout), highlight=False, width=width())
        _table([one.results for one in found], console)


def _table(runs: Sequence[Results], console: Console) -> None:
    """A line for each run, and under them what stands against them."""
    verdicts = (
        Verdict.HELD,
        Verdict.BROKEN,
        Verdict.DEVIATES,
        Verdict.UNSEEN,
        Verdict.INCONCLUSIVE,
        Verdict.UNDER_TESTED,
    )
    table = Table(
        "run",
        "broker",
        *(Column(name.value, justify="right", no_wrap=True) for name in verdicts),
        Column("events", justify="right", no_wrap=True),
        Column("gate", no_wrap=True),
        box=box.SIMPLE_HEAD,
    )
    for one in runs:
        gate = "open" if one.gate.open else "CLOSED"
        counts = (str(sum(rule.verdict == name and rule.status == "judged" for rule in one.rules)) for name in verdicts)
        table.add_row(one.run, one.broker.name, *counts, f"{one.events:,}", gate)
    console.print(table)
    for one in runs:
        for reason in one.gate.reasons:
            console.print(f"{one.run} ({one.broker.name}): {reason}", markup=False, soft_wrap=True)
