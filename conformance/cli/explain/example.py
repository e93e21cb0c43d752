"""An exchange that breaks a rule: from the results of a run, else played on a reference broker that is wrong in it.

What is played is played now: a scene of the rule on one of the mutants that must break it, in some tenths of a second.
A rule that only a machine brings to break, or that no mutant breaks, has no example.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from conformance.campaigns.hunt import Unhuntable, embedded, held_to
from conformance.cli.explain.drawing import draw
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play, plays_for
from conformance.drive.run.runner import observe
from conformance.drive.watchdog import TimeIsOver, alarm
from conformance.history.events import Event
from conformance.oracle.verdicts import Finding, Judgement
from conformance.outcome.exchanges import exchange
from conformance.outcome.results import Results
from conformance.outcome.terminal import painter
from reference_broker.mutants import MUTANTS
from reference_broker.mutants.kinds import Mutant
from reports.html.exchange import picture

LONGEST = 10.0
"""Seconds for the plays of one mutant."""
MOST = 3
"""Mutants that are tried."""


@dataclass(frozen=True, slots=True)
class Example:
    """Who does it, and the case as it stands in results.json, as far as it takes to draw it."""

    who: str
    case: dict[str, Any]


def format_example(example: Example, width: int, *, color: bool = False) -> str:
    """The example as text of this width."""
    paint = painter(color)
    head = textwrap.wrap(_headline(example), width)
    seen = textwrap.wrap(f"Seen: {example.case['observed']}", width, initial_indent="  ", subsequent_indent="  ")
    lines = [paint("strong", line) for line in head]
    return "\n".join([*lines, *draw(picture(example.case), width, paint), *seen]) + "\n"


def _headline(example: Example) -> str:
    if example.case.get("certain", True):
        return f"How {example.who} breaks it"
    return f"What {example.who} did that may speak against it (the text, or a race, may explain it)"


class _Found(BaseException):
    """Ends a play at once."""

    def __init__(self, example: Example) -> None:
        self.example = example


def seen(results: Results, rule: str) -> Example | None:
    """The first case of this rule in a run; one that is certain, if there is one."""
    cases = next((one.cases for one in results.rules if one.id == rule), ())
    cases = tuple(sorted(cases, key=lambda case: not case.certain))
    return Example(results.broker.name, asdict(cases[0])) if cases else None


def played(rule: str) -> Example | None:
    """From the mutant that is nearest to the rule."""
    for mutant in _mutants(rule):
        with suppress(Unhuntable, TimeIsOver):
            try:
                with alarm(LONGEST):
                    _play(rule, mutant)
            except _Found as found:
                return found.example
    return None


def _mutants(rule: str) -> Sequence[Mutant]:
    """Those of which this is the first rule, and that break few others, before all others."""
    found = [mutant for mutant in MUTANTS.values() if rule in mutant.rules]
    return sorted(found, key=lambda mutant: (mutant.rules.index(rule), len(mutant.rules), mutant.name))[:MOST]


def _play(rule: str, mutant: Mutant) -> None:
    """Raises _Found where it breaks."""
    with embedded(held_to((rule,)), 0, "smoke", (mutant.name,)) as bench:
        for play in _scenes(rule, bench):

            def watch(judgement: Judgement, history: Sequence[Event], play: Play = play) -> None:
                for finding in bench.damning(judgement, play.queue_type):
                    if finding.rule == rule:
                        raise _Found(_example(mutant, finding, history, bench))

            observe(play, bench, watch)


def _scenes(rule: str, bench: Bench) -> Iterator[Play]:
    return (play for play in plays_for((rule,), bench.profile, bench.depth) if not play.machine)


def _example(mutant: Mutant, finding: Finding, history: Sequence[Event], bench: Bench) -> Example:
    steps = [asdict(step) for step in exchange(history, finding, bench.profile)]
    return Example(
        f"a broker in which {mutant.says}",
        {
            "rule": finding.rule,
            "at": finding.at,
            "allowed": finding.allowed,
            "observed": finding.observed,
            "steps": steps,
        },
    )
