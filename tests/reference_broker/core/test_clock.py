"""The clock of the core moves only when told, and stops at everything that is due on the way."""

from reference_broker.core.clock import FEW, Clock


def test_calls_are_made_in_order_and_at_their_own_time():
    clock, seen = Clock(), []
    for when in (3.0, 1.0, 2.0):
        clock.at(when, lambda: seen.append(clock.now))
    clock.move_to(2.5)
    assert seen == [1.0, 2.0]
    assert clock.now == 2.5
    assert clock.next_due() == 3.0


def test_a_call_may_ask_for_another():
    clock, seen = Clock(), []

    def again():
        seen.append(clock.now)
        clock.at(clock.now + 1, again)

    clock.at(1.0, again)
    clock.move_to(4.5)
    assert seen == [1.0, 2.0, 3.0, 4.0]


def test_time_never_goes_back():
    clock = Clock(5.0)
    clock.move_to(3.0)
    assert clock.now == 5.0


class Thing:
    """Something that calls are about."""


def test_what_is_gone_is_not_called_about_and_is_forgotten():
    clock, seen, kept = Clock(), [], Thing()
    for _ in range(5 * FEW):
        clock.at(1000.0, seen.append, Thing())
    clock.at(999.0, seen.append, kept)
    assert len(clock._due) <= FEW
    clock.move_to(1000.0)
    assert seen == [kept]


def test_what_lives_is_never_forgotten():
    clock, seen, things = Clock(), [], [Thing() for _ in range(3 * FEW)]
    for thing in things:
        clock.at(1.0, seen.append, thing)
    clock.move_to(1.0)
    assert seen == things
