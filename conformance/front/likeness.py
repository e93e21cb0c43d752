"""One fault, one finding: which broken rules are one wrong decision, and which one it may be.

The shortest exchange of each broken rule is played by wrong brokers that are known, the mutants of the reference broker
that these rules are there to catch. A mutant that answers as the broker did *explains* that rule. The mutant that
explains most, its own rule among them, makes a group; then the next one for what is left. What no mutant explains is a
group of its own, with the rules that break in the same words.

A group is a help for reading, and changes no verdict. It is made of exchanges that an honest broker answers otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from uuid import uuid4

from conformance.evidence.scripts import player, raw
from conformance.ledger import gist
from conformance.results import Case, Fault, Results, RuleResult
from conformance.verdicts import Verdict
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS, DOCUMENTED
from reference_broker.mutants import MUTANTS
from reference_broker.mutants.kinds import Mutant

SECONDS: Mapping[str, float] = {"smoke": 5.0, "ci": 20.0, "deep": 60.0}
"""How long mutants are asked, by depth."""
WAIT = 0.4
"""Seconds of silence by which a broker in this process is known to say nothing."""
AT_ONCE = 8
LIKE = 3
"""A group of which more mutants than these answer alike is like none of them."""

Exhibits = Mapping[str, Case]


def faults(results: Results) -> tuple[Fault, ...]:
    """What is wrong, each fault once; the one that breaks most rules first."""
    broken = [
        rule for rule in results.rules if rule.verdict == Verdict.BROKEN and rule.level != "observed" and rule.cases
    ]
    if not broken:
        return ()
    exhibits = {rule.id: case for rule in broken if (case := _shortest(rule)) is not None}
    explained = _explained(exhibits, results.profile, time.monotonic() + SECONDS.get(results.depth, 5.0))
    return tuple(_grouped({rule.id: rule for rule in broken}, exhibits, explained))


def _shortest(rule: RuleResult) -> Case | None:
    """The shortest exchange that others can play, of what nobody excuses."""
    told = [case for case in rule.cases if case.certain and case.story and case.deviation is None]
    return min(told, key=lambda case: (len(case.story), case.id), default=None)


# -- who answers alike


def _explained(exhibits: Exhibits, profile: str, until: float) -> dict[str, frozenset[str]]:
    """By mutant the rules whose exchange it answers as the broker did."""
    suspects = [mutant for mutant in MUTANTS.values() if not exhibits.keys().isdisjoint(mutant.rules)]
    if not suspects:
        return {}
    pool = ThreadPoolExecutor(AT_ONCE)
    asked = {pool.submit(_alike, mutant, exhibits, profile, until): mutant.name for mutant in suspects}
    try:
        done = as_completed(asked, timeout=max(0.1, until - time.monotonic()))
        return {asked[one]: rules for one in done if (rules := one.result())}
    except TimeoutError:
        return {asked[one]: one.result() for one in asked if one.done() and one.result()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _alike(mutant: Mutant, exhibits: Exhibits, profile: str, until: float) -> frozenset[str]:
    """The rules whose exchange this mutant answers as the broker did; none if it keeps its own rules."""
    own = [rule for rule in mutant.rules if rule in exhibits]
    others = [rule for rule in exhibits if rule not in own]
    shown = {rule for rule in own if _shows(mutant, exhibits[rule], profile, until)}
    if not shown:
        return frozenset()
    return frozenset(shown | {rule for rule in others if _shows(mutant, exhibits[rule], profile, until)})


def _shows(mutant: Mutant, case: Case, profile: str, until: float) -> bool:
    if time.monotonic() > until:
        return False
    dialect = profile if profile in DIALECTS else DOCUMENTED.name
    rows = [dict(row) for row in case.story]
    try:
        with ReferenceBroker(dialect=dialect, mutants=[mutant.name]) as broker:
            played = player.Player(rows, raw.Wire(broker.url), f"amqpconf.{uuid4().hex[:12]}.", WAIT)
            return played.play() == player.BROKEN
    except Exception:  # a wrong broker may do anything to a client; what is only a help for reading ends no run
        return False


# -- groups


def _grouped(
    broken: Mapping[str, RuleResult], exhibits: Exhibits, explained: Mapping[str, frozenset[str]],
) -> Iterator[Fault]:
    """The largest group first, until nothing is left."""
    left = dict(broken)
    while left:
        rules, like = _next(left, exhibits, explained)
        words = set[str]().union(*(_words(left[rule]) for rule in rules))
        rules += [rule for rule in left if rule not in rules and words & _words(left[rule])]
        yield Fault(
            rule=rules[0], rules=tuple(rules), case=_shown(left[rules[0]], exhibits).id,
            like=tuple(MUTANTS[name].says for name in like), mutants=tuple(like),
        )
        left = {rule: result for rule, result in left.items() if rule not in rules}


def _next(
    left: Mapping[str, RuleResult], exhibits: Exhibits, explained: Mapping[str, frozenset[str]],
) -> tuple[list[str], list[str]]:
    """Rules, the one that names the fault first, and the mutants that explain just these."""
    covers = {name: rules & left.keys() for name, rules in explained.items()}
    covers = {name: rules for name, rules in covers.items() if not rules.isdisjoint(MUTANTS[name].rules)}
    if not covers:
        return [next(rule for rule in [*exhibits, *left] if rule in left)], []
    best = min(covers, key=lambda name: _rank(name, covers[name], exhibits))
    rank = _rank(best, covers[best], exhibits)[:-1]
    alike = sorted(name for name in covers if covers[name] == covers[best] and _rank(
        name, covers[name], exhibits)[:-1] == rank)
    first = next(rule for rule in MUTANTS[best].rules if rule in covers[best])
    return [first, *sorted(covers[best] - {first})], alike if len(alike) <= LIKE else []


def _rank(name: str, rules: frozenset[str], exhibits: Exhibits) -> tuple[int, int, str]:
    """Who explains most; then who should not break what the broker keeps."""
    missing = sum(rule not in exhibits for rule in MUTANTS[name].rules)
    return -len(rules), missing, name


def _shown(rule: RuleResult, exhibits: Exhibits) -> Case:
    return exhibits.get(rule.id) or min(rule.cases, key=lambda case: (not case.certain, case.id))


def _words(rule: RuleResult) -> set[str]:
    return {gist(case.observed) for case in rule.cases if case.certain}
