"""The exchange as a picture: a lifeline for each connection and one for the broker, an arrow for each step.

Connections stand alternately left and right of the broker, so that the arrows of two connections do not cross.
Pure geometry to SVG text. Colours come from the page's style sheet by class, so the picture follows the theme; every
string is escaped here, since this is the one place that builds markup without a template.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

TOP, ROW = 62, 38
MARGIN = 70
SPAN = {2: 500, 3: 760}
"""Width of the picture by number of lifelines."""
WIDEST = 980
STATE, STATE_ROOM = 270, 38
"""What the column beside the picture takes, and how many characters stand in it; the list of steps has all of them."""
_LONG = re.compile(r"\b[\w-]+\.[\w.-]{14,}(?<=\d)")
"""Names as the suite gives them to queues: only their ends differ."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One row of the picture. `label` is what the list of steps calls it, `kind` how it is drawn."""

    label: str
    connection: str
    direction: str
    text: str
    kind: str
    link: str = ""
    state: str = ""
    """What waits and what is open after it, where that changes."""


def ladder(rungs: Sequence[Rung], name: str, about: str) -> Markup:
    """The picture of an exchange, with a title and a description for those who do not see it."""
    places = columns([rung.connection for rung in rungs])
    beside = any(rung.state for rung in rungs)
    drawn = _width(len(places))
    width = drawn + (STATE if beside else 0)
    height = TOP + ROW * len(rungs) + 6
    lines = [_lifeline(place, title, height - 12) for title, place in places.items()]
    rows = [_row(rung, places, TOP + ROW * row, drawn, width) for row, rung in enumerate(rungs)]
    if beside:
        lines.append(Markup('<text class="who" x="{x}" y="24">waiting, unacked</text>').format(x=drawn))
    opening = Markup(
        '<svg class="ladder w{lines}" viewBox="0 0 {w} {h}" role="group" aria-labelledby="{n}-t {n}-d">'
        '<title id="{n}-t">Exchange in {count} steps</title><desc id="{n}-d">{about}</desc>'
    ).format(lines=3 if beside else min(len(places), 3), w=width, h=height, n=name, count=len(rungs), about=about)
    return opening + Markup("").join(rows + lines) + Markup("</svg>")


def columns(connections: Sequence[str]) -> dict[str, int]:
    """Where each lifeline stands: connections alternately left and right of the broker."""
    names = list(dict.fromkeys(name for name in connections if name)) or ["client"]
    order = [*names[0::2], "broker", *names[1::2][::-1]]
    gap = (_width(len(order)) - 2 * MARGIN) // (len(order) - 1)
    left = MARGIN + 16
    return {name: left + gap * place for place, name in enumerate(order)}


def _width(lifelines: int) -> int:
    return SPAN.get(lifelines, WIDEST)


def _lifeline(x: int, title: str, foot: int) -> Markup:
    caption = "client" if title == "c1" else title
    return Markup(
        '<line class="life" x1="{x}" x2="{x}" y1="34" y2="{foot}"/>'
        '<text class="who" x="{x}" y="24" text-anchor="middle">{title}</text>'
    ).format(x=x, foot=foot, title=caption if len(caption) < 18 else caption[:16] + "…")


def _row(rung: Rung, places: dict[str, int], y: int, drawn: int, width: int) -> Markup:
    band = Markup('<rect class="hit" x="6" y="{y}" width="{w}" height="{h}" rx="6"/>').format(
        y=y - 22, w=width - 12, h=ROW - 3,
    )
    mark = "✕ " if rung.kind.startswith("bad") else ""
    number = Markup('<text class="num" x="40" y="{y}" text-anchor="end">{label}</text>').format(
        y=y + 4, label=mark + rung.label,
    )
    picture = _note(rung, y, drawn) if rung.direction == "-" else _arrow(rung, places, y)
    body = band + number + picture + _state(rung.state, drawn, y)
    if rung.link:
        body = Markup('<a href="#{link}">{body}</a>').format(link=rung.link, body=body)
    return Markup('<g class="rung {kind}">{body}</g>').format(kind=rung.kind, body=body)


def _arrow(rung: Rung, places: dict[str, int], y: int) -> Markup:
    broker = places["broker"]
    client = places.get(rung.connection, min(places.values()))
    start, end = (client, broker) if rung.direction == ">" else (broker, client)
    step = 1 if end > start else -1
    span = abs(end - start)
    return Markup(
        '<line class="shaft" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>'
        '<path class="head" d="M{end} {y}l{dx} -4.6v9.2z"/>'
        '<text class="said" x="{mid}" y="{ty}" text-anchor="middle">{text}</text>'
    ).format(a=start, b=end - 7 * step, y=y, end=end, dx=-9 * step, mid=(start + end) // 2, ty=y - 6,
             text=_said(rung.text, span))


def _state(state: str, x: int, y: int) -> Markup:
    """The state in the column beside the picture, by its beginning where it is long; all of it on pointing."""
    if not state:
        return Markup("")
    short = state if len(state) <= STATE_ROOM else state[:STATE_ROOM - 1] + "…"
    return Markup('<text class="num state" x="{x}" y="{y}">{short}<title>{state}</title></text>').format(
        x=x, y=y + 4, short=short, state=state,
    )


def _note(rung: Rung, y: int, width: int) -> Markup:
    return Markup('<text class="said" x="{x}" y="{y}" text-anchor="middle">{text}</text>').format(
        x=width // 2, y=y + 1, text=_said(rung.text, width - 160),
    )


def _said(text: str, span: int) -> Markup:
    """The step's words, its method in bold, long names by their ends, cut to what fits over an arrow of this length."""
    text = _LONG.sub(lambda name: "…" + name[0][-8:].lstrip("."), text)
    room = max(12, span // 7)
    first, _, rest = text.partition(" ")
    short = rest if len(text) <= room else rest[: max(0, room - len(first) - 2)] + "…"
    bold = Markup('<tspan class="method">{}</tspan>').format(first) if "." in first else escape(first)
    return bold + (Markup(" ") + escape(short) if short else Markup(""))
