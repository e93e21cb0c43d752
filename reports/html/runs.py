"""The columns of the page: which brokers it is about, what each is called, their order, and how each did.

Real brokers keep the order in which they were given. A reference broker with the profile of a real broker imitates it,
so it stands beside it. Any other reference broker stands first, to compare the others with. The headline is about real
brokers if there are any; if a reference broker fails, it says so last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from conformance.evidence.words import SIGNS, Share, count, examined, gravity, headline, series, share

OURS = "The conformance suite's own broker."
"""How the reference broker tells what it is, in whatever dialect, in its server properties."""

LABEL = 12
"""Characters of a selection of rules that stand atop a column."""

_NUMBERS = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve")


@dataclass(frozen=True)
class RunColumn:
    """One run on one broker. `key` names it in permalinks, `name` in sentences, `title` and `detail` atop a column."""

    results: Mapping[str, Any]
    key: str
    title: str
    detail: str
    reference: bool
    mutants: str = ""
    """What is wrong with it on purpose. Such a run must find faults, and says nothing about a real broker."""

    @property
    def name(self) -> str:
        return f"{self.title} {'as ' if self.reference and not self.mutants else ''}{self.detail}".strip()

    @property
    def caught(self) -> int:
        """How many rules found the fault of a broker that is wrong on purpose."""
        return len(self.broken)

    @cached_property
    def rules(self) -> Mapping[str, Mapping[str, Any]]:
        return {str(rule["id"]): rule for rule in self.results["rules"]}

    @property
    def open(self) -> bool:
        return bool(self.results["gate"]["open"])

    @property
    def examined(self) -> int:
        """How many rules came to a verdict on something that the broker offers."""
        return sum(examined(rule) for rule in self.results["rules"])

    @property
    def must(self) -> Share:
        return share("must", self.results["rules"])

    @property
    def standing(self) -> str:
        """What a reader wants to know next after the gate: `2 broken, 1 known deviation`."""
        seen = Counter(str(rule["verdict"]) for rule in self.results["rules"])
        said = [f"{seen['broken'] or 'none'} broken"]
        said += [count(seen["deviates"], "known deviation")] if seen["deviates"] else []
        said += [
            f"{seen[one]} {SIGNS[one].word}" for one in ("harness-error", "inconclusive", "under-tested") if seen[one]
        ]
        return ", ".join(said)

    @property
    def brief(self) -> str:
        """The same where a column is narrow."""
        return self.standing.replace("known deviations", "known").replace("known deviation", "known")

    @property
    def excused(self) -> bool:
        """Is the gate open because of the deviations file alone?"""
        bare = self.results.get("gate_without_deviations")
        return bool(bare and not bare["open"] and self.open)

    @property
    def broken(self) -> list[Mapping[str, Any]]:
        return sorted((rule for rule in self.results["rules"] if rule["verdict"] == "broken"), key=gravity)


def columns(documents: Iterable[Mapping[str, Any]]) -> list[RunColumn]:
    """The runs in the order in which they stand on the page, no two with the same key."""
    used: Counter[str] = Counter()
    runs = []
    for results in documents:
        made = _run(results)
        used[made.key] += 1
        if used[made.key] > 1:
            again = str(used[made.key])
            made = replace(made, key=f"{made.key}-{again}", detail=f"{made.detail} ({_chosen(results) or again})")
        runs.append(made)
    return list(_ordered(runs))


def _chosen(results: Mapping[str, Any]) -> str:
    """The rules that this run was asked for, if not for all: it tells it from another one of the same broker."""
    asked = results.get("selection", {})
    rules = str(asked.get("rules", "*"))
    if rules == "*" and asked.get("set"):
        return str(asked["set"])
    if rules == "*":
        return ""
    return rules if len(rules) <= LABEL else f"{rules.partition(',')[0][:LABEL]}, …"


def _run(results: Mapping[str, Any]) -> RunColumn:
    broker, profile = results["broker"], str(results["profile"])
    if _is_reference(broker) and (wrong := str(broker["name"]).partition(" with ")[2]):
        return RunColumn(results, _slug(f"mutant-{wrong}"), "Mutant", wrong, reference=True, mutants=wrong)
    if _is_reference(broker):
        return RunColumn(results, _slug(f"reference-{profile}"), "Reference", profile, reference=True)
    name, version = str(broker["name"]), str(broker.get("version", ""))
    title = name.removesuffix(version).strip() if version else name
    return RunColumn(results, _slug(name), title or name, version if title else "", reference=False)


def _is_reference(broker: Mapping[str, Any]) -> bool:
    return (broker.get("server_properties") or {}).get("information") == OURS


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:40] or "broker"


def _ordered(runs: Sequence[RunColumn]) -> Iterator[RunColumn]:
    mutants = [run for run in runs if run.mutants]
    yield from _right([run for run in runs if not run.mutants])
    yield from mutants


def _right(runs: Sequence[RunColumn]) -> Iterator[RunColumn]:
    """Brokers that are not wrong on purpose."""
    real = [run for run in runs if not run.reference]
    imitated = {run.results["profile"] for run in real}
    yield from (run for run in runs if run.reference and run.results["profile"] not in imitated)
    told: set[str] = set()
    for run in real:
        yield run
        last = not any(later.results["profile"] == run.results["profile"] for later in real[real.index(run) + 1 :])
        if last and run.results["profile"] not in told:
            told.add(run.results["profile"])
            yield from (one for one in runs if one.reference and one.results["profile"] == run.results["profile"])


def together(some: Sequence[RunColumn], every: Sequence[RunColumn]) -> str:
    """These columns in words: `RabbitMQ 3.8.9, 3.10.8; Reference as documented`."""
    if len(some) == len(every):
        return "All"
    titles: dict[str, list[str]] = {}
    for run in some:
        titles.setdefault(f"{run.title} as" if run.reference else run.title, []).append(run.detail)
    return "; ".join(f"{title} {', '.join(details)}".strip() for title, details in titles.items())


def verdict(runs: Sequence[RunColumn]) -> tuple[str, str]:
    """The verdict over all brokers in two sentences; the second is what is wrong, and may be empty."""
    if len(runs) == 1:
        return headline(runs[0].results)
    runs = [run for run in runs if not run.mutants] or runs
    if len(runs) == 1:
        return headline(runs[0].results)
    real = [run for run in runs if not run.reference] or list(runs)
    closed = [run for run in real if not run.open]
    failing = [run.detail for run in runs if run not in real and not run.open]
    wrong = " ".join(filter(None, [_wrong(closed), _imitations(failing)]))
    return _passes(real, len(closed)), wrong


def _passes(real: Sequence[RunColumn], closed: int) -> str:
    if len(real) == 1:
        return f"{real[0].name} {'does not pass' if closed else 'passes'} the gate."
    passing = len(real) - closed
    whole = _number(len(real)).lower()
    if not closed:
        known = sum(any(rule["verdict"] == "deviates" for rule in run.results["rules"]) for run in real)
        aside = (
            ", each with known deviations"
            if known == len(real)
            else f", {_number(known).lower()} with known deviations"
            if known
            else ""
        )
        return f"{'Both' if len(real) == 2 else f'All {whole}'} brokers pass the gate{aside}."
    return f"{_number(passing)} of {whole} brokers {'passes' if passing < 2 else 'pass'} the gate."


def _wrong(closed: Sequence[RunColumn]) -> str:
    """The broken rule that most of the closed brokers share, and who else is closed."""
    broken = [rule for run in closed for rule in run.broken]
    if not broken:
        return f"{_listed([run.name for run in closed])}: nothing is broken, but the gate is closed." if closed else ""
    times = Counter(str(rule["id"]) for rule in broken)
    worst = min(broken, key=lambda rule: (gravity(rule)[0], -times[rule["id"]], gravity(rule)))
    by = [run.name for run in closed if any(rule["id"] == worst["id"] for rule in run.broken)]
    others = len(times) - 1
    more = f", and {count(others, 'other rule')} {'is' if others == 1 else 'are'} broken" if others else ""
    verb = "breaks" if len(by) == 1 else "break"
    who = "All of them" if len(by) == len(closed) > 3 else _listed(by)
    return f"{who} {verb} “{worst['title']}”{more}."


def _imitations(failing: Sequence[str]) -> str:
    return f"The reference broker fails as {series(failing)}." if failing else ""


def _listed(names: Sequence[str]) -> str:
    return f"{_number(len(names))} of them" if len(names) > 3 else series(names)


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
