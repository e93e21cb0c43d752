"""The history page: all runs, rules over time, flaky rules, what got worse between versions, and times of confirms.

It is made from the summary of the pipeline's marts, in the look of the report, without a script. A rule that had the
same verdict in every run of a broker is counted and not drawn. Only rules that need attention are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from conformance.evidence.words import SIGNS, Sign, count, severity, sign
from reports.html import FOLDER, environment, policy, visible
from reports.html.chart import chart, in_words
from reports.html.trend import RuleLine

MOST_RUNS = 40
"""Columns of a broker's table; older runs are in the lake."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class BrokerView:
    """One broker: its runs in order of time, the rules that are not the same in all of them or not held, its times."""

    name: str
    runs: Sequence[Row]
    earlier: int
    lines: Sequence[RuleLine]
    steady: int
    charts: Sequence[tuple[str, Markup]]
    times: Sequence[Row]


@dataclass(frozen=True)
class Step:
    """Two runs that are worth comparing, and what got worse or was mended from one to the other. `other`: how many
    rules changed in another way, because only one of the two runs could say anything."""

    before: Row
    after: Row
    changes: Sequence[tuple[Row, Sign, Sign]]
    other: int


def render(summary: Mapping[str, Any], *, lake: bool = True) -> str:
    """The page for the summary of a lake, or of runs that were kept without one. Equal input gives an equal page."""
    shown = visible(summary)
    css = (FOLDER / "page.css").read_text("utf-8") + (FOLDER / "history.css").read_text("utf-8")
    brokers, steps = list(_brokers(shown)), list(_steps(shown))
    return (
        environment()
        .get_template("history.html.j2")
        .render(
            brokers=brokers,
            steps=steps,
            runs=shown["runs"],
            lake=lake,
            headline=_headline(shown["runs"], brokers, steps),
            signs=SIGNS,
            ms=in_words,
            css=Markup(css),
            policy=policy(css, ""),
        )
    )


def _headline(runs: Sequence[Row], brokers: Sequence[BrokerView], steps: Sequence[Step]) -> tuple[str, str]:
    worse = {change["rule"] for step in steps for change, _, _ in step.changes if change["change"] == "broken"}
    flaky = {(broker.name, line.rule) for broker in brokers for line in broker.lines if line.flaky}
    said = [f"{count(len(worse), 'rule')} got worse from one run to the next."] if worse else []
    said += [f"{count(len(flaky), 'flaky rule')}."] if flaky else []
    return f"{count(len(runs), 'run')} of {count(len(brokers), 'broker')}.", " ".join(said)


def _brokers(summary: Mapping[str, Any]) -> Iterator[BrokerView]:
    flaky = {(row["broker"], row["rule"]): row for row in summary["flakiness"]}
    verdicts = {(row["run"], row["rule"]): row["verdict"] for row in summary["history"]}
    for name in sorted({row["broker"] for row in summary["runs"]}):
        every = sorted(
            (row for row in summary["runs"] if row["broker"] == name), key=lambda row: (row["started"], row["run"])
        )
        runs = every[-MOST_RUNS:]
        rules = sorted({row["rule"] for row in summary["history"] if row["broker"] == name})
        lines = [
            _line(rule, [verdicts.get((run["run"], rule)) for run in runs], flaky.get((name, rule), {}))
            for rule in rules
        ]
        drawn = sorted(filter(_telling, lines), key=_worst)
        times = [row for row in summary["latency"] if row["broker"] == name]
        steady = len(lines) - len(drawn)
        yield BrokerView(name, runs, len(every) - len(runs), drawn, steady, _charts(runs, times), times)


def _line(rule: str, verdicts: Sequence[str | None], flakiness: Row) -> RuleLine:
    signs = [sign(verdict) if verdict else None for verdict in verdicts]
    return RuleLine(rule, signs, int(flakiness.get("flips", 0)), bool(flakiness.get("flaky", False)))


def _telling(line: RuleLine) -> bool:
    """Is there anything to see in it?"""
    words = {one.word for one in line.signs if one}
    return len(words) > 1 or bool(words & {SIGNS[name].word for name in ("broken", "deviates", "inconclusive")})


def _worst(line: RuleLine) -> tuple[bool, int, str]:
    order = {one.word: severity(name) for name, one in SIGNS.items()}
    return not line.flaky, min(order.get(one.word, 0) for one in line.signs if one), line.rule


def _charts(runs: Sequence[Row], times: Sequence[Row]) -> list[tuple[str, Markup]]:
    found = []
    for what, title in (("confirm", "From publish to confirm"), ("delivery", "From publish to delivery")):
        by_run = {row["run"]: row for row in times if row["what"] == what}
        points = [(str(run["started"] or run["run"]), by_run[run["run"]]) for run in runs if run["run"] in by_run]
        if points:
            found.append((title, chart(points, title)))
    return found


def _steps(summary: Mapping[str, Any]) -> Iterator[Step]:
    runs = {row["run"]: row for row in summary["runs"]}
    pairs = dict.fromkeys((row["before"], row["after"]) for row in summary["regressions"])
    for before, after in pairs:
        every = [row for row in summary["regressions"] if (row["before"], row["after"]) == (before, after)]
        clear = sorted((row for row in every if row["change"] != "other"), key=lambda row: (row["change"], row["rule"]))
        changes = [(row, sign(row["was"]), sign(row["now"])) for row in clear]
        yield Step(runs[before], runs[after], changes, len(every) - len(clear))
