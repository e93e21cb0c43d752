"""The purse: evidence takes its time, and never more than there is."""

from __future__ import annotations

import itertools

from conformance.drive.budget import ALTOGETHER, EACH, Purse


class Clock:
    """Stands still until it is told to go."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_finding_gets_a_third_of_what_is_left_and_none_more_than_its_due() -> None:
    clock = Clock()
    purse, shares = Purse(clock=clock), list[float]()
    while not purse.empty:
        with purse.spending() as seconds:
            shares.append(seconds)
            clock.now += seconds
    assert shares[0] == EACH
    assert all(later < earlier for earlier, later in itertools.pairwise(shares))
    assert sum(shares) < ALTOGETHER


def test_who_is_quick_leaves_the_rest_to_others() -> None:
    clock = Clock()
    purse = Purse(clock=clock)
    for _ in range(20):
        with purse.spending():
            clock.now += 0.5
    assert purse.left == ALTOGETHER - 10
    assert not purse.empty


def test_what_is_done_inside_belongs_to_the_same_finding() -> None:
    clock = Clock()
    purse = Purse(clock=clock)
    purse.begin()
    clock.now += 20
    with purse.spending() as seconds:
        assert seconds == EACH - 20
        clock.now += 50
    purse.begin()
    assert purse.share == 0.0
    assert not purse.empty
    purse.done()
    purse.done()
    assert purse.left == ALTOGETHER - 70


def test_with_half_of_it_spent_it_is_scarce() -> None:
    clock = Clock()
    purse = Purse(30.0, clock)
    for seconds, scarce in ((14.0, False), (2.0, True)):
        with purse.spending():
            clock.now += seconds
            assert not purse.scarce, "what is begun is done"
        assert purse.scarce is scarce
