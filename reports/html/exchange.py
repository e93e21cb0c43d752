"""A case of results.json, made ready for showing: rungs of the ladder, frames, and the same in words.

The handshake of a connection is one rung, because it is never in dispute. The last step is the one at which the rule
is contradicted: cases are cut to end there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from reports.html.frames import Cut, cut
from reports.html.ladder import Rung, ladder

_TO = {">": "to the broker", "<": "from the broker", "-": "beside the wire"}


@dataclass(frozen=True, slots=True)
class StepView:
    """One step in words and in octets."""

    number: int
    anchor: str
    text: str
    where: str
    kind: str
    size: int
    frames: tuple[Cut, ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """One contradiction with all that is shown of it."""

    anchor: str
    data: Mapping[str, Any]
    ladder: Markup
    steps: tuple[StepView, ...]
    frames_of_interest: int


def case_view(case: Mapping[str, Any]) -> CaseView:
    steps = [step for step in case.get("steps", ()) if not str(step["text"]).startswith("scene")]
    anchor = f"case-{case['id']}"
    shown = [_step(step, anchor, step is steps[-1]) for step in steps]
    drawn = rungs(steps, anchor)
    picture = ladder(drawn, anchor, _about(case, drawn)) if drawn else Markup("")
    return CaseView(anchor, case, picture, tuple(shown), sum(bool(step.get("interest")) for step in steps))


def rungs(steps: Sequence[Mapping[str, Any]], anchor: str) -> list[Rung]:
    """The rows of the picture; the handshake of each connection is folded into one."""
    rows: list[Rung] = []
    folded: dict[str, int] = {}
    for step in steps:
        connection = str(step["connection"])
        if not _handshake(step):
            rows.append(_rung(step, anchor, step is steps[-1]))
        elif connection not in folded:
            folded[connection] = len(rows)
            rows.append(Rung("", connection, ">", "connects", "quiet"))
    return rows


def _rung(step: Mapping[str, Any], anchor: str, last: bool) -> Rung:
    return Rung(str(step["n"]), str(step["connection"]), str(step["direction"]), str(step["text"]),
                _kind(step, last), f"{anchor}-{step['n']}")


def _kind(step: Mapping[str, Any], last: bool) -> str:
    return "bad" if last else "plain" if step.get("interest") else "quiet"


def _handshake(step: Mapping[str, Any]) -> bool:
    method = str(step["method"])
    if method:
        return method.startswith("connection.") and "close" not in method and not step.get("interest")
    return step["text"] in ("open", "protocol")


def _step(step: Mapping[str, Any], anchor: str, last: bool) -> StepView:
    raw = str(step.get("raw", ""))
    channel = f", channel {step['channel']}" if step["channel"] else ""
    where = f"{_TO.get(str(step['direction']), '')} on {step['connection'] or 'no connection'}{channel}"
    return StepView(int(step["n"]), f"{anchor}-{step['n']}", str(step["text"]), where, _kind(step, last),
                    len(raw) // 2, tuple(cut(raw)))


def _about(case: Mapping[str, Any], drawn: Sequence[Rung]) -> str:
    last = drawn[-1]
    return f"Step {last.label}, {last.text}, contradicts {case['rule']}. The same steps follow as a list."
