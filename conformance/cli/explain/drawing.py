"""An exchange drawn in a terminal: the client at the left, the broker beside it, and what waits and is open.

    client                                   broker   waiting          unacked, unconfirmed
 20 │──── basic.publish m9 to q1 ─────────────▶│      m9
 22 │◀─── basic.get-ok 2 m9 ───────────────────│                       c1.8 2 m9
    │◀╌╌╌ required: m9 stays where it is ╌╌╌╌╌╌│
 ✕24│◀─── basic.get-ok 1 m9 redelivered ───────│                       c1.9 1 m9

The rows are those of the page's picture. As wide as it is told and no wider; where that is narrow, without the states.
Pure: rows in, lines out; `paint` puts a text into a style, or leaves it alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from reports.html.boxes import Group, groups
from reports.html.ladder import Rung, shortened

Paint = Callable[[str, str], str]

LEAST, ROOMY = 40, 84
"""Columns: fewer are not obeyed; from so many on states are shown."""
WIDEST = 50
"""Columns of an arrow."""


def draw(rungs: Sequence[Rung], width: int, paint: Paint) -> list[str]:
    """The picture in lines of this width."""
    several = len({rung.connection for rung in rungs if rung.connection}) > 1
    beside = width >= ROOMY and any(rung.state for rung in rungs)
    margin = max(2, *(len(rung.label) + 1 for rung in rungs)) + 1
    span = min(WIDEST, max(LEAST, width) - margin - 4)
    room = max(LEAST, width) - margin - span - 4
    head = f"{'':{margin}}client{'':{max(1, span - 10)}}broker"
    lines = [f"{head}  waiting · unacked, unconfirmed" if beside else head]
    for rung in rungs:
        lines += _row(rung, margin, span, room if beside else 0, several, paint)
    return [_cut(lines[0], max(LEAST, width)), *(line.rstrip() for line in lines[1:])]


def _row(rung: Rung, margin: int, span: int, room: int, several: bool, paint: Paint) -> Iterator[str]:
    bad = rung.kind.startswith("bad")
    style = "bad" if bad else "good" if rung.required else "dim" if rung.kind.startswith("quiet") else ""
    label = f"{'✕' if bad else ''}{rung.label}".rjust(margin - 1)
    state = _state(rung.state, room) if room else ""
    text = shortened(rung.text)
    who = f"{rung.connection}: " if several and rung.connection and not rung.required else ""
    said = textwrap.wrap(who + text, span - 8) if rung.required else [who + text]
    for place, line in enumerate(said):
        arrow = _arrow(rung, line, span, last=place == len(said) - 1)
        start = f"{label if not place else '':{margin - 1}} │{arrow}│"
        yield f"{paint(style, start) if style else start}  {paint('dim', state) if state and not place else ''}"


def _arrow(rung: Rung, text: str, span: int, *, last: bool) -> str:
    """The words on an arrow, dashed where nothing came and where something was required; before the last line of what
    was required there is no arrow yet."""
    if rung.direction == "-" and not rung.required:
        return f" {_cut(text, span - 2)} ".center(span)
    if not last:
        return f"    {text}".ljust(span)
    dash = "╌" if rung.required or rung.kind.endswith("vain") else "─"
    shaft = f"{dash * 3} {_cut(text, span - 7)} ".ljust(span - 1, dash)
    if rung.direction == "-":
        return f"{shaft}{dash}"
    return f"{shaft}▶" if rung.direction == ">" else f"◀{shaft}"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(0, room - 1)] + "…"


def _state(state: str, room: int) -> str:
    found = groups(state)
    if found is None:
        return _cut(state, room)
    several = len(found) > 2 or len({group.kind for group in found}) < len(found)
    waiting = " ".join(_group(group, several) for group in found if group.kind == "waiting")
    rest = " ".join(_group(group, several) for group in found if group.kind != "waiting")
    return _cut(f"{waiting} · {rest}".strip() if rest else waiting, room)


def _group(group: Group, several: bool) -> str:
    where = f"{group.where}:" if several else ""
    mark = "?" if group.kind == "unconfirmed" else ""
    return " ".join(
        f"[{item}{mark}]" if place or not where else f"{where}[{item}{mark}]" for place, item in enumerate(group.items)
    )
