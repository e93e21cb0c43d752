"""The capture page: what a capture holds, what it could not show, and where in the file each rule is contradicted.

Numbers of packets are those of the file as Wireshark shows them (`frame.number`), and the filter under each case shows
exactly the packets of its exchange. Everything else about a case stands on the report beside it, to which it leads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from conformance.evidence.words import SIGNS, Sign, count, results_for_display, sign
from reports.html import FOLDER, environment, policy, visible
from reports.html.runs import columns

Document = Mapping[str, Any]
Captured = tuple[Document, Sequence[Mapping[str, Any]], Mapping[str, Any]]
"""results.json of a run, where its cases are (rule, case, observed, file, packet, packets), and what is known of it."""

LOST = {
    "joined": "connections that were open before the capture began",
    "gap": "gaps in the capture",
    "cut": "connections that were still open when the capture ended",
    "malformed": "octets that are not frames",
}


@dataclass(frozen=True)
class CaseLine:
    """One case of a rule: what was seen, where in the file, and where more is said of it."""

    rule: str
    title: str
    sign: Sign
    observed: str
    file: str
    packet: int
    filter: str
    link: str


@dataclass(frozen=True)
class CaptureView:
    """One broker in one capture."""

    results: Document
    about: Mapping[str, Any]
    lost: Sequence[tuple[int, str]]
    cases: Sequence[CaseLine]
    doubts: Sequence[tuple[str, str, str]]

    @property
    def connections(self) -> int:
        return int(self.about.get("connections", 0))

    @property
    def files(self) -> Sequence[str]:
        return list(self.about.get("files", ()))


def render(captured: Sequence[Captured]) -> str:
    """The page about these captures. Equal input gives an equal page."""
    documents = [results_for_display(visible(results)) for results, _, _ in captured]
    keys = {id(run.results): run.key for run in columns(documents)}
    views = [
        _view(document, visible(places), visible(about), f"/{keys[id(document)]}" if len(captured) > 1 else "")
        for document, (_, places, about) in zip(documents, captured, strict=True)
    ]
    css = (FOLDER / "page.css").read_text("utf-8") + (FOLDER / "history.css").read_text("utf-8")
    return (
        environment()
        .get_template("capture.html.j2")
        .render(
            views=views,
            headline=_headline(views),
            signs=SIGNS,
            css=Markup(css),
            policy=policy(css, ""),
        )
    )


def _view(
    results: Document,
    places: Sequence[Mapping[str, Any]],
    about: Mapping[str, Any],
    side: str,
) -> CaptureView:
    rules = {rule["id"]: rule for rule in results["rules"]}
    cases = [
        CaseLine(
            place["rule"],
            rules[place["rule"]]["title"],
            sign(rules[place["rule"]]["verdict"]),
            place["observed"],
            place["file"],
            place["packet"],
            filtered(place["packets"]),
            f"index.html#/{place['rule']}{side}",
        )
        for place in places
    ]
    lost = [(int(about[name]), words) for name, words in LOST.items() if about.get(name)]
    doubts = [
        (rule["id"], rule["title"], rule["reason"])
        for rule in results["rules"]
        if rule["verdict"] == "inconclusive" and rule.get("reason")
    ]
    return CaptureView(results, about, lost, cases, doubts)


def filtered(packets: Sequence[int]) -> str:
    """A display filter for these packets; neighbours become a range."""
    ranges: list[list[int]] = []
    for packet in sorted(packets):
        if ranges and packet <= ranges[-1][1] + 1:
            ranges[-1][1] = packet
        else:
            ranges.append([packet, packet])
    said = (str(low) if low == high else f"{low}..{high}" for low, high in ranges)
    return f"frame.number in {{{', '.join(said)}}}"


def _headline(views: Sequence[CaptureView]) -> tuple[str, str]:
    broken = {case.rule for view in views for case in view.cases if case.sign.symbol == "broken"}
    total = sum(int(view.about.get("events", 0)) for view in views)
    first = (
        f"{count(len(views), 'broker')}, {count(sum(view.connections for view in views), 'connection')}, "
        f"{count(total, 'event')}."
    )
    return first, f"{count(len(broken), 'rule')} broken." if broken else ""
