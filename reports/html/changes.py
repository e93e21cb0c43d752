"""What changed since the previous run, rule by rule, in words that tell an operator what to do.

Two runs are compared by what they say about the broker. A rule that one of them did not judge has not changed, unless
it is broken now: a missing verdict is no news, but a fault is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.evidence.words import Sign, judged, sign
from reports.html.runs import RunColumn

KINDS = ("new", "moved", "other", "fixed")
"""Worst first: newly broken; broken in another way; changed in another way; held again."""
_FAULTS = ("broken", "deviates", "differs")


@dataclass(frozen=True)
class Change:
    """One rule on one broker. `word` is said at the end of its line."""

    run: RunColumn
    rule: str
    title: str
    kind: str
    was: Sign
    now: Sign
    text: str

    @property
    def word(self) -> str:
        return {"fixed": "fixed", "new": "new", "moved": "moved"}.get(self.kind, "changed")


@dataclass(frozen=True)
class Since:
    """A run and the one before it."""

    run: RunColumn
    before: Mapping[str, Any]
    changes: Sequence[Change]

    @property
    def about(self) -> str:
        """Which run it is compared with, and how alike the two were made."""
        now, before = self.run.results, self.before
        day = str(before["started"]).replace("T", " ").replace("Z", " UTC")
        other = [f"{before['broker']['name']}"] if before["broker"]["name"] != now["broker"]["name"] else []
        alike = ("suite", "profile", "depth", "seed")
        other += [f"{what} {before[what]}" for what in alike if before[what] != now[what]]
        return f"{day}, " + (f"then {', '.join(other)}" if other else "same suite, depth and seed")


def since(run: RunColumn, before: Mapping[str, Any]) -> Since:
    """What changed on this broker, worst first."""
    earlier = {str(rule["id"]): rule for rule in before["rules"]}
    found = [change for name, rule in run.rules.items() if (change := _change(run, rule, earlier.get(name)))]
    return Since(run, before, sorted(found, key=lambda change: (KINDS.index(change.kind), change.rule)))


def _change(run: RunColumn, now: Mapping[str, Any], was: Mapping[str, Any] | None) -> Change | None:
    before, after = str(was["verdict"]) if was else "not-run", str(now["verdict"])
    known = was is not None and judged(was)
    if not judged(now) or (not known and after != "broken"):
        return None
    if before == after and (after not in _FAULTS or was is None or _gist(was) == _gist(now)):
        return None
    kind = _kind(before, after)
    title = str(now["title"])
    return Change(run, str(now["id"]), title, kind, sign(before), sign(after), " ".join(_text(before, after, now)))


def _kind(before: str, after: str) -> str:
    if before == after:
        return "moved"
    if after == "broken":
        return "new"
    return "fixed" if before in _FAULTS and after == "held" else "other"


def _text(before: str, after: str, now: Mapping[str, Any]) -> Iterator[str]:
    if before != after:
        yield f"{sign(before).word} → {sign(after).word}"
    if after in _FAULTS and now.get("cases"):
        yield f"{'now' if before == after else 'seen'}: {now['cases'][0]['observed']}"


def _gist(rule: Mapping[str, Any]) -> frozenset[str]:
    """In which ways it is broken, numbers and names aside."""
    return frozenset(re.sub(r"\S*\d\S*", "#", str(case["observed"])) for case in rule.get("cases") or ())
