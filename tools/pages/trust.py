"""docs/trust.md, from the document of the last whole campaign: `python -m tools.pages.trust`.

The page is committed; it says with which seeds and at which depth it was measured, and repeats no figure by hand. With
`--strangers`, `--machine-made` or `--naming` only that section is made anew, in the page that is there. With
`--mutants GLOB` these mutants alone are hunted, and their rows go into that page; its sums stay those of the campaign.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.campaigns.detection import FOLDER, ControlSample, DetectionCampaign
from conformance.cli.mutants import DOCUMENT, chosen, sound, words
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, WRONG_USE, Refused
from reference_broker.mutants import MUTANTS
from tools.pages import mutation as mutation_page
from tools.pages import naming as naming_page
from tools.pages import strangers as strangers_page
from tools.pages.sections import found, measured, placed
from tools.trust import TRUST, field_bugs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"
SECTIONS = {"--strangers": strangers_page, "--machine-made": mutation_page, "--naming": naming_page}
TITLE = "## Mutants of the reference broker"
SEEDS = 5
FIELD = "[Bugs of real brokers](field-bugs.md) has them one by one, and those that no mutant imitates, with the reason."

_HEAD = """\
# Can the suite be trusted?

`make trust` and `python -m tools.pages.trust` make this page from measurements; nobody types in a figure.

A *mutant* is the reference broker with one wrong decision. The suite **kills** a mutant when a rule that the mutant
names breaks on four of five seeds, or on the one where there is one, in a check that the correct broker passes with the
same seed. All runs use real sockets. *Histories* is the largest number of histories that it took until the rule broke.
`amqp-conformance run --mutant NAME` shows a mutant; `amqp-conformance mutants hunt` repeats the measurement.

The first table is about the last whole campaign. Mutants that came later have rows below, but are not counted in it.
Behind each rule stands on how many seeds it broke: a later row with (1) was measured with one seed alone.
"""


def page(document: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """The whole page."""
    return "\n".join(
        [
            _HEAD,
            *_figures(document, figures),
            "",
            TITLE,
            "",
            *_mutants(document),
            "",
            "## Wrong on the wire",
            "",
            f"Behaviours of a proxy that rewrites frames, in front of {document['wire']['broker']}.",
            "",
            *_wire(document),
            "",
            "## Bugs of real brokers",
            "",
            *_field(document),
            "",
        ]
    )


def _figures(document: Mapping[str, Any], figures: Mapping[str, Any]) -> Iterator[str]:
    rows, wire, control = document["mutants"], document["wire"], document["control"]
    bugs = field_bugs(rows)
    yield "| measured | |\n|---|--:|"
    yield f"| mutants | {len(rows)} |"
    yield f"| killed | {document['killed']} |"
    yield f"| survivors | {', '.join(document['survivors']) or 'none'} |"
    yield f"| seeds for each, depth | {len(document['seeds'])}, {document['depth']} |"
    yield f"| histories to kill: median, worst | {document['examples_median'] or 0:g}, {document['examples_worst']} |"
    yield f"| mutants on the wire, killed | {len(wire['mutants'])}, {wire['killed']} |"
    yield f"| field bugs in scope, found | {len(bugs)}, {sum(bugs.values())} |"
    yield f"| histories on the correct broker, broken verdicts | {control['histories']}, {len(control['broken'])} |"
    if "chaos_runs" in figures:
        yield f"| histories with lawful variations, false alarms | {figures['chaos_runs']}, {figures['false_alarms']} |"
    yield f"| MUST rules exercised less often than demanded | {len(document['vacuous'])} |"
    yield f"| seconds of histories | {document['seconds']:.0f} |"


def _mutants(document: Mapping[str, Any]) -> Iterator[str]:
    yield "| mutant | a broker in which | names | killed by | histories |\n|---|---|---|---|--:|"
    for row in document["mutants"]:
        by = ", ".join(f"{rule} ({seen['seeds']})" for rule, seen in row["by"].items())
        most = max((kill["histories"] for kill in row["kills"]), default="")
        says = f"{row['says']} ([seen]({row['field']}))" if row["field"] else row["says"]
        yield f"| {row['name']} | {says} | {', '.join(row['rules'])} | {by or '**survived**'} | {most} |"


def _wire(document: Mapping[str, Any]) -> Iterator[str]:
    yield "| mutant | a broker that | names | killed by | histories |\n|---|---|---|---|--:|"
    for row in document["wire"]["mutants"]:
        by = row["rule"] if row["killed"] else "**survived**"
        yield f"| {row['name']} | {row['says']} | {', '.join(row['rules'])} | {by} | {row['histories']} |"


def _field(document: Mapping[str, Any]) -> Iterator[str]:
    """Where the reports are told, each with its mutants and what killed them."""
    bugs = field_bugs(document["mutants"])
    yield f"{len(bugs)} reports of users are imitated by mutants above, and {sum(bugs.values())} of them are found."
    yield FIELD


def alone(section: ModuleType) -> int:
    """Put this section into the page that is there."""
    document = measured(section.FIGURES)
    if document is None:
        print(f"{section.FIGURES} is not there. Run: {section.MADE_BY}", file=sys.stderr)
        return WRONG_USE
    return written(placed(PAGE.read_text(encoding="utf-8"), section.TITLE, section.section(document)))


def whole() -> int:
    source = FOLDER / DOCUMENT
    document = json.loads(source.read_text(encoding="utf-8")) if source.exists() else {}
    if "wire" not in document:
        print(f"{source} has no whole campaign. Run: make trust", file=sys.stderr)
        return WRONG_USE
    return written(renewed(PAGE.read_text(encoding="utf-8"), document, measured(TRUST) or {}))


def renewed(former: str, document: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """The whole page. Of the former one remain the sections that were not measured again, and the rows of mutants that
    came after the campaign."""
    text = page(document, figures)
    for section in SECTIONS.values():
        again = measured(section.FIGURES)
        text = placed(text, section.TITLE, section.section(again) if again else found(former, section.TITLE))
    counted = {row["name"] for row in document["mutants"]}
    table = former.partition(f"{TITLE}\n\n")[2].partition("\n\n")[0].splitlines()[2:]
    for row in table:
        if named(row) in MUTANTS and named(row) not in counted:
            text = with_row(text, row)
    return text


def added(glob: str) -> int:
    """Hunts these mutants, and puts their rows into the page that is there, if all is well with them."""
    document = DetectionCampaign(chosen(glob), range(SEEDS), sample=ControlSample(0, 0)).run()
    print("\n".join(words(document)))
    if not sound(document):
        return GATE_CLOSED
    text = PAGE.read_text(encoding="utf-8")
    for row in "\n".join(_mutants(document)).splitlines()[2:]:
        text = with_row(text, row)
    return written(text)


def with_row(page: str, row: str) -> str:
    """The page with this row in its table of mutants: instead of the one of that name, else behind those of its field,
    else at the end."""
    before, title, rest = page.partition(f"{TITLE}\n\n")
    table, blank, after = rest.partition("\n\n")
    rows, name = table.splitlines(), named(row)
    same = [at for at, one in enumerate(rows) if named(one) == name]
    field = [at for at, one in enumerate(rows) if named(one).partition(".")[0] == name.partition(".")[0]]
    at = (same or [one + 1 for one in field[-1:]] or [len(rows)])[0]
    rows[at : at + len(same)] = [row]
    return before + title + "\n".join(rows) + blank + after


def named(row: str) -> str:
    """The mutant of a row."""
    return row.split("|")[1].strip()


def written(text: str) -> int:
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE)
    return GATE_OPEN


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--mutants"]:
        try:
            return added(",".join(arguments[1:]))
        except Refused as refused:
            print(refused, file=sys.stderr)
            return refused.code
    wanted = [section for option, section in SECTIONS.items() if option in arguments]
    return alone(wanted[0]) if wanted else whole()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
