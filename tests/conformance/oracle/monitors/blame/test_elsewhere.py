"""What may follow from another fault is told as that, where a run shows the other by itself.

Blame once, over a whole run: a finding names the rules that explain it as well, and does not stand where one of these
is broken without it.
"""

from __future__ import annotations

import pytest

from conformance.oracle.verdicts import explaining, stands
from tests.conformance.oracle.monitors.connections.test_chan import FEW, OVER, RENEWED
from tests.conformance.oracle.monitors.connections.test_conn import QUIET
from tests.conformance.oracle.monitors.contents.test_content import RARE, refused
from tests.conformance.oracle.monitors.contents.test_return import LONG
from tests.conformance.oracle.monitors.deliveries.test_ack import U4
from tests.conformance.oracle.monitors.topology.test_route import INK, LOST, route, sent

BESIDE = "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n @open 2 \n 2 > get q \n 2 < get-ok 2 m2 q"
PLAIN = "@queue q \n @open 1 \n 1 > publish q m1 \n 1 < ack 1"
SELECTED = "@queue q \n @open 1 \n 1 > publish q m1 \n 1 > confirm \n 1 < confirm-ok \n 1 > publish q m2 \n "
FAILED = FEW + "@open 1 \n 1 > ack 99 \n 1 < closed 406 60 80 unknown \n 1 > closed-ok \n 1 > open \n "
REFUSED = "1 < closed 504 20 10 CHANNEL_ERROR"
SHARED = "@queue q \n @consume 1 q c1 \n @consume {} q {} \n @close {} \n @open 3 \n 3 > publish q m1 \n"


def broken(play, *histories: str) -> set[str]:
    """The rules that are broken in a run of these histories."""
    judged = [play(one).judge.judgement for one in histories]
    findings = [one for judgement in judged for one in judgement.findings]
    found = {
        one.rule: [(other.certain, other.unless) for other in findings if other.rule == one.rule] for one in findings
    }
    causes = explaining(found, {})
    return {one.rule for one in findings if stands(certain=one.certain, unless=one.unless, explained_by=causes)}


def test_a_first_tag_that_does_not_go_on_from_others_says_nothing_of_them(play) -> None:
    assert broken(play, BESIDE) == {"TAG-001", "TAG-006"}
    assert broken(play, BESIDE.replace("get-ok 2 m2", "get-ok 4 m2")) == {"TAG-001"}


def test_who_confirms_without_the_mode_confirms_nothing_twice(play) -> None:
    again = SELECTED + "1 < ack 1 \n 1 < ack 1"
    assert broken(play, again) == {"CNF-004"}
    assert broken(play, again, PLAIN) == {"CNF-023"}


def test_a_number_that_the_broker_has_closed_is_no_free_one(play) -> None:
    assert broken(play, FAILED + REFUSED) == {"ERR-007"}
    assert "CHAN-003" in broken(play, OVER + REFUSED)
    spent = OVER.replace("@close 1", "1 > ack 99 \n 1 < closed 406 60 80 unknown \n 1 > closed-ok")
    assert "CHAN-003" not in broken(play, spent + REFUSED, FAILED + REFUSED)


def test_who_echoes_heartbeats_sends_none_by_itself(play) -> None:
    assert broken(play, QUIET + "- beat c > \n - beat c <") == set()


def test_headers_that_lead_nowhere_say_nothing_of_those_with_x(play) -> None:
    particular = route("headers", "-", "ink=red", "x-tag=a") + sent("any", "m1", 1, INK) + LOST
    assert broken(play, particular) == {"ROUTE-008"}
    assert broken(play, particular, route("headers", "-", "ink=red") + sent("any", "m1", 1, INK) + LOST) == {
        "ROUTE-006"
    }


def test_what_is_settled_by_nothing_is_not_undone_by_a_close(play) -> None:
    settled = "@queue q \n @stock q m1 m2 \n @hold 1 q m1 m2 \n 1 > ack 0 multiple \n "
    closed, open_ = settled + "@close 1 \n @drain q m1", settled + "@barrier 1 \n @drain q m1"
    assert "ACK-018" in broken(play, closed)
    assert broken(play, closed, open_) == {"ACK-006"}
    assert "ACK-018" in broken(play, U4 + "1 > ack 1 \n @close 1 \n @drain q m1")


def test_a_content_that_was_cut_when_it_came_is_cut_when_it_goes_back(play) -> None:
    back = LONG + "1 < return any m1 exchange=x"
    came = "@queue q \n @open 1 \n 1 > publish q m1 bodies=3 \n 1 > get q \n 1 < get-ok 1 m1 q"
    assert broken(play, back) == {"RETURN-006"}
    assert broken(play, back, came) == {"RQ-016"}


def test_who_takes_the_empty_name_anywhere_has_not_kept_a_queue_in_mind(play) -> None:
    kept, any_ = RENEWED + "1 > purge \n 1 < purge-ok", "@open 2 \n 2 > purge \n 2 < purge-ok"
    assert "CHAN-007" in broken(play, kept)
    assert broken(play, kept, any_) == {"QUEUE-015"}


def test_a_refusal_of_the_empty_name_alone_shows_nothing(play) -> None:
    """Who has never heard of it finds no queue of that name."""
    assert play("@open 1 \n 1 > purge \n 1 < closed 404 50 30 NOT_FOUND").exercised["QUEUE-015"] == 0


def test_a_close_over_a_content_may_name_its_class_alone(play) -> None:
    assert play(refused(RARE, "1 < closed 502 60 0 malformed headers")).broken == ["CONTENT-002"]


@pytest.mark.parametrize(("other", "tag", "unless"), [(2, "c1", True), (2, "c2", False)])
def test_a_consumer_may_be_taken_for_its_namesake(play, other: int, tag: str, unless: bool) -> None:
    """CAN-018: some brokers know consumers of all channels by their tags alone."""
    book = play(SHARED.format(other, tag, other) + " - deadline replies \n @drain q m1")
    certain = [one for one in book.judge.judgement.findings if one.rule == "QOS-002" and one.certain]
    assert ["CAN-018" in one.unless for one in certain] == [unless]


def test_who_ends_over_half_a_content_ends_over_nothing_else(play) -> None:
    """The interleaving of channels is no matter of exchanges."""
    asked = "@exchange x q \n @open 2 \n 2 > exchange x direct durable passive \n "
    whole = play("@queue q \n" + asked + "- end c fin")
    assert "EXCH-006" in whole.broken
    assert "EXCH-006" not in play("@queue q \n" + asked + "- end c fin unfinished").broken
