"""The time budget: evidence takes its time, and never more than there is."""

from __future__ import annotations

import itertools

from conformance.drive.budget import ALTOGETHER, EACH, TimeBudget


class Clock:
    """Stands still until it is told to go."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_finding_gets_a_quarter_of_what_is_left_and_none_more_than_its_due() -> None:
    clock = Clock()
    budget, shares = TimeBudget(clock=clock), list[float]()
    while not budget.empty:
        with budget.spending() as seconds:
            shares.append(seconds)
            clock.now += seconds
    assert shares[0] == EACH
    assert all(later < earlier for earlier, later in itertools.pairwise(shares))
    assert sum(shares) < ALTOGETHER


def test_who_is_quick_leaves_the_rest_to_others() -> None:
    clock = Clock()
    budget = TimeBudget(clock=clock)
    for _ in range(20):
        with budget.spending():
            clock.now += 0.5
    assert budget.left == ALTOGETHER - 10
    assert not budget.empty


def test_what_is_done_inside_belongs_to_the_same_finding() -> None:
    clock = Clock()
    budget = TimeBudget(clock=clock)
    budget.begin()
    clock.now += 20
    with budget.spending() as seconds:
        assert seconds == EACH - 20
        clock.now += 50
    budget.begin()
    assert budget.share == 0.0
    assert not budget.empty
    budget.done()
    budget.done()
    assert budget.left == ALTOGETHER - 70


def test_with_half_of_it_spent_it_is_scarce() -> None:
    clock = Clock()
    budget = TimeBudget(30.0, clock)
    for seconds, scarce in ((14.0, False), (2.0, True)):
        with budget.spending():
            clock.now += seconds
            assert not budget.scarce, "what is begun is done"
        assert budget.scarce is scarce
