"""Times over runs as a picture: for each run a bar from the median to the 99th percentile, with a tick at the 90th.

Pure geometry to SVG text, on a logarithmic scale, since a median of a millisecond and a tail of a second belong in one
picture. Colours come from the style sheet by class; every string is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

WIDTH, HEIGHT = 720, 190
LEFT, TOP, BOTTOM = 64, 12, 26
_LEAST = 0.001


def chart(points: Sequence[tuple[str, Mapping[str, Any]]], title: str) -> Markup:
    """`points`: what each run is called, and its n, p50, p90, p99 in milliseconds, in order of time."""
    low = math.floor(math.log10(max(_LEAST, min(row["p50"] for _, row in points))))
    high = max(low + 1, math.ceil(math.log10(max(_LEAST, *(row["p99"] for _, row in points)))))

    def height(ms: float) -> float:
        share = (math.log10(max(ms, _LEAST)) - low) / (high - low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    opening = Markup('<svg class="times" viewBox="0 0 {w} {h}" role="img" aria-label="{t}">').format(
        w=WIDTH, h=HEIGHT, t=f"{title}, {len(points)} runs; the table beside it has the numbers"
    )
    lines = [_grid(height(10.0**power), in_words(10.0**power)) for power in range(low, high + 1)]
    gap = (WIDTH - LEFT) / len(points)
    bars = [_bar(LEFT + gap * (place + 0.5), name, row, height) for place, (name, row) in enumerate(points)]
    return opening + Markup("").join([*lines, *bars]) + Markup("</svg>")


def in_words(ms: float) -> str:
    """A time in words."""
    if ms >= 1000:
        return f"{ms / 1000:.3g} s"
    return f"{ms:.3g} ms" if ms >= 1 else f"{ms * 1000:.3g} µs"


def _grid(y: float, text: str) -> Markup:
    return Markup('<path class="grid" d="M{left} {y}H{w}"/><text x="{x}" y="{base}">{text}</text>').format(
        left=LEFT, y=y, w=WIDTH, x=LEFT - 8, base=y + 4, text=text
    )


def _bar(x: float, name: str, row: Mapping[str, Any], height: Any) -> Markup:
    x = round(x, 1)
    shares = ", ".join(
        f"{word} {in_words(row[key])}" for word, key in (("median", "p50"), ("90 %", "p90"), ("99 %", "p99"))
    )
    about = f"{name}: {shares}, n = {row['n']:,}"
    return Markup(
        '<g><title>{about}</title><path class="span" d="M{x} {low}V{high}"/><path class="tick" d="M{l} {mid}h10"/>'
        '<circle class="median" cx="{x}" cy="{low}" r="3.5"/></g>'
    ).format(about=about, x=x, low=height(row["p50"]), high=height(row["p99"]), mid=height(row["p90"]), l=x - 5)
