"""The detection curve: what became of a sample, for each kind of trigger and each k, as figures and in words.

A goal is a share of those found: the one for triggers up to k = 64 (or without a k), and the one beyond. Who was not
done in time was not found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tools.mutation.campaign import SHOWS_IN, Campaign, Sampled, plain

OUTCOMES = ("found", "unseen", "silent", "unfinished")
NEAR = 64
CRASH = "ERR-012"
"""The rule that an internal error breaks: such a mutation is found wherever it shows."""
GOALS = {"smoke": (0.0, 0.0), "ci": (0.9, 0.75), "deep": (0.95, 0.95)}
"""Shares to be found up to k = NEAR, and beyond."""
Figures = dict[str, Any]


def figures(sampled: Sequence[Sampled], campaign: Campaign, places: int) -> Figures:
    """Of one campaign."""
    settings = campaign.settings
    rows = [plain(one) for one in sampled]
    near, far = [one for one in rows if one["k"] <= NEAR], [one for one in rows if one["k"] > NEAR]
    return {
        "of": str(settings),
        "depth": settings.depth,
        "seed": settings.seed,
        "sample": len(rows),
        "places": places,
        "base": str(campaign.base),
        "shows_in": SHOWS_IN,
        "passed_over": sum(one["passed_over"] for one in rows),
        "near": counted(near),
        "far": counted(far),
        "kinds": {kind: counted(those) for kind, those in _by(rows, "kind").items()},
        "powers": {
            kind: {k: counted(each) for k, each in sorted(_by(those, "k").items())}
            for kind, those in _by([one for one in rows if one["k"]], "kind").items()
        },
        "flaws": {flaw: counted(those) for flaw, those in _by(rows, "flaw").items()},
        "quiet": counted(one for one in rows if one["base"] != CRASH),
        "alarms": [*campaign.alarms, *(told for one in rows for told in one["alarms"])],
        "survivors": [one for one in rows if one["outcome"] != "found"],
        "hung": sum(one["hung"] for one in rows),
        "seconds": round(sum(one["seconds"] for one in rows)),
    }


def counted(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    seen = Counter(one["outcome"] for one in rows)
    return {outcome: seen[outcome] for outcome in OUTCOMES}


def _by(rows: Iterable[Mapping[str, Any]], what: str) -> dict[Any, list[Mapping[str, Any]]]:
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for one in rows:
        groups.setdefault(one[what], []).append(one)
    return groups


def share(counts: Mapping[str, int]) -> float:
    """Of those found; all, where there are none."""
    whole = sum(counts.values())
    return counts["found"] / whole if whole else 1.0


def sound(document: Figures) -> bool:
    """Are the goals met, and was no honest broker accused?"""
    near, far = GOALS[document["depth"]]
    return share(document["near"]) >= near and share(document["far"]) >= far and not document["alarms"]


def line(number: int, total: int, one: Sampled) -> str:
    """The progress of a campaign, one broker a line."""
    seen = one.seen
    words = {
        "found": f"found by {seen.rule}",
        "unseen": f"NOT SEEN, fired {seen.fired} times",
        "silent": f"NEVER FIRED on {seen.occasions} occasions",
        "unfinished": "NOT DONE IN TIME",
    }
    return (
        f"{number}/{total} {one.mutation.key}, {one.trigger.key}: {words[seen.outcome]}, {seen.seconds:.0f} s "
        f"(always: {one.base})"
    )


def words(document: Figures) -> list[str]:
    """The figures for a person."""
    return [
        "",
        f"depth {document['of']}, seed {document['seed']}: {document['sample']} brokers out of "
        f"{document['places']} places; {document['passed_over']} mutations passed over that do not show at depth "
        f"{document['base']}",
        _row("trigger", "found", "fired, not seen", "never fired", "not done", "share"),
        *(_counts(kind, counts) for kind, counts in document["kinds"].items()),
        *(
            _counts(f"{kind} {'at' if kind == 'size' else 'k ='} {k}", counts)
            for kind, powers in document["powers"].items()
            for k, counts in powers.items()
        ),
        _counts(f"up to k = {NEAR}", document["near"]),
        _counts("beyond", document["far"]),
        _counts("but crashes", document["quiet"]),
        *(f"alarm: {told}" for told in document["alarms"]),
        f"{document['seconds']} s of playing",
    ]


def _counts(name: str, counts: Mapping[str, int]) -> str:
    return _row(name, *(str(counts[outcome]) for outcome in OUTCOMES), f"{share(counts):.0%}")


def _row(name: str, *cells: str) -> str:
    return f"{name:<16}" + "".join(f"{cell:>17}" for cell in cells)
