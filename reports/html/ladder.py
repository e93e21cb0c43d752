"""The exchange as a picture: a lifeline for each connection and one for the broker, and an arrow for each step.

Boxes beside a step show what waits and what is open. A dashed arrow above the step that contradicts the rule shows what
was required. Connections stand alternately left and right of the broker, so the arrows of two connections do not cross.
Pure geometry to SVG text. Colours come from the page's style sheet by class, so the picture follows the theme. Every
string is escaped here, because this is the one place that builds markup without a template.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup, escape

from reports.html.boxes import Group, groups

TOP, ROW, LINE = 62, 38, 15
MARGIN = 70
SPAN = {2: 470, 3: 760}
"""Width of the picture by number of lifelines."""
WIDEST = 980
WAITING, OPEN = 150, 190
STATE, STATE_ROOM = WAITING + OPEN, 46
"""What the columns beside the picture take, and how many characters stand in them where there are no boxes."""
LETTER, PAD, GAP, MORE = 6.7, 9, 4, 26
"""Points: a letter in a box, what is around it, what is between two, and room to say that there are more."""
MOST_LINES = 3
"""Of what was required; all of it stands above the picture."""
_LONG = re.compile(r"[\w.]*-{12,}|\b[\w-]+\.[\w.-]{14,}(?<=\d)")
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

    @property
    def required(self) -> bool:
        return self.kind == "required"


def ladder(rungs: Sequence[Rung], name: str, about: str) -> Markup:
    """The picture of an exchange, with a title and a description for those who do not see it."""
    places = columns([rung.connection for rung in rungs])
    beside = any(rung.state for rung in rungs)
    drawn = _width(len(places))
    width = drawn + (STATE if beside else 0)
    heights = [_height(rung, places) for rung in rungs]
    feet = list(accumulate(heights, initial=TOP))
    tall = feet[-1] + 6
    lines = [_lifeline(place, title, tall - 12) for title, place in places.items()]
    rows = [
        _row(rung, places, foot + height - ROW, height, drawn, width)
        for rung, foot, height in zip(rungs, feet, heights, strict=False)
    ]
    if beside:
        lines += [_caption(drawn, "waiting"), _caption(drawn + WAITING, "unacked, unconfirmed")]
    steps = sum(not rung.required for rung in rungs)
    opening = Markup(
        '<svg class="ladder w{lines}" viewBox="0 0 {w} {h}" role="group" aria-labelledby="{n}-t {n}-d">'
        '<title id="{n}-t">Exchange in {count} steps</title><desc id="{n}-d">{about}</desc>'
    ).format(lines=3 if beside else min(len(places), 3), w=width, h=tall, n=name, count=steps, about=about)
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


def _caption(x: int, text: str) -> Markup:
    return Markup('<text class="num" x="{x}" y="24">{text}</text>').format(x=x, text=text)


def _lifeline(x: int, title: str, foot: int) -> Markup:
    caption = "client" if title == "c1" else title
    return Markup(
        '<line class="life" x1="{x}" x2="{x}" y1="34" y2="{foot}"/>'
        '<text class="who" x="{x}" y="24" text-anchor="middle">{title}</text>'
    ).format(x=x, foot=foot, title=caption if len(caption) < 18 else caption[:16] + "…")


def _height(rung: Rung, places: dict[str, int]) -> int:
    """Only what was required may need more than a line."""
    return ROW + LINE * (len(_wanted(rung, places)) - 1) if rung.required else ROW


def _row(rung: Rung, places: dict[str, int], y: int, height: int, drawn: int, width: int) -> Markup:
    band = Markup('<rect class="hit" x="6" y="{y}" width="{w}" height="{h}" rx="6"/>').format(
        y=y + ROW - 22 - height,
        w=width - 12,
        h=height - 3,
    )
    mark = "✕ " if rung.kind.startswith("bad") else ""
    number = Markup('<text class="num" x="40" y="{y}" text-anchor="end">{label}</text>').format(
        y=y + 4,
        label=mark + rung.label,
    )
    body = band + number + _picture(rung, places, y, drawn) + _state(rung.state, drawn, y)
    if rung.link:
        body = Markup('<a href="#{link}">{body}</a>').format(link=rung.link, body=body)
    return Markup('<g class="rung {kind}">{body}</g>').format(kind=rung.kind, body=body)


def _picture(rung: Rung, places: dict[str, int], y: int, drawn: int) -> Markup:
    if rung.required:
        return _required(rung, places, y)
    if rung.direction == "-":
        return _note(rung, y, drawn)
    start, end = _ends(rung, places)
    return _arrow(start, end, y) + _text((start + end) // 2, y - 6, _step_text(rung.text, abs(end - start)))


def _ends(rung: Rung, places: dict[str, int]) -> tuple[int, int]:
    broker = places["broker"]
    client = places.get(rung.connection, min(places.values()))
    return (client, broker) if rung.direction == ">" else (broker, client)


def _arrow(start: int, end: int, y: int) -> Markup:
    step = 1 if end > start else -1
    return Markup(
        '<line class="shaft" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/><path class="head" d="M{end} {y}l{dx} -4.6v9.2z"/>'
    ).format(a=start, b=end - 7 * step, y=y, end=end, dx=-9 * step)


def _text(x: int, y: int, text: Markup) -> Markup:
    return Markup('<text class="said" x="{x}" y="{y}" text-anchor="middle">{text}</text>').format(x=x, y=y, text=text)


def _required(rung: Rung, places: dict[str, int], y: int) -> Markup:
    """What should have come, on a dashed arrow; what should have been so, on a dashed line without a head."""
    start, end = _ends(rung, places)
    lines = _wanted(rung, places)
    said = [
        _text((start + end) // 2, y - 6 - LINE * (len(lines) - 1 - place), escape(line))
        for place, line in enumerate(lines)
    ]
    plain = Markup('<line class="shaft" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>').format(a=start, b=end, y=y)
    shaft = plain if rung.direction == "-" else _arrow(start, end, y)
    return shaft + Markup("").join(said) + Markup("<title>{all}</title>").format(all=rung.text)


def _wanted(rung: Rung, places: dict[str, int]) -> list[str]:
    start, end = _ends(rung, places)
    room = max(24, abs(end - start) // 7)
    return textwrap.wrap(shortened(rung.text), room, max_lines=MOST_LINES, placeholder=" …") or [""]


def _state(state: str, x: int, y: int) -> Markup:
    """Boxes in the columns beside the picture, or the words, by their beginning where they are long."""
    if not state:
        return Markup("")
    found = groups(state)
    if found is None:
        short = state if len(state) <= STATE_ROOM else state[: STATE_ROOM - 1] + "…"
        return Markup('<text class="num state" x="{x}" y="{y}">{short}<title>{state}</title></text>').format(
            x=x, y=y + 4, short=short, state=state
        )
    waiting = [group for group in found if group.kind == "waiting"]
    rest = [group for group in found if group.kind != "waiting"]
    drawn = [*_boxes(waiting, x, x + WAITING, y), *_boxes(rest, x + WAITING, x + STATE - 8, y)]
    return Markup("<g>{boxes}<title>{state}</title></g>").format(boxes=Markup("").join(drawn), state=state)


def _boxes(some: Sequence[Group], x: float, end: float, y: int) -> Iterator[Markup]:
    """A box for each message as far as there is room, and how many more there are."""
    words = [(group.kind, item) for group in some for item in _marked(group, len(some) > 1)]
    for place, (kind, item) in enumerate(words):
        wide, left = round(LETTER * len(item) + PAD, 1), len(words) - place
        if x + wide + (0 if left == 1 else MORE) > end:
            yield Markup('<text class="num" x="{x}" y="{y}">+{left}</text>').format(x=round(x, 1), y=y + 2, left=left)
            return
        yield _box(kind, item, x, y, wide)
        x += wide + GAP


def _marked(group: Group, several: bool) -> list[str]:
    """Where they are is said, before the first of them, if not all are in one place."""
    return [f"{group.where}:{item}" if several and not place else item for place, item in enumerate(group.items)]


def _box(kind: str, item: str, x: float, y: int, wide: float) -> Markup:
    return Markup(
        '<rect class="box {kind}" x="{x}" y="{top}" width="{wide}" height="20" rx="4"/>'
        '<text class="in" x="{mid}" y="{base}" text-anchor="middle">{item}</text>'
    ).format(kind=kind, x=round(x, 1), top=y - 12, wide=wide, mid=round(x + wide / 2, 1), base=y + 2, item=item)


def _note(rung: Rung, y: int, width: int) -> Markup:
    return _text(width // 2, y + 1, _step_text(rung.text, width - 160))


def shortened(text: str) -> str:
    """The words with long names by their ends."""
    return _LONG.sub(lambda name: "…" + name[0].rstrip("-")[-8:].lstrip("."), text)


def _step_text(text: str, span: int) -> Markup:
    """The step's words, its method in bold, long names by their ends, cut to what fits over an arrow of this length."""
    text = shortened(text)
    room = max(12, span // 7)
    first, _, rest = text.partition(" ")
    short = rest if len(text) <= room else rest[: max(0, room - len(first) - 2)] + "…"
    bold = Markup('<tspan class="method">{}</tspan>').format(first) if "." in first else escape(first)
    return bold + (Markup(" ") + escape(short) if short else Markup(""))
