"""Writes docs/patterns.md, which version keeps what a pattern stands on: `python -m tools.pages.patterns`.

The patterns are data (`patterns.toml`): what people build, and the rules on which each stands. What was measured is
never typed: it comes from the verdicts that `compatibility` keeps, and what is known to be wrong from the deviations.
The page is committed, and a test proves that it is fresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.catalogue import deviations, profiles, rules
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.rules.fields import BadData, Fields, parse
from conformance.outcome.markdown import anchor, link, table
from tools.pages.rows import ABSENT, DOUBTFUL, KEPT, NOT_RUN, WRONG, Run, signed, stored

PAGE = Path(__file__).resolve().parents[2] / "docs" / "patterns.md"
DATA = Path(__file__).with_suffix(".toml")
PRODUCT = "RabbitMQ"
"""That of the stored runs."""

HEAD = f"""# Patterns, and the versions that keep them

What people build on a broker stands on rules. For each pattern this page lists these rules, and what runs on real
brokers have found. `make docs` makes it from `tools/pages/patterns.toml`, from the results of `make matrix` and from
the known deviations; change those, not this page. How to write an application that works on all versions is told in
[portable applications](portable-applications.md).

| sign | meaning |
|---|---|
| {KEPT} | all rules of the pattern held |
| {WRONG} | these rules are broken, in the ways that the section of the pattern tells |
| {DOUBTFUL} | these rules were tested too little to say |
| {ABSENT} | the version does not offer what these rules are about; the others held |
| {NOT_RUN} | some of the rules are newer than the stored run; the others held |

The versions are those of RabbitMQ.
"""


class BadPatterns(BadData):
    """The file of patterns says something that it must not."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What it is for, how it is built, and what it stands on."""

    name: str
    use: str
    how: str
    rules: tuple[str, ...]


def read(path: Path = DATA) -> list[Pattern]:
    """All patterns. Raises BadPatterns: a key is missing or unknown, or a rule is not in the catalogue."""
    whole = Fields(parse(path, BadPatterns), path.name, BadPatterns)
    listed = whole.raw("pattern", [])
    whole.done()
    if not isinstance(listed, list):
        raise whole.fail("'pattern' must be a list of tables")
    return [
        _pattern(Fields(content, f"{path.name}, pattern {number}", BadPatterns))
        for number, content in enumerate(listed, 1)
    ]


def _pattern(fields: Fields) -> Pattern:
    use, how = (" ".join(fields.text(key).split()) for key in ("use", "how"))
    pattern = Pattern(fields.text("name"), use, how, fields.texts("rules"))
    fields.done()
    unknown = [name for name in pattern.rules if name not in rules.CATALOGUE]
    if unknown or not pattern.rules:
        raise fields.fail(f"{pattern.name} names rules that are not there: {', '.join(unknown) or 'none at all'}")
    return pattern


def page(runs: Sequence[Run]) -> str:
    """The whole page."""
    patterns = read()
    overview = table(["", *(run.version for run in runs)], (_line(pattern, runs) for pattern in patterns))
    return "\n".join([HEAD, overview, *(_section(pattern, runs) for pattern in patterns)])


def _line(pattern: Pattern, runs: Iterable[Run]) -> Iterator[str]:
    yield f"[{pattern.name}](#{anchor(pattern.name)})"
    yield from (found(pattern, run) for run in runs)


def found(pattern: Pattern, run: Run) -> str:
    """What a version was found to do with the rules of a pattern: the gravest, and the rules of which that is so."""
    signs = {name: signed(name, run) for name in pattern.rules}
    for sign in (WRONG, DOUBTFUL, NOT_RUN, ABSENT):
        named = [name for name, its in signs.items() if its == sign]
        if named:
            which = "all" if len(named) == len(signs) else " ".join(named)
            return sign if sign == NOT_RUN else f"{sign} {which}"
    return KEPT


def _section(pattern: Pattern, runs: Sequence[Run]) -> str:
    listed = "\n".join(f"- {link(rules.get(name))}: {rules.get(name).title}" for name in pattern.rules)
    faults = "\n".join(_faults(pattern, runs))
    wrong = f"\nKnown to be wrong:\n\n{faults}\n" if faults else ""
    return f"## {pattern.name}\n\n{pattern.use} {pattern.how}\n\nIt stands on:\n\n{listed}\n{wrong}"


def _faults(pattern: Pattern, runs: Sequence[Run]) -> Iterator[str]:
    """Each known deviation from a rule of the pattern once, with all versions that were run and have it."""
    seen: dict[tuple[str, str, str], list[str]] = {}
    for run in runs:
        for entry in _known(run.version):
            if entry.rule in pattern.rules:
                where = f"{' and '.join(entry.queue_types)} queues{', now and then' if entry.intermittent else ''}"
                seen.setdefault((entry.rule, where, " ".join(entry.note.split())), []).append(run.version)
    order = {name: place for place, name in enumerate(pattern.rules)}
    for (rule, where, note), versions in sorted(seen.items(), key=lambda item: order[item[0][0]]):
        yield f"- {rule} on {', '.join(versions)} ({where}): {note}"


def _known(version: str) -> Sequence[Deviation]:
    """What is listed of the version of a run."""
    for profile in map(profiles.load, profiles.NAMES):
        if profile.product == PRODUCT and any(version.startswith(f"{series}.") for series in profile.versions):
            return deviations.load(profile.deviations) if profile.deviations else ()
    return ()


def main() -> None:
    PAGE.write_text(page(stored()), encoding="utf-8")


if __name__ == "__main__":
    main()
