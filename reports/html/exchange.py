"""A case of results.json, made ready for showing: rungs of the ladder, frames, and the same in words.

The handshake of a connection is one rung, because it is never in dispute. The last step is the one at which the rule
is contradicted: cases are cut to end there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from reports.html.frames import Cut, cut
from reports.html.ladder import Rung, ladder

_TO = {">": "to the broker", "<": "from the broker", "-": "beside the wire"}


@dataclass(frozen=True, slots=True)
class StepView:
    """One step in words and in octets."""

    number: str
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
    groups = list(folded(steps))
    rungs = [_rung(group, anchor, group is groups[-1]) for group in groups]
    picture = ladder(rungs, anchor, _about(case, rungs)) if rungs else Markup("")
    shown = [_step(group, rung) for group, rung in zip(groups, rungs, strict=True)]
    return CaseView(anchor, case, picture, tuple(shown), sum(bool(step.get("interest")) for step in steps))


def folded(steps: Sequence[Mapping[str, Any]]) -> Iterable[list[Mapping[str, Any]]]:
    """Each step by itself, but the handshake of a connection as one, where it began."""
    handshakes: dict[str, list[Mapping[str, Any]]] = {}
    groups: list[list[Mapping[str, Any]]] = []
    for step in steps:
        connection = str(step["connection"])
        if not _handshake(step):
            groups.append([step])
        elif connection in handshakes:
            handshakes[connection].append(step)
        else:
            handshakes[connection] = [step]
            groups.append(handshakes[connection])
    return groups


def _handshake(step: Mapping[str, Any]) -> bool:
    method = str(step["method"])
    if method:
        return method.startswith("connection.") and "close" not in method and not step.get("interest")
    return step["text"] in ("open", "protocol")


def _rung(group: Sequence[Mapping[str, Any]], anchor: str, last: bool) -> Rung:
    step = group[0]
    label = str(step["n"])
    kind = "bad" if last else "plain" if step.get("interest") else "quiet"
    if _handshake(step) and not last:
        return Rung(label, str(step["connection"]), ">", "connects", kind, f"{anchor}-{label}")
    direction, text = str(step["direction"]), str(step["text"])
    if text.startswith("waited"):
        direction, kind = "<", f"{kind} vain"
    return Rung(label, str(step["connection"]), direction, text, kind, f"{anchor}-{label}")


def _step(group: Sequence[Mapping[str, Any]], rung: Rung) -> StepView:
    raws = [str(step.get("raw", "")) for step in group]
    frames = tuple(frame for raw in raws for frame in cut(raw))
    return StepView(rung.label, rung.link, rung.text, _where(group), rung.kind, sum(map(len, raws)) // 2, frames)


def _where(group: Sequence[Mapping[str, Any]]) -> str:
    step = group[0]
    place = " ".join(filter(None, [str(step["connection"]), f"channel {step['channel']}" if step["channel"] else ""]))
    if len(group) > 1:
        return f"{place}, {len(group)} steps"
    return ", ".join(filter(None, [_TO.get(str(step["direction"]), ""), place]))


def _about(case: Mapping[str, Any], drawn: Sequence[Rung]) -> str:
    last = drawn[-1]
    return f"Step {last.label}, {last.text}, contradicts {case['rule']}. The same steps follow as a list."
