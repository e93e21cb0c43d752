"""A case of results.json, prepared for the page: rungs of the ladder, frames, and the same in words.

The handshake of a connection is one rung, and so is each stretch of set-up (channels opened, queues declared), because
nobody disputes them. A long run of similar frames is one rung as well, and shows the octets of its first and last
frame. The rule is contradicted at the step of the case's event `at`. If the steps do not say which events they were,
it is the last step, because cases are cut to end there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from conformance.evidence import emit
from conformance.evidence.folding import describe_group, runs
from reports.html.frames import Cut, cut
from reports.html.ladder import Rung, ladder

_SET_UP = frozenset(
    f"{asked}{answer}"
    for answer in ("", "-ok")
    for asked in ("channel.open", "confirm.select", "exchange.declare", "queue.declare", "queue.bind")
)
SCRIPTS = {"raw": "plain sockets", "pika": "pika", "py-amqp": "py-amqp"}
"""What a script is written for, by the name of its file."""
_COMES = re.compile(
    r"(?:basic|channel|connection|queue|exchange|tx|confirm)\.[a-z]|(?:one )?\w+-ok\b|"
    r"\S+ is delivered|\S+ first\b"
)
_ACCEPTED = re.compile(r"^\S.* is (?:accepted|carried out)\b")
"""Is what was required a frame of the broker, which can be drawn? That something is accepted cannot be drawn."""
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
    state: str = ""
    """What waits and what is open after it, by the model, where that changes."""


@dataclass(frozen=True, slots=True)
class CaseView:
    """One contradiction with all that is shown of it."""

    anchor: str
    data: Mapping[str, Any]
    ladder: Markup
    steps: tuple[StepView, ...]
    frames_of_interest: int
    complete: bool = True
    script: str = ""
    """The script over plain sockets, to copy; empty where there is none, or no room for it."""

    @property
    def files(self) -> list[tuple[str, str]]:
        """(what it is, where it is beside the page); none where the page is no report of a run, with a folder."""
        if not str(self.data.get("rerun", "")).startswith("amqp-conformance run"):
            return []
        where, told = f"cases/{self.data['id']}", bool(self.data.get("story"))
        absent = self.data.get("absent") or {}
        scripts = [
            (f"script, {words}", f"{where}.{library}.py")
            for library, words in SCRIPTS.items()
            if told and library not in absent
        ]
        shown = [("transcript", f"{where}.txt"), ("capture", f"{where}.pcap")] if self.data.get("steps") else []
        return [*scripts, ("case", f"{where}.json"), *shown]

    @property
    def unwritten(self) -> list[str]:
        """Why scripts are missing: one reason if it is the same for all."""
        if not self.data.get("story"):
            return [f"No script and no replay: {self.data['untold']}."] if self.data.get("untold") else []
        return [f"No script by {library}: {why}." for library, why in sorted((self.data.get("absent") or {}).items())]

    def size(self, part: str) -> int:
        """Roughly how many characters of the page a part takes: the steps in words, the picture or the octets."""
        if part == "ladder":
            return len(self.ladder)
        if part == "steps":
            return sum(150 + 2 * len(step.anchor) + len(step.text) + len(step.state) for step in self.steps)
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
    steps, failing = _displayed_steps(case)
    anchor = f"case-{key}-{case['id']}"
    groups = folded(steps, failing)
    rungs = [_rung(group, anchor, any(step is steps[failing] for step in group)) for group in groups]
    picture = ladder(_drawn(case, rungs), anchor, _about(case, rungs)) if rungs else Markup("")
    shown = [_step(group, rung) for group, rung in zip(groups, rungs, strict=True)]
    return CaseView(anchor, case, picture, tuple(shown), sum(bool(step.get("interest")) for step in steps))


def picture(case: Mapping[str, Any]) -> list[Rung]:
    """The rows of the picture of a case, wherever it is drawn."""
    steps, failing = _displayed_steps(case)
    rungs = [_rung(group, "", any(step is steps[failing] for step in group)) for group in folded(steps, failing)]
    return _drawn(case, rungs)


def _displayed_steps(case: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], int]:
    """The steps that are shown, and the place of the one that contradicts the rule."""
    steps = [step for step in case.get("steps", ()) if not str(step["text"]).startswith("scene")]
    return steps, _failing(steps, case["at"])


def _drawn(case: Mapping[str, Any], rungs: Sequence[Rung]) -> list[Rung]:
    """The rows of the picture: each with the state that it leaves, and what was required above what contradicts it."""
    drawn: list[Rung] = []
    state = ""
    for rung in rungs:
        if rung.kind.startswith("bad") and case.get("allowed"):
            drawn.append(_wanted(str(case["allowed"]), rung))
        state = rung.state or state
        drawn.append(replace(rung, state=state))
    return drawn


def _wanted(allowed: str, bad: Rung) -> Rung:
    comes = _COMES.match(allowed) is not None and not _ACCEPTED.search(allowed)
    return Rung("", bad.connection, "<" if comes else "-", f"required: {allowed}", "required")


def scripted(view: CaseView, rule: Mapping[str, Any]) -> CaseView:
    """The case with its script over plain sockets, where it has one."""
    case = view.data
    if not case.get("story") or emit.RAW in (case.get("absent") or {}):
        return view
    about = {
        "id": case["id"],
        "title": rule["title"],
        "clause": rule["clause"],
        "allowed": case["allowed"],
        "observed": case["observed"],
        "reproduced": case["reproduced"],
    }
    return replace(view, script=emit.scripts(case["story"], about)[0][emit.RAW])


def _failing(steps: Sequence[Mapping[str, Any]], at: int) -> int:
    """The place of the step that contradicts the rule."""
    last = len(steps) - 1
    return next((place for place, step in enumerate(steps) if at and step.get("seq") == at), last)


def folded(steps: Sequence[Mapping[str, Any]], failing: int) -> list[list[Mapping[str, Any]]]:
    """Each step by itself, but long runs of like ones together, and so stretches of set-up on one connection, and the
    handshake of a connection, where it began. The failing step is always by itself."""
    handshakes: dict[str, list[Mapping[str, Any]]] = {}
    groups: list[list[Mapping[str, Any]]] = []
    stretch: list[Mapping[str, Any]] | None = None
    for group in runs(steps, frozenset({failing})):
        connection = str(group[0]["connection"])
        alone = group[0] is steps[failing]
        if not alone and _handshake(group[0]) and connection in handshakes:
            handshakes[connection].extend(group)
        elif not alone and stretch is not None and _sets_up(group) and stretch[0]["connection"] == connection:
            stretch.extend(group)
        else:
            groups.append(group)
            stretch = group if not alone and _sets_up(group) else None
            if not alone and _handshake(group[0]):
                handshakes[connection] = group
    return groups


def _sets_up(group: Sequence[Mapping[str, Any]]) -> bool:
    return all(step["method"] in _SET_UP and not step.get("interest") for step in group)


def _setting_up(group: Sequence[Mapping[str, Any]]) -> str:
    """What a stretch of set-up makes: `sets up channels 1, 2 and q`."""
    channels = list(dict.fromkeys(str(step["channel"]) for step in group if step["method"] == "channel.open"))
    declared = [step for step in group if step["method"] in ("queue.declare", "exchange.declare")]
    names = list(dict.fromkeys(str(step["text"]).split()[1] for step in declared if " " in step["text"]))
    made = [f"channel{'s' * (len(channels) > 1)} {', '.join(channels)}"] if channels else []
    made += [", ".join(names)] if names else []
    return f"sets up {' and '.join(made) or 'confirms or bindings'}"


def _handshake(step: Mapping[str, Any]) -> bool:
    method = str(step["method"])
    if method:
        return method.startswith("connection.") and "close" not in method and not step.get("interest")
    return step["text"] in ("open", "protocol")


def _rung(group: Sequence[Mapping[str, Any]], anchor: str, bad: bool) -> Rung:
    step = group[0]
    label, connection = str(step["n"]), str(step["connection"])
    kind = "bad" if bad else "plain" if step.get("interest") else "quiet"
    state = next((str(one["state"]) for one in reversed(group) if one.get("state")), "")
    if _whole(group) and not bad:
        text = "connects" if _handshake(step) else _setting_up(group)
        return Rung(label, connection, ">", text, kind, f"{anchor}-{label}", state)
    direction, text = str(step["direction"]), describe_group(group)
    if text.startswith("waited"):
        direction, kind = "<", f"{kind} vain"
    return Rung(label, connection, direction, text, kind, f"{anchor}-{label}", state)


def _whole(group: Sequence[Mapping[str, Any]]) -> bool:
    """Is this a handshake or a stretch of set-up, shown as one step?"""
    return _handshake(group[0]) or (len(group) > 1 and _sets_up(group))


def _step(group: Sequence[Mapping[str, Any]], rung: Rung) -> StepView:
    raws = [str(step.get("raw", "")) for step in group]
    shown = raws if _whole(group) or len(raws) < 3 else [raws[0], raws[-1]]
    frames = tuple(frame for raw in shown for frame in cut(raw))
    size = sum(map(len, raws)) // 2
    return StepView(rung.label, rung.link, rung.text, _where(group), rung.kind, size, frames, rung.state)


def _where(group: Sequence[Mapping[str, Any]]) -> str:
    step = group[0]
    if _whole(group) and len(group) > 1:
        return f"{step['connection']}, {len(group)} steps"
    place = " ".join(filter(None, [str(step["connection"]), f"channel {step['channel']}" if step["channel"] else ""]))
    return ", ".join(filter(None, [_TO.get(str(step["direction"]), ""), place]))


def _about(case: Mapping[str, Any], drawn: Sequence[Rung]) -> str:
    failing = next((rung for rung in drawn if rung.kind.startswith("bad")), drawn[-1])
    return f"Step {failing.label}, {failing.text}, contradicts {case['rule']}. The same steps follow as a list."
