"""Shows a long run of similar frames as one line: `basic.ack 67..97, 31 frames`.

A run consists of consecutive steps on one channel in one direction, whose words differ only in numbers. Each number
stays the same, or grows by one from step to step. So nothing is lost: the line of a run gives the words of each of its
steps. A different step in between, or a jump in the numbers, ends a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

SHORTEST = 4
"""Steps of a run at least; a shorter one is shown step by step."""
LINES = 40
"""Of one exchange at most; all of it is in the report."""

_NUMBER = re.compile(r"(?<![\d.])\d{1,19}(?![\d.])", re.ASCII)

Step = Mapping[str, Any]


def runs(steps: Sequence[Step], apart: frozenset[int] = frozenset()) -> list[list[Step]]:
    """The steps in order, in groups: runs of at least `SHORTEST`, and single steps. The places `apart` stay single."""
    groups: list[list[Step]] = []
    start = 0
    while start < len(steps):
        end = start + 1
        while end < len(steps) and start not in apart and end not in apart and _follows(steps[start:end], steps[end]):
            end += 1
        size = end - start if end - start >= SHORTEST else 1
        groups.append(list(steps[start : start + size]))
        start += size
    return groups


def describe_group(group: Sequence[Step]) -> str:
    """The words of a step, or of a run."""
    first, last = str(group[0]["text"]), str(group[-1]["text"])
    if len(group) == 1:
        return first
    ends = iter(_NUMBER.findall(last))
    words = _NUMBER.sub(lambda found: _span(found[0], next(ends)), first)
    return f"{words}, {len(group)} frames"


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first}..{last}"


def _follows(run: Sequence[Step], step: Step) -> bool:
    """Does the step carry on the run? Which numbers grow is settled by the run's first two steps."""
    before = run[-1]
    if any(before[name] != step[name] for name in ("direction", "connection", "channel", "interest")):
        return False
    old, new = str(before["text"]), str(step["text"])
    if _NUMBER.sub("#", old) != _NUMBER.sub("#", new) or "." not in old.partition(" ")[0]:
        return False
    growth = _growth(old, new)
    return set(growth) <= {0, 1} and (len(run) < 2 or growth == _growth(str(run[-2]["text"]), old))


def _growth(old: str, new: str) -> list[int]:
    pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
    return [int(right) - int(left) if str(int(right)) == right else 2 for left, right in pairs]


def exchange(case: Mapping[str, Any], most: int = LINES) -> list[str]:
    """The steps of interest in words, runs of like ones folded, a cross at the one that contradicts the rule, and with
    it what the client had said last. What is too long is left out in the middle."""
    failing = case["at"] or None
    cause = _cause(case["steps"], failing)
    steps = [step for step in case["steps"] if step["interest"] or step.get("seq") == failing or step is cause]
    apart = frozenset(place for place, step in enumerate(steps) if step.get("seq") == failing)
    lines = [
        f"{'✕' if group[0].get('seq') == failing else ' '} {group[0]['n']:>3} {group[0]['direction']} "
        f"{_place(group[0])}{describe_group(group)}"
        for group in runs(steps, apart)
    ]
    head = most // 2
    return (
        lines
        if len(lines) <= most
        else [
            *lines[:head],
            f"  ... {len(lines) - most + 1} more",
            *lines[head + 1 - most :],
        ]
    )


def _cause(steps: Sequence[Mapping[str, Any]], failing: int | None) -> Mapping[str, Any] | None:
    """What the client said last before this step, on the connection of the step if it has one."""
    place = next((place for place, step in enumerate(steps) if step.get("seq") == failing), 0)
    said = (step for step in reversed(steps[:place]) if step["direction"] == ">")
    return next((step for step in said if steps[place]["connection"] in ("", step["connection"])), None)


def _place(step: Mapping[str, Any]) -> str:
    return f"{step['connection']}.{step['channel']} " if step["connection"] else ""
