"""One wrong decision is told as few faults: wrong brokers of all kinds, each in the scenes of the rules that it breaks.

A rule that a mutant names must be found, as ever. What else is found on the way is a rule too many: some of them say
the same thing in other words, the others are consequences. How many there may be is written here, and only ever less.
"""

from __future__ import annotations

from zlib import crc32

import pytest

from conformance.campaigns.hunt import embedded, held_to
from conformance.drive.run.plays import plays_for
from conformance.drive.run.runner import observe
from conformance.oracle.verdicts import Judgement
from reference_broker.mutants import MUTANTS
from tests.support import traces

EVERY = 9
"""One mutant in so many is played, whichever others there are."""
MOST = 3
"""No mutant breaks more rules than these that it does not name, in the scenes of those that it does."""
WANDERING = 32
"""All that machines meet break no more rules than these together that they do not name, in a few examples each."""
DEADLINE = 0.5


def accused(name: str) -> set[str]:
    """The rules that the scenes of a mutant's rules find broken for certain."""
    mutant, found = MUTANTS[name], set[str]()
    with embedded(held_to(mutant.rules), 0, "ci", (name,), DEADLINE) as bench:
        for play in plays_for(mutant.rules, bench.profile, "ci"):
            if play.machine:
                continue

            def watch(judgement: Judgement, _: object, queue_type: str = play.queue_type) -> None:
                found.update(one.rule for one in bench.damning(judgement, queue_type))

            observe(play, bench, watch)
    return found


@pytest.mark.parametrize("name", [name for name in MUTANTS if crc32(name.encode()) % EVERY == 0])
@pytest.mark.sampled(3)
def test_a_wrong_broker_is_accused_of_little_more_than_what_is_wrong(name: str) -> None:
    tries = (accused(name) for _ in range(3))  # silence while the machine stands still is no finding: once more then
    found = next(filter(None, tries), set[str]())
    assert found & set(MUTANTS[name].rules)
    assert len(found - set(MUTANTS[name].rules)) <= MOST, sorted(found)


@pytest.mark.parametrize("every", [2 * EVERY, pytest.param(EVERY, marks=pytest.mark.long)])
@pytest.mark.sampled(3)
def test_machines_accuse_wrong_brokers_of_little_more(every: int) -> None:
    """They do everything at once, and so meet most of what follows from a fault."""
    names = traces.mutants(every)
    found: dict[str, set[str]] = {name: set() for name in names}
    for trace in traces.wrong(names, 3, schedulers=("lockstep",)):
        name = trace.events[0].history.split()[0]
        found[name].update(one.rule for one in trace.live.findings if one.certain)
    beside = {name: sorted(broken - set(MUTANTS[name].rules)) for name, broken in found.items()}
    assert sum(bool(found[name] & set(MUTANTS[name].rules)) for name in names) >= len(names) // 8
    assert sum(map(len, beside.values())) <= WANDERING * EVERY // every, beside
