"""Writes docs/compatibility.md, what is known about each version: `python -m tools.pages.compatibility [build/matrix]`.

The page shows the data that the gate uses. Profiles say which rules apply to a version, and how the version reads what
the texts leave open. Deviations files say which rules it is known to break, with evidence. Known data is no verdict;
only a run gives verdicts. So the verdicts of `make matrix` come first. They are read from the folder that is given, and
kept in compatibility.json for the next time. Both files are committed, and a test proves that the page is fresh.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.catalogue import deviations, profiles, rules
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.profiles import Profile
from conformance.catalogue.rules import Rule
from conformance.oracle.verdicts import Verdict
from conformance.outcome.markdown import link, table
from conformance.outcome.results import Results, from_json

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"
SEEN = PAGE.with_suffix(".json")
TEXTS = "documented"

HEAD = """# Compatibility, version by version

`make docs` makes this page from the results of `make matrix` and from `profiles/` and `deviations/` in
`conformance/catalogue/`; change those, not this page. The gate uses the same data. It closes when a version breaks a
rule that is not listed here. It also closes when a listed deviation no longer happens. To test your own broker, see
[the README](../README.md); to compare two versions, run `amqp-conformance diff`.
"""
_TRIED = (
    Verdict.HELD,
    Verdict.DEVIATES,
    Verdict.UNSEEN,
    Verdict.BROKEN,
    Verdict.INCONCLUSIVE,
    Verdict.UNDER_TESTED,
    Verdict.NOT_OFFERED,
)


def digest(folder: Path) -> list[dict[str, Any]]:
    """The verdicts on real brokers from the runs of a matrix that tested all rules and finished."""
    runs = [
        from_json(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
        if path.stem not in ("compare", "gates") and not path.stem.startswith("reference-")
    ]
    whole = [run for run in runs if run.complete and run.selection.rules == "*" and not run.selection.set]
    return [_digested(run) for run in sorted(whole, key=lambda run: [*map(_number, run.broker.version.split("."))])]


def _digested(run: Results) -> dict[str, Any]:
    verdicts = {str(verdict): [rule.id for rule in run.rules if rule.verdict == verdict] for verdict in _TRIED}
    return {
        "broker": run.broker.name,
        "run": run.run,
        "started": run.started,
        "suite": run.suite,
        "depth": run.depth,
        "seed": run.seed,
        "verdicts": {verdict: names for verdict, names in verdicts.items() if names},
    }


def page() -> str:
    """The whole page."""
    known = [profiles.load(name) for name in profiles.NAMES if name != TEXTS]
    every = sorted(known, key=lambda profile: (profile.product, [*map(_number, profile.versions[0].split("."))]))
    ordered = [profile for profile in every if profile.measured]
    named = {profile.name: _deviations(profile) for profile in ordered}
    return "\n".join(
        [
            HEAD,
            _seen(json.loads(SEEN.read_text(encoding="utf-8")) if SEEN.exists() else []),
            _broken(ordered, named),
            _describe_deviations(ordered, named),
            _not_asked(ordered),
            _readings(ordered),
            _not_run(every),
        ]
    )


def _seen(runs: Sequence[Mapping[str, Any]]) -> str:
    """How many rules have each verdict, and the rules that some version does not hold."""
    if not runs:
        return "## What runs found\n\nThere are no results of `make matrix`; this page shows what is known.\n"
    names = [str(run["broker"]) for run in runs]
    counts = [
        [verdict.replace("-", " "), *(str(len(run["verdicts"].get(verdict, ()))) for run in runs)]
        for verdict in map(str, _TRIED)
        if any(verdict in run["verdicts"] for run in runs)
    ]
    of = [{rule: verdict for verdict, found in run["verdicts"].items() for rule in found} for run in runs]
    rows = [
        [link(rule), rule.title, rule.level, *(_told_as(one.get(rule.id, "")) for one in of)]
        for rule in rules.CATALOGUE.values()
        if {one.get(rule.id) for one in of} - {"held", None}
    ]
    return "\n".join(
        [
            "## What runs found\n",
            *map(_run, runs),
            "",
            table(["", *names], counts),
            "The rules that not every version holds, or that do not apply to every version. *deviates*: the rule is "
            "broken in a way that is known and described below. *✓, a race*: the rule is known to break now and then, "
            "and did not break in this run.",
            "",
            table(["rule", "", "level", *names], rows),
        ]
    )


def _run(run: Mapping[str, Any]) -> str:
    return (
        f"- {run['broker']}: run {run['run']} of {run['started'][:10]}, depth {run['depth']}, seed {run['seed']}, "
        f"version {run['suite']} of the suite"
    )


def _told_as(verdict: str) -> str:
    return {"held": "✓", "not-offered": "does not apply", "unseen": "✓, a race"}.get(verdict, verdict.replace("-", " "))


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else 0


def _deviations(profile: Profile) -> Sequence[Deviation]:
    return deviations.load(profile.deviations) if profile.deviations else ()


def _broken(ordered: Sequence[Profile], named: dict[str, Sequence[Deviation]]) -> str:
    rows = [
        [link(rule), rule.title, rule.level, *cells]
        for rule in rules.CATALOGUE.values()
        if any(cells := [_cell(named[profile.name], rule) for profile in ordered])
    ]
    told = table(["rule", "", "level", *(profile.title for profile in ordered)], rows)
    return (
        "## Rules that a version is known to break\n\nA cell names the queue types; *a race* means that a run may "
        f"miss it. In an empty cell, no deviation is known.\n\n{told}"
    )


def _cell(entries: Iterable[Deviation], rule: Rule) -> str:
    words = dict.fromkeys(
        f"{' and '.join(entry.queue_types)}{', *a race*' if entry.intermittent else ''}"
        for entry in entries
        if entry.rule == rule.id
    )
    return "; ".join(words)


def _describe_deviations(ordered: Sequence[Profile], named: dict[str, Sequence[Deviation]]) -> str:
    lines = ["## In words\n"]
    for profile in ordered:
        entries = named[profile.name]
        lines.append(f"### {profile.title}\n")
        lines += map(_sentence, entries) if profile.deviations else ["Nobody has looked for deviations yet."]
        lines.append("")
    return "\n".join(lines)


def _sentence(entry: Deviation) -> str:
    where, note = " and ".join(entry.queue_types), " ".join(entry.note.split())
    return f"- {link(rules.get(entry.rule))} ({where}): {note} Evidence: {entry.evidence}."


def _not_asked(ordered: Sequence[Profile]) -> str:
    rows = []
    for rule in rules.CATALOGUE.values():
        reasons = [rule.ruled_out(profile.choices) for profile in ordered]
        if any(reasons):
            rows.append([link(rule), rule.title, *("does not apply" if reason else "" for reason in reasons)])
    return (
        "## Rules that do not apply to a version\n\nThese rules depend on how a version reads what the texts leave "
        "open (see the next table).\n\n"
        f"{table(['rule', '', *(profile.title for profile in ordered)], rows)}"
    )


def _readings(ordered: Sequence[Profile]) -> str:
    rows = [
        [choice.question, *_values(choice.name, ordered)]
        for choice in profiles.CHOICES.values()
        if not choice.per_queue
    ]
    return (
        "## How a version reads what the texts leave open\n\n"
        f"{table(['', *(profile.title for profile in ordered)], rows)}"
    )


def _not_run(every: Iterable[Profile]) -> str:
    """The profiles that were not measured: the version they are taken from, the basis, and the differences."""
    rows = []
    for profile in every:
        if not profile.measured:
            base = profiles.load(profile.interpolated_from)
            left_out = {entry.rule for entry in _deviations(base)} - {entry.rule for entry in _deviations(profile)}
            readings = [
                f"`{choice} = {value}`" for choice, value in profile.choices.items() if value != base.choices[choice]
            ]
            differs = "; ".join([*readings, *(f"not {rule}" for rule in sorted(left_out))])
            rows.append([profile.title, base.title, differs, profile.basis])
    return (
        "## Versions that nobody ran\n\nTheir readings and deviations are those of a version that was measured, "
        "except where the source code shows a difference. If such a deviation does not happen, no gate closes. A "
        "version without a profile is judged by the profile of the nearest version.\n\n"
        f"{table(['', 'taken from', 'except', 'basis'], rows)}"
    )


def _values(choice: str, ordered: Sequence[Profile]) -> Iterator[str]:
    return (profile.choices[choice] for profile in ordered)


def main(arguments: Sequence[str]) -> None:
    found = [json.dumps(run, ensure_ascii=False) for folder in arguments for run in digest(Path(folder))]
    if found:
        SEEN.write_text("[\n" + ",\n".join(found) + "\n]\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
