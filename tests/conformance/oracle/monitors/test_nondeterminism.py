"""What the texts leave to a broker accuses nobody, and what is just beside it still does.

Each history is told twice: as a lawful broker may do it, and as it would be a fault. Brokers that do the first at
random are in `reference_broker/nondeterminism`; that they are not accused is for `test_legal`.
"""

from __future__ import annotations

from conformance.oracle.verdicts import Finding

RETURNED = """
    @queue q
    @stock q m1 m2 m3 m4
    @hold 1 q m1 m2
    {}
    1 > nack 1 requeue
    1 > nack 2 requeue
    @barrier 1
    {}
    @hold 4 q m2 m1
"""
SHARED = "@consume 2 q c2 \n @consume 3 q c3 \n 2 < deliver c2 1 m3 q \n 3 < deliver c3 1 m4 q"
ALONE = "2 > cancel c2 \n 2 < cancel-ok c2 \n 3 > cancel c3 \n 3 < cancel-ok c3"


def test_where_consumers_share_a_queue_a_message_may_return_closer_to_its_head(play) -> None:
    assert play(RETURNED.format("", "")).broken == ["RQ-001"]
    full = SHARED.replace("@consume 2", "@open 2 \n 2 > qos 1 \n 2 < qos-ok \n @consume 2")
    full = full.replace("@consume 3", "@open 3 \n 3 > qos 1 \n 3 < qos-ok \n @consume 3")
    assert play(RETURNED.format(full, ALONE)).broken == []
    assert play(RETURNED.format(f"{full} \n {ALONE}", "")).broken == [], "who shared it may have had what was behind"
    batch = RETURNED.format(full, ALONE).replace("1 > nack 1 requeue", "").replace("nack 2", "nack 2 multiple")
    assert play(batch).broken == ["RQ-002"], "a batch stays in order wherever it goes"


OVERTAKEN = "@queue q \n @confirming 1 \n 1 > publish q m1 \n 1 > publish q m2 \n @hold 2 q m2 \n {} \n @hold 2 q m1"


def test_what_is_refused_may_reach_its_queue_at_any_time(play) -> None:
    assert play(OVERTAKEN.format("1 < ack 2 multiple")).broken == ["RQ-006"]
    assert play(OVERTAKEN.format("1 < nack 1 \n 1 < ack 2")).broken == []
    unresolved = f"{OVERTAKEN.format('')} \n {{}}"
    assert play(unresolved.format("1 < ack 2 multiple")).broken == ["RQ-006"]
    assert play(unresolved.format("1 < nack 1 \n 1 < ack 2")).broken == [], "it may be said late"
    again = "2 > nack 2 requeue \n 2 > nack 1 requeue \n @barrier 2 \n @hold 2 q m2 m1"
    assert play(unresolved.format(f"{again} \n 1 < ack 2 multiple")).broken == ["RQ-006", "RQ-001"]
    assert play(unresolved.format(f"{again} \n 1 < nack 1 \n 1 < ack 2")).broken == []
    returned = f"{OVERTAKEN} \n {again}"
    assert play(returned.format("1 < ack 2 multiple")).broken == ["RQ-006", "RQ-001"]
    assert play(returned.format("1 < nack 1 \n 1 < ack 2")).broken == []


BLOCKED = """
    @queue q
    @confirming 1
    1 > publish q m1
    {}
    2 > get q
    2 < get-empty
    - deadline drain q
"""


def test_what_is_not_confirmed_need_not_be_there(play) -> None:
    """A broker that is short of memory owes no confirm, and may refuse in the end."""
    assert play(BLOCKED.format("1 < ack 1 \n @open 2")).broken == ["RQ-011"]
    book = play(BLOCKED.format("@open 2"))
    assert book.broken == []
    assert [one.rule for one in book.judge.judgement.findings] == ["RQ-011"], "it is said all the same"


RIVALS = """
    @queue q
    @stock q m1
    @confirming 5
    5 > publish q m2
    5 > publish q m3
    {}
    @hold 1 q m1
    1 > nack 1 requeue
    @barrier 1
    @open 2
    @open 3
    2 > get q
    3 > get q
    3 < get-ok 1 m3 q
    2 < get-ok 1 m1 q redelivered
"""


def test_what_is_not_confirmed_explains_another_order(play) -> None:
    """m2 may be lost: then two gets have taken m1 and m3."""
    assert play(RIVALS.format("5 < ack 2 multiple")).broken == ["RQ-005"]
    assert play(RIVALS.format("")).broken == []


LIMITED = """
    @queue q x-max-length=2 x-overflow=reject-publish
    @confirming 1
    1 > publish q m1
    1 > publish q m2
"""


def test_who_refuses_without_being_full_may_have_kept_it(play) -> None:
    assert play(LIMITED + "1 < ack 1 \n 1 < nack 2 \n @drain q m1 m2").broken == []
    full = LIMITED + "1 > publish q m3 \n 1 < ack 2 multiple \n 1 < nack 3 \n @drain q m1 m2 m3"
    assert play(full).broken == ["CNF-021"]


RECOVERED = """
    @queue q
    @consume 1 q c1
    1 > recover requeue
    {}
    1 > ack 1
    1 > ack 1
    - deadline replies
"""


def _of(findings: list[Finding], rule: str) -> list[bool]:
    return [one.certain for one in findings if one.rule == rule]


def test_what_comes_after_recover_ok_was_not_recovered(play) -> None:
    before = RECOVERED.format("@stock q m1 \n 1 < deliver c1 1 m1 q \n 1 < recover-ok")
    after = RECOVERED.format("1 < recover-ok \n @stock q m1 \n 1 < deliver c1 1 m1 q")
    assert _of(play(before).judge.judgement.findings, "ERR-001") == []
    assert _of(play(after).judge.judgement.findings, "ERR-001") == [True]


def test_a_refusal_may_be_lost_with_its_channel(play) -> None:
    """The channel is closed before the publish is answered. No text says what has become of it."""
    closed = (
        "@queue q \n @stock q m1 \n @confirming 1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n"
        "1 > publish q m2 \n {} \n @close 1 \n @drain q m1 \n - deadline drain q"
    )
    assert play(closed.format("1 < ack 1")).broken == ["AUTO-009", "RQ-011"]
    assert play(closed.format("")).broken == []
