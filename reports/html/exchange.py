"""A case of results.json, made ready for showing: rungs of the ladder, frames, and the same in words.

The handshake of a connection is one rung, because it is never in dispute; so is a long run of like frames, of which
the first and the last show their octets. The rule is contradicted at the step that was the case's event `at`; where
the steps do not say which events they were, at the last one, because cases are cut to end there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from reports.folding import runs, told
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
    complete: bool = True

    def size(self, part: str) -> int:
        """How many characters of the page the steps in words, the picture or the octets take, roughly."""
        if part == "ladder":
            return len(self.ladder)
        if part == "steps":
            return sum(150 + 2 * len(step.anchor) + len(step.text) for step in self.steps)
        return sum(_weight(frame) for step in self.steps for frame in step.frames)

    def without(self, part: str) -> CaseView:
        """The same case without its steps, its picture (ladder), its octets (frames), or those of its set-up (quiet).
        Nothing can be without its steps and have the others."""
        if part == "ladder":
            return replace(self, ladder=Markup(""), complete=False)
        if part == "steps":
            return replace(self, ladder=Markup(""), steps=(), complete=False)
        steps = tuple(
            replace(step, frames=()) if part == "frames" or step.kind == part else step for step in self.steps
        )
        return replace(self, steps=steps, complete=False)


def _weight(frame: Cut) -> int:
    return 90 + sum(75 + len(part.octets) + len(part.name) + len(part.meaning) for part in frame.parts)


def case_view(case: Mapping[str, Any], key: str) -> CaseView:
    """The case as it is shown; `key` tells it from the same rule's case on another broker."""
    steps = [step for step in case.get("steps", ()) if not str(step["text"]).startswith("scene")]
    anchor = f"case-{key}-{case['id']}"
    failing = _failing(steps, case["at"])
    groups = folded(steps, failing)
    rungs = [_rung(group, anchor, any(step is steps[failing] for step in group)) for group in groups]
    picture = ladder(rungs, anchor, _about(case, rungs)) if rungs else Markup("")
    shown = [_step(group, rung) for group, rung in zip(groups, rungs, strict=True)]
    return CaseView(anchor, case, picture, tuple(shown), sum(bool(step.get("interest")) for step in steps))


def _failing(steps: Sequence[Mapping[str, Any]], at: int) -> int:
    """The place of the step that contradicts the rule."""
    last = len(steps) - 1
    return next((place for place, step in enumerate(steps) if at and step.get("seq") == at), last)


def folded(steps: Sequence[Mapping[str, Any]], failing: int) -> list[list[Mapping[str, Any]]]:
    """Each step by itself, but long runs of like ones together, and the handshake of a connection, where it began."""
    handshakes: dict[str, list[Mapping[str, Any]]] = {}
    groups: list[list[Mapping[str, Any]]] = []
    for group in runs(steps, frozenset({failing})):
        connection = str(group[0]["connection"])
        if len(group) > 1 or not _handshake(group[0]):
            groups.append(group)
        elif connection in handshakes:
            handshakes[connection].extend(group)
        else:
            handshakes[connection] = group
            groups.append(group)
    return groups


def _handshake(step: Mapping[str, Any]) -> bool:
    method = str(step["method"])
    if method:
        return method.startswith("connection.") and "close" not in method and not step.get("interest")
    return step["text"] in ("open", "protocol")


def _rung(group: Sequence[Mapping[str, Any]], anchor: str, bad: bool) -> Rung:
    step = group[0]
    label = str(step["n"])
    kind = "bad" if bad else "plain" if step.get("interest") else "quiet"
    if _handshake(step) and not bad:
        return Rung(label, str(step["connection"]), ">", "connects", kind, f"{anchor}-{label}")
    direction, text = str(step["direction"]), told(group) if not _handshake(step) else str(step["text"])
    if text.startswith("waited"):
        direction, kind = "<", f"{kind} vain"
    return Rung(label, str(step["connection"]), direction, text, kind, f"{anchor}-{label}")


def _step(group: Sequence[Mapping[str, Any]], rung: Rung) -> StepView:
    raws = [str(step.get("raw", "")) for step in group]
    shown = raws if _handshake(group[0]) or len(raws) < 3 else [raws[0], raws[-1]]
    frames = tuple(frame for raw in shown for frame in cut(raw))
    return StepView(rung.label, rung.link, rung.text, _where(group), rung.kind, sum(map(len, raws)) // 2, frames)


def _where(group: Sequence[Mapping[str, Any]]) -> str:
    step = group[0]
    place = " ".join(filter(None, [str(step["connection"]), f"channel {step['channel']}" if step["channel"] else ""]))
    if _handshake(step) and len(group) > 1:
        return f"{place}, {len(group)} steps"
    return ", ".join(filter(None, [_TO.get(str(step["direction"]), ""), place]))


def _about(case: Mapping[str, Any], drawn: Sequence[Rung]) -> str:
    failing = next((rung for rung in drawn if rung.kind.startswith("bad")), drawn[-1])
    return f"Step {failing.label}, {failing.text}, contradicts {case['rule']}. The same steps follow as a list."
