"""The share of confirms (or deliveries) that came within a time, as a picture: one line for each broker.

Pure geometry to SVG text, on a logarithmic scale of time. Lines differ by dashes as well as by colour, both by class;
their names and figures stand in the table that the page puts beside the picture. Every string is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from reports.html.chart import in_words
from reports.html.runs import RunColumn

WIDTH, HEIGHT = 620, 236
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 28
LINES = 10
"""This many lines can be told apart."""
_LEAST = 0.001
_SHARES = (0.0, 0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Line:
    """The times on one broker. `place` is its colour and dash."""

    run: RunColumn
    place: int
    n: int
    quantiles: Sequence[tuple[float, float]]

    def at(self, share: float) -> str:
        """The time within which this share came, in words."""
        return in_words(next((ms for reached, ms in self.quantiles if reached >= share - 1e-9), self.quantiles[-1][1]))


@dataclass(frozen=True)
class Timed:
    """What was timed, on all brokers on which it was."""

    title: str
    about: str
    lines: Sequence[Line]
    picture: Markup


WHAT = (
    (
        "confirm",
        "Time to a publisher confirm",
        "Share of publishes confirmed within a time, whatever the queue and the "
        "window; seen by the suite's own client, which waits and batches as its checks need.",
    ),
    (
        "delivery",
        "Time to a delivery",
        "From a publish to the first delivery of the same message, the wait in the queue included.",
    ),
)


def timed(runs: Sequence[RunColumn]) -> list[Timed]:
    """The pictures of these runs; none where nothing was timed."""
    found = []
    for what, title, about in WHAT:
        lines = [
            Line(run, place % LINES, int(data["n"]), [(share, ms) for share, ms in data["quantiles"]])
            for place, run in enumerate(runs)
            if (data := _data(run, what)) and data["quantiles"]
        ]
        if lines:
            found.append(Timed(title, about, lines, _picture(title, lines)))
    return found


def _data(run: RunColumn, what: str) -> Mapping[str, Any] | None:
    timings: Mapping[str, Any] = run.results.get("timings") or {}
    data: Mapping[str, Any] | None = timings.get(what)
    return data


def _picture(title: str, lines: Sequence[Line]) -> Markup:
    first = min(max(line.quantiles[0][1], _LEAST) for line in lines)
    last = max(max(ms for share, ms in line.quantiles if share <= 0.999) for line in lines)
    low = math.floor(math.log10(first))
    high = max(low + 1, math.ceil(math.log10(max(last, _LEAST))))

    def across(ms: float) -> float:
        reached = (math.log10(max(ms, 10.0**low)) - low) / (high - low)
        return round(LEFT + min(reached, 1.0) * (WIDTH - LEFT - RIGHT), 1)

    times = (_time(across(10.0**power), power) for power in range(low, high + 1))
    grid = Markup("").join([*map(_level, _SHARES), *times])
    drawn = Markup("").join(_line(line, list(_corners(line, across))) for line in lines)
    words = "; ".join(f"{line.run.name}: half within {line.at(0.5)}, 99 % within {line.at(0.99)}" for line in lines)
    return Markup('<svg class="ecdf" viewBox="0 0 {w} {h}" role="img" aria-label="{label}">{grid}{drawn}</svg>').format(
        w=WIDTH, h=HEIGHT, label=f"{title}. {words}", grid=grid, drawn=drawn
    )


def _height(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _level(share: float) -> Markup:
    y = _height(share)
    base = y + {0.99: 0, 0.9: 8}.get(share, 4)
    grid = Markup('<path class="grid" d="M{left} {y}H{right}"/><text x="{x}" y="{base}" class="end">{text}%</text>')
    return grid.format(left=LEFT, right=WIDTH - RIGHT, y=y, x=LEFT - 7, base=base, text=f"{share * 100:g}")


def _time(x: float, power: int) -> Markup:
    return Markup('<text x="{x}" y="{y}" class="mid">{text}</text>').format(
        x=x, y=HEIGHT - 8, text=in_words(10.0**power)
    )


def _corners(line: Line, across: Any) -> Iterator[str]:
    yield f"M{LEFT} {_height(0)}L{across(line.quantiles[0][1])} {_height(0)}"
    yield from (f"L{across(ms)} {_height(share)}" for share, ms in line.quantiles)
    yield f"L{WIDTH - RIGHT} {_height(line.quantiles[-1][0])}"


def _line(line: Line, corners: Sequence[str]) -> Markup:
    return Markup('<path class="l{place}" d="{path}"><title>{name}</title></path>').format(
        place=line.place, path="".join(corners), name=line.run.name
    )
