"""Tags and confirms: a number that is wrong ends what is known of numbers.

Blame once: one wrong decision breaks the rules nearest to it, and what follows from it breaks no others.

Each history has one such decision; beside it stands, where there is one, the history in which a second decision is
independent of the first, and is found all the same.
"""

from __future__ import annotations

import pytest

from conformance.catalogue import profiles
from conformance.oracle.monitors import Judge
from conformance.oracle.monitors.state import decode, encode
from tests.support.blame import SETTLED, STOCK, UNKNOWN, WINDOW

TAGS = (
    STOCK
    + """
    @open 1
    1 > get q
    1 < get-ok 1 m1 q
    1 > get q
    1 < get-ok 1 m2 q
"""
)


def test_a_tag_that_comes_again_names_nothing_for_certain(play) -> None:
    """TAG-003: which of the two is settled, whether the second ack is refused, and which of them comes back."""
    assert play(TAGS + "1 > ack 1 \n 1 > ack 1 \n @barrier 1 \n - deadline replies").broken == ["TAG-003"]
    assert play(TAGS + f"1 > ack 1 \n 1 > ack 1 \n 1 < closed 406 60 80 {UNKNOWN} 1").broken == ["TAG-003"]
    assert play(TAGS + "1 > ack 1 \n @close 1 \n @drain q m1 m3 m4 \n - deadline drain q").broken == ["TAG-003"]
    assert play(TAGS + "1 > ack 1 \n @close 1 \n @drain q m2 m3 m4 \n - deadline drain q").broken == ["TAG-003"]


def test_a_tag_that_comes_again_excuses_no_other_channel(play) -> None:
    """ERR-001: there every tag is known."""
    book = play(TAGS + "@open 2 \n 2 > get q \n 2 < get-ok 1 m3 q \n 2 > ack 1 \n 2 > ack 1 \n - deadline replies")
    assert book.broken == ["TAG-003", "ERR-001"]


def test_a_tag_that_comes_late_is_no_gap(play) -> None:
    """TAG-003: on GarageMQ a delivery overtook an answer to basic.get, which came after it with the tag in between."""
    late = TAGS.replace("get-ok 1 m2", "get-ok 3 m2") + "1 > get q \n 1 < get-ok 2 m3 q"
    found = {one.rule: one.unless for one in play(late).judge.judgement.findings}
    assert found == {"TAG-003": (), "TAG-004": ()}


def test_only_tags_that_rise_by_one_hold_that_there_are_no_gaps(play) -> None:
    """TAG-004: not exercised by deliveries that break TAG-003."""
    before = play(TAGS).exercised["TAG-004"]
    again = play(TAGS + "1 > get q \n 1 < get-ok 1 m3 q \n 1 > get q \n 1 < get-ok 1 m4 q")
    assert (before, again.exercised["TAG-004"], again.exercised["TAG-003"]) == (0, 0, 3)


def test_tag_0_is_one_fault(play) -> None:
    """TAG-002: it is not below the tag before it as well."""
    assert play(TAGS.replace("get-ok 1 m2", "get-ok 0 m2")).broken == ["TAG-002"]


NUMBERS = """
    @queue q
    @confirming 1
    1 > publish q m1
    1 > publish q m2
    1 > publish q m3
"""


def test_a_wrong_number_ends_what_is_known_of_the_numbers(play) -> None:
    """CNF-006: the broker's count is not ours from then on. Another channel's is."""
    wrong = NUMBERS + "1 < ack 4 \n "
    assert play(wrong + "1 < ack 4 \n 1 < ack 1 \n 1 > publish q m4 \n - deadline replies").broken == ["CNF-006"]
    other = "@confirming 2 \n 2 > publish q n1 \n 2 < ack 1 \n 2 < ack 1"
    assert play(wrong + other).broken == ["CNF-006", "CNF-004"]


def test_a_number_that_comes_again_ends_what_is_known_of_those_so_far(play) -> None:
    """CNF-004: which of them are confirmed nobody knows; that later ones have to be, everybody."""
    wrong = NUMBERS + "1 < ack 2 \n 1 < ack 2 \n"
    assert play(wrong + "1 < ack 1 \n 1 < ack 1 \n - deadline replies").broken == ["CNF-004"]
    book = play(wrong + "1 > publish q m4 \n - deadline replies")
    assert [one.rule for one in book.judge.judgement.findings].count("CNF-004") == 2
    assert play(wrong + "1 < ack 5").broken == ["CNF-004", "CNF-006"]


@pytest.mark.parametrize("history", [TAGS, WINDOW + "1 < deliver c1 3 m3 q", SETTLED, NUMBERS + "1 < ack 4 \n"])
def test_what_is_no_longer_known_is_put_aside_with_the_rest(play, history: str) -> None:
    """The state after a finding, written and read again, judges the rest as if it had never been put aside."""
    rest = "@open 7 \n 7 > get q \n 7 < get-ok 1 m4 q \n 1 > ack 1 \n @barrier 1 \n - deadline replies"
    events = play(history + rest).events
    profile = profiles.load("documented")
    whole, parts = Judge(profile), Judge(profile)
    for event in events:
        whole.step(event)
        parts = decode(encode(parts), profile)
        parts.step(event)
    assert parts.judgement == whole.judgement


CONFIRM = "1 > confirm \n 1 < confirm-ok \n"
REOPENED = "@queue q \n @open 1 \n" + CONFIRM + "{} @close 1 \n @open 1 \n {}" + CONFIRM


def test_confirms_that_a_former_life_still_owed_are_its_own(play) -> None:
    """ERR-007: GarageMQ sent them after the number was opened again, and asked for confirms again."""
    after = "1 > publish q m3 \n 1 < ack 1 \n 1 < ack 2"
    assert play(REOPENED.format("1 > publish q m1 \n 1 > publish q m2 \n", "") + after).broken == ["ERR-007"]
    resolved = play(REOPENED.format("1 > publish q m1 \n 1 < ack 1 \n", "") + after)
    assert "CNF-006" in resolved.broken, "nothing was left that it could be"


def test_a_mode_that_outlives_its_channel_explains_what_was_counted_before_the_select(play) -> None:
    """CNF-002, CNF-006, unless the broker breaks ERR-007: the publish counted for the mode of the former life."""
    after = "1 > publish q m2 \n 1 < ack 1 \n 1 < ack 2"
    lived = play(REOPENED.format("", "1 > publish q m1 \n") + after).judge.judgement.findings
    assert {(one.rule, one.unless) for one in lived} == {("CNF-002", ("ERR-007",)), ("CNF-006", ("ERR-007",))}
    fresh = play("@queue q \n @open 1 \n 1 > publish q m1 \n" + CONFIRM + after).judge.judgement.findings
    assert {(one.rule, one.unless) for one in fresh} == {("CNF-002", ()), ("CNF-006", ())}


@pytest.mark.parametrize(("tag", "rule"), [(2**63, "TAG-009"), (99, "ERR-002")])
def test_who_lets_any_unknown_tag_pass_says_nothing_of_tags(play, tag: int, rule: str) -> None:
    """TAG-009, TAG-008, TAG-007: tags may well have 64 bits there. That the mistake is let pass is one fault."""
    history = STOCK + f"@hold 1 q m1 \n 1 > ack {tag} \n @barrier 1 \n - deadline replies"
    (found,) = (one for one in play(history).judge.judgement.findings if one.certain)
    assert (found.rule, found.unless) == (rule, ("ERR-002",) if rule != "ERR-002" else ())
