"""How a broker did in its earlier runs: a bar for each run, a line of squares for each rule, and which rules are flaky.

A rule is flaky if it changed more than once between kept and broken in the runs on one version of the broker. Runs on
other versions are shown, because users look for the effect of an upgrade here; but they make no rule flaky.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from conformance.evidence.words import Sign, count, sign
from reports.kept import Kept, kept, summary

MOST_RUNS = 40
"""Of the latest runs that are drawn."""
WIDTH, LEAST, HEIGHT, FOOT = 640, 420, 96, 34
DRAWN = ("broken", "deviates", "inconclusive", "harness-error")
"""What a bar is made of, from the bottom up."""


@dataclass(frozen=True)
class RuleLine:
    """One rule over the runs of one broker; None where a run does not know it."""

    rule: str
    signs: Sequence[Sign | None]
    flips: int
    flaky: bool


@dataclass(frozen=True)
class Trend:
    """The runs in order of time, this one last; `lines` of all rules."""

    runs: Sequence[Kept]
    lines: Mapping[str, RuleLine]
    picture: Markup

    @property
    def flaky(self) -> list[RuleLine]:
        return [line for line in self.lines.values() if line.flaky]

    @property
    def about(self) -> str:
        opened = sum(bool(run["open"]) for run in self.runs)
        versions = list(dict.fromkeys(str(run["broker"]["version"]) for run in self.runs))
        often = "all of them" if opened == len(self.runs) else f"{opened} of them"
        passed = f"of versions {', '.join(versions)}" if len(versions) > 1 else ""
        which = " ".join(filter(None, [count(len(self.runs), "run"), passed]))
        since = f"{which} since {self.runs[0]['started'][:10]}; the gate was open in {often}."
        return f"{since} Each bar is one run, this run last. It counts rules that are broken, known or in doubt."


def trend(results: Mapping[str, Any], earlier: Sequence[Kept]) -> Trend | None:
    """The runs on this product up to this one; None where it is the first."""
    now = kept(results)
    same = [run for run in earlier if run["broker"]["product"] == now["broker"]["product"] and run["run"] != now["run"]]
    runs = [*sorted((run for run in same if run["started"] <= now["started"]), key=_when), now][-MOST_RUNS:]
    if len(runs) < 2:
        return None
    told = {row["rule"]: row for row in summary(runs)["flakiness"] if row["broker"] == now["broker"]["name"]}
    lines = {rule: _line(rule, runs, told.get(rule, {})) for rule in now["rules"]}
    return Trend(runs, lines, _picture(runs))


def _when(run: Kept) -> tuple[str, str]:
    return str(run["started"]), str(run["run"])


def _line(rule: str, runs: Sequence[Kept], told: Mapping[str, Any]) -> RuleLine:
    verdicts = [run["rules"].get(rule) for run in runs]
    signs = [sign(str(verdict)) if verdict else None for verdict in verdicts]
    return RuleLine(rule, signs, int(told.get("flips", 0)), bool(told.get("flaky", False)))


def _picture(runs: Sequence[Kept]) -> Markup:
    tallies = [_tally(run) for run in runs]
    most = max(1, *(sum(tally.values()) for tally in tallies))
    gap = min(40.0, WIDTH / len(runs))
    bars = [
        _bar(run, tally, place * gap, gap, (HEIGHT - 6) / most)
        for place, (run, tally) in enumerate(zip(runs, tallies, strict=True))
    ]
    label = f"{len(runs)} runs; in the last one " + (
        _describe_tally(tallies[-1]) or "no rule is broken, a known deviation or in doubt"
    )
    wide = max(LEAST, round(gap * len(runs)))
    return Markup(
        '<svg class="trend" viewBox="0 0 {wide} {tall}" role="img" aria-label="{label}">'
        '<path class="grid" d="M0 {h}H{end}"/>{bars}'
        '<text x="0" y="{base}">{first}</text><text class="end" x="{end}" y="{base}">{last}</text></svg>'
    ).format(
        wide=wide,
        tall=HEIGHT + FOOT,
        h=HEIGHT,
        end=wide,
        label=label,
        bars=Markup("").join(bars),
        base=HEIGHT + 30,
        first=runs[0]["started"][:10],
        last=runs[-1]["started"][:10],
    )


def _tally(run: Kept) -> dict[str, int]:
    verdicts = list(run["rules"].values())
    return {name: verdicts.count(name) for name in DRAWN if name in verdicts}


def _describe_tally(tally: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {sign(name).short}" for name, number in tally.items())


def _bar(run: Kept, tally: Mapping[str, int], x: float, gap: float, scale: float) -> Markup:
    """The bar of a run, with a mark below it that says whether the gate was open."""
    wide, y, parts = max(4.0, gap - 6), float(HEIGHT), []
    for name, number in tally.items():
        y -= number * scale
        parts.append(
            Markup('<rect class="bar-{name}" x="{x}" y="{y}" width="{w}" height="{h}"/>').format(
                name=sign(name).symbol, x=round(x + 2, 1), y=round(y, 1), w=round(wide, 1), h=round(number * scale, 1)
            )
        )
    said = f"{run['broker']['name']}, {run['started']}: {_describe_tally(tally) or 'nothing'}; gate {_gate(run)}"
    mark = Markup('<text class="{kind}" x="{x}" y="{y}">{glyph}</text>').format(
        kind="pass" if run["open"] else "stop",
        x=round(x + 2 + wide / 2, 1),
        y=HEIGHT + 14,
        glyph="✓" if run["open"] else "✕",
    )
    drawn = Markup("").join([*parts, mark])
    return Markup("<g><title>{said}</title>{drawn}</g>").format(said=said, drawn=drawn)


def _gate(run: Kept) -> str:
    return "open" if run["open"] else "closed"
