"""docs/field-bugs.md, what users have reported of brokers and the suite finds: `python -m tools.pages.field_bugs`.

The reports are data (`field_bugs.toml`). A report is imitated by the mutants whose `field` links to it, and by those
that it names; where there are none, it says why. What the hunt for these mutants came to is kept beside the page, so
nothing on it is typed in; `--hunt` hunts them anew, `--hunt GLOB ...` some of them. A test proves that the page is
fresh, that every report has a mutant or a reason, and that every mutant was killed by a rule that it names.
"""

from __future__ import annotations

import fnmatch
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.campaigns.detection import ControlSample, DetectionCampaign
from conformance.catalogue import rules
from conformance.catalogue.rules.fields import BadData, Fields, parse
from conformance.outcome.markdown import link, table
from conformance.session.exits import GATE_CLOSED, GATE_OPEN
from reference_broker.mutants import MUTANTS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, SEEN = DOCS / "field-bugs.md", DOCS / "field-bugs.json"
REPORTS = Path(__file__).with_name("field_bugs.toml")
SEEDS, DEPTH = 5, "smoke"
Results = Mapping[str, Mapping[str, Any]]
"""By mutant: the rules that killed it, each with the number of seeds, and the largest number of histories it took."""

HEAD = """# Bugs of real brokers

Users of brokers that speak AMQP 0-9-1 have reported these. If the suite is worth anything, it finds such bugs. So each
report has a *mutant*, the reference broker with the wrong decision that was reported, and a rule must kill it: break on
at least four of {seeds} seeds, in a check that the correct broker passes with the same seed. Where there is no mutant,
a reason says why. `amqp-conformance run --mutant NAME` shows a mutant.

`python -m tools.pages.field_bugs --hunt` measures, and makes this page from `tools/pages/field_bugs.toml` and from the
results, which are kept in `field-bugs.json`. Change those, not this page. [Trust](trust.md) has all other mutants.
"""
NOT_YET = "*none yet: the rules of its family are being written*"


class BadReports(BadData):
    """The file of reports says something that it must not."""


@dataclass(frozen=True, slots=True)
class Report:
    """Something that users reported. `family`: empty where it is about none of the protocol's."""

    reference: str
    says: str
    family: str
    links: tuple[str, ...]
    named: tuple[str, ...] = ()
    """Mutants that imitate it, beside those that link to it."""
    reason: str = ""

    @property
    def mutants(self) -> list[str]:
        """All that imitate it."""
        linked = [name for name, mutant in MUTANTS.items() if mutant.field in self.links]
        return list(dict.fromkeys([*linked, *self.named]))


def complaints() -> list[Report]:
    """Those about the families of the protocol."""
    return [_complaint(fields) for fields in _listed("complaint")]


def _complaint(fields: Fields) -> Report:
    report = Report(
        fields.text("reference"),
        fields.text("says"),
        fields.text("family"),
        fields.texts("links"),
        fields.texts("mutants"),
        fields.text("reason", ""),
    )
    fields.done()
    return report


def others() -> list[Report]:
    """All others that a mutant links to."""
    known = {one for report in complaints() for one in report.links}
    fields = dict.fromkeys(mutant.field for mutant in MUTANTS.values() if mutant.field and mutant.field not in known)
    return [Report(named(field), "", "", (field,)) for field in fields]


def elsewhere() -> list[Report]:
    """All others that no mutant imitates."""
    return [_elsewhere(fields) for fields in _listed("elsewhere")]


def _elsewhere(fields: Fields) -> Report:
    address = fields.text("link")
    report = Report(named(address), fields.text("says"), "", (address,), reason=fields.text("reason"))
    fields.done()
    return report


def _listed(kind: str) -> Iterator[Fields]:
    """The tables of this kind."""
    for at, content in enumerate(parse(REPORTS, BadReports)[kind], 1):
        yield Fields(content, f"{REPORTS.name}, {kind} {at}", BadReports)


def named(link: str) -> str:
    """What a report is called, from its address: the repository, and its number or the release that mends it."""
    parts = link.rstrip("/").split("/")
    last = parts[-1].removeprefix("README-").removesuffix(".txt")
    return last if "jira" in link else f"{parts[4]} {last}"


def imitated() -> list[str]:
    """The mutants of all reports."""
    reports = [*complaints(), *others()]
    return list(dict.fromkeys(name for report in reports for name in report.mutants))


def stored() -> Results:
    """What the hunts came to."""
    found: Results = json.loads(SEEN.read_text(encoding="utf-8")) if SEEN.exists() else {}
    return found


def page(results: Results) -> str:
    """The whole page."""
    listed, rest, out = complaints(), others(), elsewhere()
    return "\n".join(
        [
            HEAD.format(seeds=SEEDS),
            _summary(listed, rest, out, results),
            "## About the families of the protocol\n",
            table(["reported as", "what happened", "family", "mutant", "killed by"], _rows(listed, results)),
            "## Other reports that mutants imitate\n",
            table(["reported as", "a broker in which", "mutant", "killed by"], _short_rows(rest, results)),
            "## Other reports that no mutant imitates\n",
            table(["reported as", "what happened", "why no mutant imitates it"], map(_reasons, out)),
        ]
    )


def _summary(listed: Sequence[Report], rest: Sequence[Report], out: Sequence[Report], results: Results) -> str:
    kinds = (("about the families of the protocol", listed), ("others", [*rest, *out]))
    return table(
        ["reports", "", "with a mutant", "found", "out of scope"],
        (
            [
                name,
                str(len(reports)),
                str(sum(bool(one.mutants) for one in reports)),
                str(sum(found(one, results) for one in reports)),
                str(sum(bool(one.reason) for one in reports)),
            ]
            for name, reports in kinds
        ),
    )


def found(report: Report, results: Results) -> bool:
    """Is every mutant killed that imitates it?"""
    return bool(report.mutants) and all(results.get(name, {}).get("by") for name in report.mutants)


def _rows(listed: Sequence[Report], results: Results) -> Iterator[list[str]]:
    for report in listed:
        names, by = _killed(report, results) if not report.reason else (f"*none: {report.reason}*", "")
        yield [_linked(report), report.says, report.family, names or NOT_YET, by]


def _short_rows(rest: Sequence[Report], results: Results) -> Iterator[list[str]]:
    for report in rest:
        says = "; ".join(MUTANTS[name].says for name in report.mutants)
        yield [_linked(report), says, *_killed(report, results)]


def _reasons(report: Report) -> list[str]:
    return [_linked(report), report.says, report.reason]


def _linked(report: Report) -> str:
    more = "".join(f", [{at}]({one})" for at, one in enumerate(report.links[1:], 2))
    return f"[{report.reference}]({report.links[0]}){more}"


def _killed(report: Report, results: Results) -> tuple[str, str]:
    """The mutants, and the rules that killed them."""
    names = ", ".join(f"`{name}`" for name in report.mutants)
    by = dict.fromkeys(rule for name in report.mutants for rule in results.get(name, {}).get("by", {}))
    missing = [name for name in report.mutants if not results.get(name, {}).get("by")]
    told = [link(rules.get(rule)) for rule in by] + [f"**not by any rule: {name}**" for name in missing]
    return names, ", ".join(told)


def hunted(globs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What a hunt for these mutants comes to."""
    wanted = [MUTANTS[name] for name in imitated() if any(fnmatch.fnmatch(name, glob) for glob in globs)]
    document = DetectionCampaign(wanted, range(SEEDS), DEPTH, sample=ControlSample(0, 0)).run()
    return {row["name"]: _result(row) for row in document["mutants"]}


def _result(row: Mapping[str, Any]) -> dict[str, Any]:
    by = {rule: seen["seeds"] for rule, seen in row["by"].items()} if row["killed"] else {}
    return {"by": by, "histories": max((kill["histories"] for kill in row["kills"]), default=0)}


def main(arguments: Sequence[str]) -> int:
    results = dict(stored())
    if "--hunt" in arguments:
        results |= hunted(arguments[1:] or ["*"])
        kept = {name: results[name] for name in sorted(imitated()) if name in results}
        SEEN.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")
    print(PAGE)
    survivors = [name for name in imitated() if not results.get(name, {}).get("by")]
    print(f"not killed: {', '.join(survivors) or 'none'}")
    return GATE_CLOSED if survivors else GATE_OPEN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
