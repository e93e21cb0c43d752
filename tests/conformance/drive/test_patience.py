from __future__ import annotations

from conformance.drive.patience import LEAST, SHORT, SLACK, SURE, SURER, TWICE, Patience, kind_of

ANSWER, CONFIRM = "reply: the answer to basic.qos", "confirm: the confirm of publish #"


def test_what_is_new_is_given_a_whole_deadline() -> None:
    patience = Patience()
    for _ in range(SURE - 1):
        patience.in_vain([ANSWER])
    assert patience.allow([ANSWER], 5.0) == 5.0
    assert patience.allow([], 5.0) == 5.0


def test_what_was_in_vain_often_enough_is_not_waited_for_at_length() -> None:
    patience = Patience()
    for _ in range(SURE):
        patience.in_vain([ANSWER])
    assert patience.allow([ANSWER], 5.0) == SHORT
    assert patience.allow([ANSWER, CONFIRM], 5.0) == 5.0, "with something else it is"
    for _ in range(SURER):
        patience.in_vain([ANSWER])
    assert patience.allow([ANSWER], 5.0) == LEAST


def silent() -> Patience:
    """Answers were waited for in vain often enough."""
    patience = Patience()
    for _ in range(SURE):
        patience.in_vain([ANSWER])
    return patience


def test_a_slow_broker_is_waited_for_all_the_same() -> None:
    patience = silent()
    patience.came([ANSWER], 0.3)
    assert patience.allow([ANSWER], 5.0) == SLACK * 0.3
    patience.came([ANSWER], 2.0)
    assert patience.allow([ANSWER], 5.0) == 5.0, "never longer than a deadline"


def test_one_slow_thing_makes_others_a_little_slower() -> None:
    patience = silent()
    patience.came([CONFIRM], 1.5)
    assert patience.allow([ANSWER], 5.0) == TWICE * 1.5
    patience.came([], 3.0)
    assert patience.allow([ANSWER], 5.0) == TWICE * 1.5, "nothing was owed: it came by itself"
    for _ in range(SURER):
        patience.in_vain([ANSWER])
    assert patience.allow([ANSWER], 5.0) == 1.5


def test_a_short_deadline_stays_short() -> None:
    patience = Patience()
    for _ in range(SURE):
        patience.in_vain([ANSWER])
    assert patience.allow([ANSWER], 0.3) == 0.3


def test_names_and_numbers_make_no_other_kind() -> None:
    assert kind_of("a delivery to c17") == kind_of("a delivery to c2")
    assert kind_of("the answer to basic.qos") != kind_of("the answer to basic.get")


def test_a_silence_is_much_longer_than_anything_took() -> None:
    patience = Patience()
    assert patience.silence(3.0) == 3.0, "nothing is known yet"
    patience.came([CONFIRM], 0.02)
    assert patience.silence(3.0) == SHORT
    patience.came([ANSWER], 0.2)
    assert patience.silence(3.0) == SLACK * 0.2
    patience.came([CONFIRM], 1.0)
    assert patience.silence(3.0) == 3.0
