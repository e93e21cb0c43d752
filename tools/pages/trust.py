"""docs/trust.md, from the document of the last whole campaign: `python -m tools.pages.trust`.

The page is committed; it says with which seeds and at which depth it was measured, and repeats no figure by hand. With
`--strangers`, `--machine-made` or `--naming` only that section is made anew, in the page that is there.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.campaigns.detection import FOLDER
from conformance.cli.mutants import DOCUMENT
from conformance.session.exits import GATE_OPEN, WRONG_USE
from tools.pages import mutation as mutation_page
from tools.pages import naming as naming_page
from tools.pages import strangers as strangers_page
from tools.pages.sections import measured, placed
from tools.trust import TRUST, field_bugs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"
SECTIONS = {"--strangers": strangers_page, "--machine-made": mutation_page, "--naming": naming_page}
ELSEWHERE = Path(__file__).with_name("field_bugs.toml")

_HEAD = """\
# Can the suite be trusted?

Made by `make trust` and `python -m tools.pages.trust` from what was measured; nothing here is typed in.

A *mutant* is the reference broker with one decision made wrong. It is **killed** where a rule that it names breaks, on
at least four of five seeds, in a check that the honest broker passes with the same seed. Everything goes over real
sockets. *Histories* is how many it took, at most, until the rule broke. `amqp-conformance run --mutant NAME` shows any
of them; `amqp-conformance mutants hunt` repeats the measurement.
"""


def page(document: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """The whole page."""
    return "\n".join(
        [
            _HEAD,
            *_figures(document, figures),
            "",
            "## Mutants of the reference broker",
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
    yield f"| histories on the honest broker, broken verdicts | {control['histories']}, {len(control['broken'])} |"
    if "chaos_runs" in figures:
        yield f"| histories with lawful liberties, false alarms | {figures['chaos_runs']}, {figures['false_alarms']} |"
    yield f"| MUST rules under their threshold | {len(document['vacuous'])} |"
    yield f"| seconds of playing | {document['seconds']:.0f} |"


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
    yield "What users of real brokers have filed. Imitated by mutants:\n"
    yield "| filed | mutants | found |\n|---|---|---|"
    for link, found in field_bugs(document["mutants"]).items():
        names = ", ".join(row["name"] for row in document["mutants"] if row["field"] == link)
        yield f"| <{link}> | {names} | {'yes' if found else '**no**'} |"
    yield "\nNot imitated:\n\n| filed | what | why not |\n|---|---|---|"
    for bug in elsewhere():
        yield f"| <{bug['link']}> | {bug['says']} | {bug['reason']} |"


def elsewhere() -> list[dict[str, str]]:
    """The bugs that no mutant imitates: link, says, reason."""
    listed: list[dict[str, str]] = tomllib.loads(ELSEWHERE.read_text(encoding="utf-8"))["elsewhere"]
    return listed


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
    text = page(document, measured(TRUST) or {})
    for section in SECTIONS.values():
        text = placed(text, section.TITLE, section.section(measured(section.FIGURES)))
    return written(text)


def written(text: str) -> int:
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE)
    return GATE_OPEN


def main(arguments: Sequence[str]) -> int:
    wanted = [section for option, section in SECTIONS.items() if option in arguments]
    return alone(wanted[0]) if wanted else whole()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
