"""Tags, settlements and transactions: what was refused, what took effect, what is not known.

Alarms that machines gave on real brokers, each cut down to what it took. Each lawful history stands beside one that
breaks a rule.
"""

from __future__ import annotations

import pytest

REOPENED = """
    @queue q
    @stock q m1 m2 m3
    @hold 1 q m1 m2
    1 > close
    1 < close-ok
    1 > open
    1 < open-ok
    1 > get q
"""


def test_tags_that_go_on_after_a_reopen_are_one_fault(play) -> None:
    """TAG-007: GarageMQ goes on counting. That a channel begins at 1 is elsewhere the business of TAG-001, TAG-006."""
    goes_on = play(REOPENED + "1 < get-ok 3 m3 q")
    assert goes_on.broken == ["TAG-007"]
    assert goes_on.exercised["TAG-007"] == 1
    assert play(REOPENED + "1 < get-ok 0 m3 q").broken == ["TAG-001", "TAG-002"]


def test_settlements_alone_say_nothing_of_provisional_ones(play) -> None:
    """AUTO-006: on a broker that never answers tx.select it was held by plain acknowledgements."""
    plain = """
        @queue q
        @stock q m1 m2
        {}
        @hold 1 q m1
        1 > ack 1
        {}
        @hold 1 q m2
        1 > ack 2
        @close 1
        @drain q {}
    """
    assert play(plain.format("@open 1", "@barrier 1", "")).exercised["AUTO-006"] == 0
    begin = "@open 1 \n 1 > select \n 1 < select-ok"
    assert play(plain.format(begin, "1 > commit \n 1 < commit-ok", "m2")).exercised["AUTO-006"] == 1
    assert play(plain.format(begin, "@barrier 1", "m1 m2")).exercised["AUTO-006"] == 0, "nothing was final before"


RECOVERED = """
    @queue q
    @stock q m1
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 > recover requeue
    1 < recover-ok
    1 < deliver c1 2 m1 q redelivered
    1 > reject 2                # the delivery may have been under way to the recover: then this is refused
    {}
    1 > cancel c1
    1 < cancel-ok c1
    1 > nack 0 multiple requeue
    1 < closed 406 60 120 PRECONDITION_FAILED - unknown delivery tag 0
"""


def test_what_might_have_been_refused_and_was_taken_is_settled(play) -> None:
    """ACK-016: LavinMQ was told to have forgotten the delivery of a cancelled consumer, which had been rejected."""
    book = play(RECOVERED.format("@barrier 1"))
    assert book.broken == ["ACK-008"], "nothing is outstanding, and LavinMQ takes 0 for a tag then"
    assert play(RECOVERED.format("")).broken == ["ACK-008"]
    held = RECOVERED.replace("1 > reject 2", "").replace("1 > recover requeue", "").replace("1 < recover-ok", "")
    held = held.replace("1 < deliver c1 2 m1 q redelivered", "").split("#")[0] + "\n" + held.split("{}")[1]
    assert play(held).broken == [], "either what was cancelled is forgotten, or 0 is taken for a tag"
    assert play(held.replace("nack 0 multiple", "nack 1").replace("tag 0", "tag 1")).broken == ["ACK-016"]


def test_nothing_to_settle_in_a_transaction(play) -> None:
    """ACK-007: LavinMQ closes the connection with 541."""
    history = "@open 1 \n @open 2 \n 1 > select \n 1 < select-ok \n 1 > {} 0 multiple \n 2 > flow \n"
    for settle, rule in (("ack", "ACK-007"), ("nack", "ACK-008")):
        assert play(history.format(settle) + "0 < kicked 541 0 0 INTERNAL_ERROR").broken == [rule]
        assert play(history.format(settle) + "2 < flow-ok \n 1 > commit \n 1 < commit-ok").broken == []


SPENT = """
    @queue q
    @stock q m1
    @hold 1 q m1
    1 > nack 1 requeue
    @hold 1 q m1
    1 > ack 1
"""
ZERO = """
    @queue q
    @stock q m1
    @hold 1 q m1
    1 > reject 0
"""


@pytest.mark.parametrize(("history", "ids", "about"), [(SPENT, "60 80", "ERR-001"), (ZERO, "60 90", "ACK-009")])
def test_a_refusal_in_another_form_leaves_the_tag_unknown(play, history: str, ids: str, about: str) -> None:
    """TAG-008: it asks that the tag means nothing any more. That it costs the channel, ERR-001 says, and of tag 0
    ACK-009: a reject of it that is ignored has settled nothing, so ACK-019 has nothing to say."""
    tag = history.strip()[-1]
    text = f"PRECONDITION_FAILED - unknown delivery tag {tag}"
    assert sorted(play(f"{history} 0 < kicked 406 {ids} {text}").broken) == sorted([about, "ERR-004"])
    assert play(f"{history} 1 < closed 404 {ids} {text}").broken == [about]
    assert play(f"{history} 1 < closed 406 {ids} {text}").broken == []
    assert play(f"{history} - deadline replies").broken == ["TAG-008" if history is SPENT else "ACK-009"]


ORPHANS = """
    @queue q
    @stock q m1 m2
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 > cancel c1
    1 < cancel-ok c1
"""


def test_who_fails_at_a_settlement_has_not_forgotten_what_was_cancelled(play) -> None:
    """ACK-016: a broker that has forgotten the deliveries of a cancelled consumer takes their tags for unknown. That it
    fails at them says nothing of the consumer: another rule has each such settlement accepted, too."""
    for ids, settled, about in (
        (120, "nack 0 multiple", "ACK-011"),
        (80, "ack 0 multiple", "ACK-006"),
        (90, "reject 2", "ACK-019"),
    ):
        history = f"{ORPHANS} 1 > {settled} \n"
        assert play(f"{history} 0 < kicked 541 60 {ids} INTERNAL_ERROR").broken == [about]
        unknown = f"60 {ids} PRECONDITION_FAILED - unknown delivery tag {settled.split()[1]}"
        certain = [] if "multiple" in settled else ["ACK-016"]  # tag 0 itself may be what it does not know
        assert play(f"{history} 1 < closed 406 {unknown}").broken == certain
        assert play(f"{history} 0 < kicked 406 {unknown}").broken == certain
