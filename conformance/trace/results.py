"""From gold to results: the document of a live run, made of what was recorded or captured.

Spark (`offline_spark`) or this process (`offline_alone`) counts and picks, of each kind of finding (same rule, queue
type and words, numbers and names aside), the first; its exchange is cut out by `slices`. The rest is what a live run
does: the same ledger, the same deviations, the same gate. Two things differ. Where the suite did not make the traffic,
a deviation of the profile excuses and does no more, since nobody went looking for it. And what is repeated is the
judging, so a case says how to judge again, not how to provoke.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from conformance.catalogue import profiles, rules
from conformance.catalogue.deviations import load as load_deviations
from conformance.catalogue.profiles import Profile
from conformance.catalogue.sets import SETS
from conformance.oracle.verdicts import Finding, Verdict, why_not
from conformance.outcome.assemble import Frame, build
from conformance.outcome.gate import Known
from conformance.outcome.ledger import PROPERTY, Broker, CheckEntry, Ledger, Witness, encode
from conformance.outcome.results import Results, Selection
from conformance.outcome.terminal import BY_WORD
from conformance.trace.slices import Cut, Wanted
from reports.judging.gold import DOUBT, EXERCISED, MET, REPORT
from reports.judging.tables import offer

EVERYTHING = Selection("may", "*", strict=False)
KINDS_SHOWN = 24
"""Kinds of findings of one rule of which an exchange is cut out."""

IN_SPITE = (
    "(--whole ends where a connection is not seen from its beginning to its end, or an exchange is used that is not "
    "declared there)"
)
"""Why clients may be unseen although the user gave his word: what is told in the place of advice to give it."""

NUMBERS, LISTS = r"\S*\d\S*", "#(?:(?:,| and|) #)+"


@dataclass(frozen=True, slots=True)
class CapturePlace:
    """Where the event of a finding is in a capture."""

    run: str
    case: str
    rule: str
    observed: str
    file: str
    packet: int
    packets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """One run: its results, and where in captures its cases are."""

    results: Results
    places: tuple[CapturePlace, ...] = ()
    about: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """What the user said: the command, what it was given, and deviations instead of those of the profiles."""

    words: Sequence[str]
    paths: Sequence[str]
    known: Known | None = None

    def doubt(self, why: str) -> str:
        """The reason of a doubt, for somebody who gave these words."""
        return why.replace(BY_WORD, IN_SPITE) if "--whole" in self.paths else why

    @property
    def command(self) -> str:
        return " ".join(map(shlex.quote, self.words))

    @property
    def again(self) -> str:
        """What judges the same files again."""
        return " ".join(["amqp-conformance trace check", *map(shlex.quote, self.paths)])


class FirstFinding(NamedTuple):
    """A finding of a kind, in the order in which the first is picked."""

    history: str
    at: int
    allowed: str
    observed: str
    witness: Sequence[int]
    scene: str
    amid: Sequence[str]


class Kind(NamedTuple):
    """A kind of findings: of names only the first word counts. `unless`: rules that explain it as well; `times`: how
    often it came about."""

    run: str
    rule: str
    queue_type: str
    certain: bool
    gist: str
    names: Sequence[str]
    unless: Sequence[str]
    first: FirstFinding
    seen: int
    times: int


Found = tuple[Wanted, tuple[str, str], tuple[int, int]]
"""The first finding of a kind, its scene and queue type, and how many of the kind there are, how often it came about.
"""


def _place(kind: Kind) -> tuple[object, ...]:
    return kind.run, kind.rule, not kind.certain, bool(kind.unless), -kind.seen, kind.gist, kind.names, kind.unless


def picked(kinds: Iterable[Kind]) -> Iterator[Found]:
    """The kinds in the order in which they are told."""
    shown: Counter[tuple[str, str]] = Counter()
    for kind in sorted(kinds, key=_place):
        shown[kind.run, kind.rule] += 1
        first = kind.first
        finding = Finding(
            kind.rule,
            first.history,
            first.at,
            first.allowed,
            first.observed,
            tuple(first.witness),
            kind.certain,
            tuple(first.amid),
            tuple(kind.unless),
        )
        wanted = Wanted(kind.run, finding, shown[kind.run, kind.rule] <= KINDS_SHOWN)
        yield wanted, (first.scene, kind.queue_type), (kind.seen, kind.times)


def assembled(
    headers: Mapping[str, Mapping[str, Any]],
    counts: Counts,
    found: Sequence[Found],
    cuts: Sequence[Cut],
    told: GivenOptions,
) -> list[Checked]:
    """The results of these runs."""
    seen = [(*one, got) for one, got in zip(found, cuts, strict=True)]
    return [
        _result(run, header, counts.get(run, {}), [one for one in seen if one[0].run == run], told)
        for run, header in headers.items()
    ]


Seen = tuple[Wanted, tuple[str, str], tuple[int, int], Cut]
Counts = Mapping[str, Mapping[str, Mapping[tuple[str, str | None], int]]]


def _result(
    run: str,
    header: Mapping[str, Any],
    counts: Mapping[str, Mapping[tuple[str, str | None], int]],
    seen: Sequence[Seen],
    told: GivenOptions,
) -> Checked:
    profile = profiles.load(profiles.spec(header))
    properties = header.get("server_properties") or {}
    broker = Broker(
        str(header.get("broker", "")),
        "",
        str(properties.get("product", "")),
        str(properties.get("version", "")),
        dict(properties),
        {},
        tuple(sorted(offer(header).capabilities)),
    )
    blank = CheckEntry(
        header.get("kind", ""), "", (), broker, profile.name, profile.queue_types, choices=profile.choices
    )
    ledger = Ledger()
    for number, entry in enumerate([*_counted(blank, counts, header), *_witnessed(blank, seen)]):
        ledger.take(f"{number:06}", [(PROPERTY, encode(entry))])
    results = build(
        ledger,
        Frame(
            run=run,
            started=str(header.get("started", "")),
            seconds=_lasted(header),
            command=told.command,
            rerun=told.again,
            seed=int(header.get("seed") or 0),
            depth=str(header.get("depth") or header.get("kind", "")),
            selection=_selection(header),
            known=_known(profile, told, header),
        ),
    )
    results = _judged_again(_doubted(results, counts, told), told.again)
    return Checked(results, tuple(_places(results, seen)), header)


def _selection(header: Mapping[str, Any]) -> Selection:
    """What the run that was recorded was asked for; of other traffic, everything."""
    said = header.get("selection")
    if not isinstance(said, Mapping):
        return EVERYTHING
    return Selection(
        str(said.get("level", "may")),
        str(said.get("rules", "*")),
        strict=bool(said.get("strict")),
        min_coverage=int(said.get("min_coverage", 0)),
        set=",".join(name for name in str(said.get("set", "")).split(",") if name in SETS),
    )


def _lasted(header: Mapping[str, Any]) -> float:
    """How long the traffic lasted, in seconds."""
    return (int(header.get("ended", 0)) - int(header.get("began", 0))) / 1e9


def _known(profile: Profile, told: GivenOptions, header: Mapping[str, Any]) -> Known:
    """The deviations that hold. Traffic that the suite did not make need not show them: there they excuse, no more."""
    known = told.known or Known(
        load_deviations(profile.deviations) if profile.deviations else (), profile.deviations or ""
    )
    if header.get("depth"):
        return known
    return replace(known, entries=[replace(entry, intermittent=True) for entry in known.entries], sought=False)


def _counted(
    blank: CheckEntry,
    counts: Mapping[str, Mapping[tuple[str, str | None], int]],
    header: Mapping[str, Any],
) -> Iterator[CheckEntry]:
    """How much there was, and coverage: one entry for each queue type."""
    yield replace(blank, histories=int(header.get("histories", 0)), events=int(header.get("events", 0)))
    for queue_type in sorted({key.partition("\0")[0] for key in counts}):
        exercised = {rule: times for (rule, _), times in counts.get(f"{queue_type}\0{EXERCISED}", {}).items()}
        reports: dict[str, dict[str, int]] = {}
        for (rule, observed), times in counts.get(f"{queue_type}\0{REPORT}", {}).items():
            reports.setdefault(rule, {})[str(observed)] = times
        met = {str(name): times for (_, name), times in counts.get(f"{queue_type}\0{MET}", {}).items()}
        yield replace(blank, queue_type=queue_type, exercised=exercised, reports=reports, met=met)


def _witnessed(blank: CheckEntry, seen: Iterable[Seen]) -> Iterator[CheckEntry]:
    for wanted, (scene, queue_type), (often, times), got in seen:
        witness = Witness(wanted.finding, got.steps, "recorded", often, times=times)
        yield replace(blank, scene=scene or blank.scene, queue_type=queue_type, witnesses=(witness,))


def _doubted(
    results: Results, counts: Mapping[str, Mapping[tuple[str, str | None], int]], told: GivenOptions
) -> Results:
    """Rules that had something to say, in histories that lack what it takes, are in doubt and not untested."""
    reasons: dict[str, Counter[str]] = {}
    for key in sorted(counts):
        if key.endswith(f"\0{DOUBT}"):
            for (rule, reason), histories in counts[key].items():
                reasons.setdefault(rule, Counter())[str(reason)] += histories
    changed = tuple(
        replace(rule, verdict=str(Verdict.INCONCLUSIVE), reason=told.doubt(why_not(reasons[rule.id])))
        if rule.verdict == Verdict.UNDER_TESTED and rule.id in reasons
        else rule
        for rule in results.rules
    )
    totals = {verdict.value: sum(rule.verdict == verdict for rule in changed) for verdict in Verdict}
    return replace(results, rules=changed, totals=totals)


def _judged_again(results: Results, again: str) -> Results:
    return replace(
        results,
        rules=tuple(
            replace(rule, cases=tuple(replace(case, rerun=again) for case in rule.cases)) for rule in results.rules
        ),
    )


def _places(results: Results, seen: Sequence[Seen]) -> Iterator[CapturePlace]:
    """Where the cases are in a capture; nothing for recordings, which have no packets."""
    for rule in results.rules:
        for case in rule.cases:
            got = next(
                (
                    got
                    for wanted, _, _, got in seen
                    if (wanted.finding.rule, wanted.finding.history, wanted.finding.at)
                    == (case.rule, case.history, case.at)
                ),
                None,
            )
            if got is not None and case.at in got.packets:
                file, packet = got.packets[case.at]
                shown = sorted({number for name, number in got.packets.values() if name == file})
                yield CapturePlace(results.run, case.id, rule.id, case.observed, file, packet, tuple(shown))


def document(results: Results) -> dict[str, Any]:
    """The results as plain JSON, as pages want them."""
    from conformance.outcome.results import to_json

    plain: dict[str, Any] = json.loads(to_json(results))
    return plain


def broken(checked: Iterable[Checked]) -> list[tuple[str, str]]:
    """(run, rule) that stand against a broker: broken, judged, MUST, and in no known deviation."""
    return [
        (one.results.run, rule.id)
        for one in checked
        for rule in one.results.rules
        if rule.verdict == Verdict.BROKEN and rule.level == "must" and rules.get(rule.id).judged
    ]
