"""The section of docs/trust.md about strangers, made of the figures of `make personalities`.

Without figures there is no section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.pages.sections import cell

FIGURES = Path("build") / "personalities.json"
TITLE = "## Strangers"
MADE_BY = "make personalities"
LISTED = 40
"""This many wrong verdicts are told one by one."""

_SAYS = """\
A *stranger* is the reference broker with several deviations at once (its *personality*). It presents itself as an
unknown product, and is tested with the command line, as a user would do it. Before the run, a table says from the texts
of the rules which rules the stranger breaks, which it may break, and which cannot be judged on it. A rule is *wrongly
accused* when the suite calls it broken although the stranger keeps it. It is *wrongly held* when the suite calls it
held although the stranger breaks it. A run has *hung* if it did not
end within {bound:.0f} seconds, and is *aborted* if it gave up on the broker, or ended without results.
`make personalities RUNS=2000` repeats the measurement."""


def section(document: Mapping[str, Any] | None) -> str:
    """Its text, with the title; empty without figures."""
    return "" if document is None else "\n".join([TITLE, "", *_lines(document), ""])


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    judged = document["rules_judged"]
    yield _SAYS.format(bound=document["bound"])
    yield "\n| measured | |\n|---|--:|"
    yield f"| strangers with a name; drawn by seed | {document['named']}, {document['drawn']} |"
    yield f"| depth; verdicts (held or broken) | {document['depth']}, {judged} |"
    yield f"| rules wrongly accused | {_share(document['wrongly_accused'], judged)} |"
    yield f"| rules wrongly held | {_share(document['wrongly_held'], judged)} |"
    yield f"| broken rules found; neither found nor held | {document['found']}, {document['missed']} |"
    yield f"| hung, aborted | {document['hung']}, {document['aborted']} |"
    yield f"| seconds of a run: median, worst | {document['median_seconds']:g}, {document['worst_seconds']:g} |"
    wrong = document["wrong"]
    if wrong:
        yield "\nWrong verdicts" + (f", the first {LISTED} of {len(wrong)}" if len(wrong) > LISTED else "") + ":\n"
        yield "| stranger | rule | wrongly | observed |\n|---|---|---|---|"
        for one in wrong[:LISTED]:
            yield f"| {one['personality']} | {one['rule']} | {one['what']} | {cell(one['observed'])} |"
    if document["without_results"]:
        yield (
            "\nRuns that did not end as they should: "
            + ", ".join(f"{one['personality']} ({one['how']})" for one in document["without_results"][:LISTED])
            + "."
        )


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.2%})" if whole else str(part)
