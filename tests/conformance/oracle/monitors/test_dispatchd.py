"""What dispatchd was seen to do, cut down: a fault is filed under the rule that it breaks, and what the texts leave to
the broker, or say in two ways, accuses nobody.

Each history has one decision; beside it stands one that breaks the other rule by itself.
"""

from __future__ import annotations

import pytest

HELD = "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > get q \n 1 < get-ok 1 m1 q \n 1 > get q \n 1 < get-ok 2 m2 q \n"


@pytest.mark.parametrize(
    "words",
    [
        "Precondition Failed: Delivery Tag not found: {}",
        "unknown delivery tag {}",
        "delivery_tag: {} is not known",
        "no delivery for delivery-tag '{}'",
    ],
)
def test_a_refusal_is_about_the_tag_that_it_names(play, words: str) -> None:
    """Of two settlements that the broker had to accept, the text says which it has refused, in whatever words."""
    both = HELD + "1 > ack 1 \n 1 > ack 2 \n 1 > ack 0 multiple \n"
    assert play(f"{both} 1 < closed 406 60 80 {words.format(1)}").broken == ["ACK-013"]
    assert play(f"{both} 1 < closed 406 60 80 {words.format(0)}").broken == ["ACK-007"]


LOOKED_FOR = "@open 1 \n 1 > exchange amq.direct direct passive \n 1 < closed {}"


def test_an_exchange_that_is_refused_for_another_reason_is_there(play) -> None:
    """EXCH-006: it was compared with what is there, where it was only to be found."""
    assert play(LOOKED_FOR.format("406 40 10 Exchange with this name already exists")).broken == ["EXCH-006"]
    assert play(LOOKED_FOR.format("404 40 10 no exchange")).broken == ["EXCH-007"]


BOUND = (
    "@open 1 \n 1 > exchange x {} \n 1 < exchange-ok \n @queue q \n 1 > bind q x {} \n 1 < closed 500 50 20 no such key"
)


@pytest.mark.parametrize("key", ["a#", "a.b*", "a-b", "a..b"])
def test_a_key_that_is_no_pattern_may_be_refused(play, key: str) -> None:
    """BIND-008: the text says of which words a key of a topic exchange consists, and of no other exchange's."""
    assert play(BOUND.format("topic", key)).broken == []
    assert play(BOUND.format("direct", key)).broken == ["BIND-008"]
    assert play(BOUND.format("topic", "a1.*.#")).broken == ["BIND-008"]


AGAIN = "@open 1 \n 1 > declare q durable \n 1 < declare-ok q \n 1 > declare q {} \n {}"


def test_auto_delete_of_a_second_declaration_is_another_flag_or_ignored(play) -> None:
    """QUEUE-004 speaks of the durability alone: of auto-delete the text says both (QUEUE-037, observed)."""
    taken, refused = "1 < declare-ok q", "1 < closed 406 50 10 inequivalent"
    assert play(AGAIN.format("durable auto_delete", refused)).broken == []
    assert play(AGAIN.format("durable auto_delete", taken)).broken == ["QUEUE-037"]
    assert "QUEUE-004" in play(AGAIN.format("auto_delete", taken)).broken


def test_another_exclusive_is_another_flag(play) -> None:
    """QUEUE-006: the text names no code for it."""
    for code in (405, 406):
        assert play(AGAIN.format("durable exclusive", f"1 < closed {code} 50 10 no")).broken == []
    assert play(AGAIN.format("durable exclusive", "1 < closed 404 50 10 no")).broken == ["QUEUE-006"]


UNNUMBERED = "@queue q \n @stock q m1 m2 \n @hold 2 q m1 \n @open 1 \n 1 > consume q c no_ack \n 1 < consume-ok c \n"


def test_a_tag_of_zero_says_nothing_of_other_channels(play) -> None:
    """TAG-006: a delivery that is not to be acknowledged has no number at all."""
    assert set(play(UNNUMBERED + "1 < deliver c 0 m2 q").broken) == {"TAG-001", "TAG-002"}
    assert set(play(UNNUMBERED + "1 < deliver c 2 m2 q").broken) == {"TAG-001", "TAG-006"}


LONG = "n" * 200
GONE = f"@open 1 \n 1 > delete {LONG} \n 1 < delete-ok \n 1 > declare {LONG} passive \n"


def test_a_name_that_no_queue_may_have_may_be_refused_for_that(play) -> None:
    """QUEUE-035: the text names no code for names that are too long."""
    for code, broken in ((404, []), (406, []), (405, ["QUEUE-035"])):
        assert play(f"{GONE} 1 < closed {code} 50 10 no").broken == broken


REFUSED = "@queue q \n @open 1 \n {} 1 > delete q {} \n 1 < closed 406 50 40 no \n 1 > closed-ok \n @open 1 \n"
LOOK = "1 > declare q passive \n 1 < {}"


@pytest.mark.parametrize(
    ("before", "condition", "rule", "found"),
    [
        ("@consume 2 q c \n", "if_unused", "QUEUE-012", "declare-ok q consumers=1"),
        ("@stock q m1 \n", "if_empty", "QUEUE-013", "declare-ok q 1"),
    ],
)
def test_a_deletion_that_was_refused_spares_its_queue(play, before, condition, rule, found) -> None:
    """QUEUE-002: the queue is not hard to find; it was deleted all the same."""
    refused = REFUSED.format("@open 2 \n" + before, condition)
    assert play(refused + LOOK.format("closed 404 50 10 no queue")).broken == [rule]
    assert play(refused + LOOK.format(found)).broken == []
    assert play(REFUSED.split("{}")[0] + LOOK.format("closed 404 50 10 no")).broken == ["QUEUE-002"]


KICKED = "@open 1 \n 1 > get q \n {} {} \n 1 < closed 500 0 0 no content is due"


def test_what_follows_connection_close_is_no_matter_of_its_channels(play) -> None:
    """CONN-019: the broker goes on with what it must discard. ERR-006 is about channels that are closed."""
    assert play(KICKED.format("0 < kicked 500 0 0 no such type", "")).broken == ["CONN-019"]
    assert play("@open 1 \n 1 > close 200 0 0 done \n 1 < close-ok \n 1 < closed 500 0 0 no").broken == ["ERR-006"]


TAKEN = "@queue q \n @stock q m1 \n @open 1 \n @open 2 \n {} 1 > get q \n 1 < get-ok 1 m1 q \n {} 1 > ack 1 \n"
UNKNOWN = "1 < closed 406 60 80 Precondition Failed: Delivery Tag not found: 1"


@pytest.mark.parametrize(
    ("before", "between", "rule"),
    [
        ("", "2 > ack 0 multiple \n", "ACK-004"),
        ("1 > select \n 1 < select-ok \n", "1 > rollback \n 1 < rollback-ok \n", "TX-016"),
    ],
)
def test_what_came_by_get_is_never_outstanding(play, before: str, between: str, rule: str) -> None:
    """ACK-013: who refuses it without any cause refuses it after a settlement elsewhere, or a rollback, as well."""
    assert play(TAKEN.format("", "") + UNKNOWN).broken == ["ACK-013"]
    found = {one.rule: one.unless for one in play(TAKEN.format(before, between) + UNKNOWN).judge.judgement.findings}
    assert "ACK-013" in found[rule]
