"""One fault, one finding: which broken rules are one wrong decision, and which one it may be.

The shortest exchange of each broken rule is played by wrong brokers that are known, the mutants of the reference broker
that catch these rules, or rules that are in doubt here. A mutant that answers as the broker did *explains* that rule.
Those that explain most are then asked for the rest as well: does this rule break in the same words where they are
played the scene in which it broke? What no exchange explains may be explained by a mutant that names the rule, if it
breaks in that scene with the same messages, tags and queues. The mutant that explains most makes a group; then the next
one for what is left.
What no mutant explains is a group of its own, with the rules that break in the same words, if these words say more
than that something was not refused, or that a message is not there.

A group is a help for reading, and changes no verdict. It is made of exchanges that an honest broker answers otherwise.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TypeVar
from uuid import uuid4

from conformance.campaigns.hunt import embedded
from conformance.drive.run.plays import Play, plays
from conformance.drive.run.runner import observe
from conformance.evidence.scripts import player, raw
from conformance.oracle.verdicts import Verdict
from conformance.outcome.ledger import gist
from conformance.outcome.results import Case, Fault, Results, RuleResult
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS, DOCUMENTED
from reference_broker.mutants import MUTANTS
from reference_broker.mutants.kinds import Mutant

Q = TypeVar("Q", bound=Hashable)
A = TypeVar("A")

SECONDS: Mapping[str, float] = {"smoke": 10.0, "ci": 30.0, "deep": 60.0}
"""How long mutants are asked, by depth; and as long again for scenes."""
WAIT = 0.4
"""Seconds of silence by which a broker in this process is known to say nothing."""
AT_ONCE = 8
LIKE = 3
"""A group of which more mutants than these answer alike is like none of them."""
FOREMOST = 6
"""This many mutants are played scenes."""
REFUSAL, CLOSED = re.compile(r"(channel|connection)\.close\b"), re.compile(r"\bclose \d")
"""What should have come, and what a broker says that closes something."""
ABSENT = re.compile(r"get-empty\b|the queue (is empty|was drained)")
"""So every loss shows, whatever has caused it."""
DEADLINE = 0.5
"""Seconds that they get there for what they owe."""
NAME = re.compile(r"amqpconf(?:\.\w+)*\.(\d+)\b-*")
"""A name that a run has made, with its number."""

Words = Callable[[str, str], str]
"""Of what should have been and what was, as much as has to be the same."""

Exhibits = Mapping[str, Case]
Explained = Mapping[str, frozenset[str]]
"""By mutant the rules that it explains."""


def faults(results: Results) -> tuple[Fault, ...]:
    """What is wrong, each fault once; the one that breaks most rules first."""
    broken = {
        rule.id: rule
        for rule in results.rules
        if rule.verdict == Verdict.BROKEN and rule.level != "observed" and rule.cases
    }
    if not broken:
        return ()
    seconds = SECONDS.get(results.depth, 10.0)
    exhibits = {rule.id: case for rule in broken.values() if (case := _shortest(rule)) is not None}
    doubtful = {rule.id for rule in results.rules if rule.verdict == Verdict.INCONCLUSIVE}
    revealing = _revealing(exhibits, results.profile, time.monotonic() + seconds)
    explained = _explained(revealing, broken.keys() | doubtful, results.profile, time.monotonic() + seconds)
    explained = _with_scenes(explained, broken, results, time.monotonic() + seconds)
    return tuple(_grouped(broken, exhibits, doubtful, explained))


def _shortest(rule: RuleResult) -> Case | None:
    """The shortest exchange that others can play, of what nobody excuses."""
    told = [case for case in rule.cases if case.certain and case.story and case.deviation is None]
    return min(told, key=lambda case: (len(case.story), case.id), default=None)


# -- who answers alike


def _revealing(exhibits: Exhibits, profile: str, until: float) -> Exhibits:
    """Those that an honest broker answers otherwise. Not every difference shows where a script plays an exchange: then
    all would answer alike, and explain it."""
    asked = {rule: partial(_shows, (), case, profile) for rule, case in exhibits.items()}
    alike = _answers({rule: partial(_holds, claim, until) for rule, claim in asked.items()}, until)
    return {rule: case for rule, case in exhibits.items() if not alike.get(rule, True)}


def _explained(exhibits: Exhibits, seen: Set[str], profile: str, until: float) -> Explained:
    """By the exchanges, of the mutants that name a rule which is broken or in doubt."""
    suspects = [mutant for mutant in MUTANTS.values() if not seen.isdisjoint(mutant.rules)]
    suspects.sort(key=lambda mutant: exhibits.keys().isdisjoint(mutant.rules))
    asked = {mutant.name: partial(_alike, mutant, exhibits, profile, until) for mutant in suspects}
    return {name: rules for name, rules in _answers(asked, until).items() if rules}


def _answers(asked: Mapping[Q, Callable[[], A]], until: float) -> dict[Q, A]:
    """Several at once; those that are there in time."""
    if not asked:
        return {}
    pool = ThreadPoolExecutor(AT_ONCE)
    running = {name: pool.submit(question) for name, question in asked.items()}
    wait(running.values(), timeout=max(0.1, until - time.monotonic()))
    pool.shutdown(wait=False, cancel_futures=True)
    return {name: one.result() for name, one in running.items() if one.done() and not one.cancelled()}


def _alike(mutant: Mutant, exhibits: Exhibits, profile: str, until: float) -> frozenset[str]:
    """The rules whose exchange this mutant answers as the broker did; none if it keeps its own ones."""
    own = [rule for rule in mutant.rules if rule in exhibits]
    others = [rule for rule in exhibits if rule not in own]
    shows = {rule: partial(_shows, (mutant.name,), exhibits[rule], profile) for rule in exhibits}
    shown = {rule for rule in own if _holds(shows[rule], until)}
    if own and not shown:
        return frozenset()
    return frozenset(shown | {rule for rule in others if _holds(shows[rule], until)})


def _holds(claim: Callable[[], bool], until: float) -> bool:
    """A wrong broker may do anything to a client, and a help for reading ends no run: to fail, or to be late, is no."""
    try:
        return time.monotonic() <= until and claim()
    except Exception:
        return False


def _shows(mutants: Sequence[str], case: Case, profile: str) -> bool:
    rows = [dict(row) for row in case.story]
    with ReferenceBroker(dialect=_dialect(profile), mutants=mutants) as broker:
        played = player.Player(rows, raw.Wire(broker.url), f"amqpconf.{uuid4().hex[:12]}.", WAIT)
        return played.play() == player.BROKEN


def _dialect(profile: str) -> str:
    return profile if profile in DIALECTS else DOCUMENTED.name


# -- who breaks it as well, in the scene in which it broke


def _with_scenes(explained: Explained, broken: Mapping[str, RuleResult], results: Results, until: float) -> Explained:
    """The same, and what the foremost of them break in scenes. For what nobody explains, who names it is asked."""
    foremost = sorted(explained, key=lambda name: (-len(explained[name]), name))[:FOREMOST]
    known = set[str]().union(*explained.values())
    scenes = {rule: play for rule, result in broken.items() if (play := _scene(result)) is not None}
    words: dict[tuple[str, str], Words] = {
        (name, rule): exactly for rule in scenes.keys() - known for name in _naming(rule)
    }
    words |= {(name, rule): _gist for rule in scenes for name in foremost}
    asked = {
        (name, rule): partial(_holds, partial(_breaks, name, broken[rule], scenes[rule], results, same), until)
        for (name, rule), same in sorted(words.items(), key=lambda one: one[0])
        if rule not in explained.get(name, ())
    }
    more = _answers(asked, until)
    merged = {name: set(rules) for name, rules in explained.items()}
    for (name, rule), breaks in more.items():
        if breaks:
            merged.setdefault(name, set()).add(rule)
    return {name: frozenset(rules) for name, rules in merged.items()}


def _naming(rule: str) -> list[str]:
    return [mutant.name for mutant in MUTANTS.values() if rule in mutant.rules][:FOREMOST]


def _scene(rule: RuleResult) -> Play | None:
    """The scene in which it broke for certain, where there is one."""
    scenes = {_called(play.name, play.queue_type): play for play in plays() if not play.machine}
    seen = [case for case in rule.cases if case.certain and case.deviation is None]
    return next((scenes[called] for case in seen if (called := _called(case.scene)) in scenes), None)


def _called(name: str, *more: str) -> tuple[str, ...]:
    """A check with its arguments, in whatever order they are told."""
    check, _, arguments = name.partition("[")
    return check, *sorted("-".join([*arguments.removesuffix("]").split("]["), *more]).strip("-").split("-"))


def _breaks(mutant: str, rule: RuleResult, play: Play, results: Results, words: Words) -> bool:
    """Does it break in that scene, and in the same words? With the same seed, for scenes draw."""
    wanted = {words(case.allowed, case.observed) for case in rule.cases if case.certain} - {""}
    found: list[bool] = []
    with embedded(_dialect(results.profile), results.seed, results.depth, [mutant], DEADLINE) as bench:
        observe(
            play,
            bench,
            lambda judgement, _: found.extend(
                one.rule == rule.id and words(one.allowed, one.observed) in wanted
                for one in bench.damning(judgement, play.queue_type)
            ),
        )
    return any(found)


def _gist(_: str, observed: str) -> str:
    return gist(observed)


def exactly(allowed: str, observed: str) -> str:
    """What should have been and what was, with each name of a run as its distance from the first one. Nothing, where a
    message is not there: that has too many causes."""
    if ABSENT.match(observed):
        return ""
    told = f"{allowed} | {observed}"
    first = min((int(number) for number in NAME.findall(told)), default=0)
    return NAME.sub(lambda name: f"name {int(name[1]) - first}", told)


# -- groups


def _grouped(
    broken: Mapping[str, RuleResult],
    exhibits: Exhibits,
    doubtful: Set[str],
    explained: Explained,
) -> Iterator[Fault]:
    """The largest group first, until nothing is left."""
    left = dict(broken)
    while left:
        rules, like = _next(left, exhibits, doubtful, explained)
        words = set[str]().union(*(_telling(left[rule]) for rule in rules))
        rules += [rule for rule in left if rule not in rules and words & _telling(left[rule])]
        yield Fault(
            rule=rules[0],
            rules=tuple(rules),
            case=_case_of(left[rules[0]], exhibits).id,
            like=tuple(MUTANTS[name].says for name in like),
            mutants=tuple(like),
        )
        left = {rule: result for rule, result in left.items() if rule not in rules}


def _next(
    left: Mapping[str, RuleResult],
    exhibits: Exhibits,
    doubtful: Set[str],
    explained: Explained,
) -> tuple[list[str], list[str]]:
    """Rules, the one that names the fault first, and the mutants that explain just these."""
    covers = {name: rules & left.keys() for name, rules in explained.items()}
    seen = left.keys() | doubtful
    covers = {name: rules for name, rules in covers.items() if rules and not seen.isdisjoint(MUTANTS[name].rules)}
    if not covers:
        return [next(rule for rule in [*exhibits, *left] if rule in left)], []
    ranks = {name: _rank(name, covers[name], exhibits, doubtful) for name in covers}
    best = min(covers, key=lambda name: (ranks[name], name))
    alike = sorted(name for name in covers if covers[name] == covers[best] and ranks[name] == ranks[best])
    first = _first([rule for rule in MUTANTS[best].rules if rule in covers[best]], alike) or min(covers[best])
    return [first, *sorted(covers[best] - {first})], alike if len(alike) <= LIKE else []


def _first(own: Sequence[str], alike: Sequence[str]) -> str:
    """Of a mutant's own rules, the first that most of those which answer alike name."""
    named = [sum(rule in MUTANTS[name].rules for name in alike) for rule in own]
    return own[named.index(max(named))] if own else ""


def _rank(name: str, rules: frozenset[str], exhibits: Exhibits, doubtful: Set[str]) -> tuple[int, int]:
    """Who explains most; then who should not break what the broker keeps."""
    return -len(rules), sum(rule not in exhibits and rule not in doubtful for rule in MUTANTS[name].rules)


def _case_of(rule: RuleResult, exhibits: Exhibits) -> Case:
    return exhibits.get(rule.id) or min(rule.cases, key=lambda case: (not case.certain, case.id))


def _telling(rule: RuleResult) -> set[str]:
    """The words that two rules share only over one fault. That a refusal does not come is no such word: a broker that
    lets two mistakes pass does not know of either. Nor is it that a message is not there."""
    cases = [case for case in rule.cases if case.certain and not (REFUSAL.match(case.allowed) and not _says_why(case))]
    return {gist(case.observed) for case in cases if not ABSENT.match(case.observed)}


def _says_why(case: Case) -> bool:
    """Does the broker close something, if in another way?"""
    return CLOSED.search(case.observed) is not None
