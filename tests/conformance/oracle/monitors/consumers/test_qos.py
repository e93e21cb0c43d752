"""Prefetch, rule by rule: a history that bears it out, one that breaks it, and races that look like a breach."""

from __future__ import annotations

import pytest

from tests.support.tables import played


def sent(channel: int, consumer: str, first: int, *messages: str, queue: str = "q") -> str:
    """Deliveries in a row."""
    return "\n".join(
        f"{channel} < deliver {consumer} {first + at} {message} {queue}" for at, message in enumerate(messages)
    )


def limit(channel: int, count: int, shared: str = "") -> str:
    return f"{channel} > qos {count} {shared}\n{channel} < qos-ok"


STOCK = "@queue q\n@queue p\n@stock q m1 m2 m3 m4 m5 m6\n@stock p n1 n2 n3 n4\n@open 1\n"
TWO = f"{STOCK}{limit(1, 2)}\n@consume 1 q a\n{sent(1, 'a', 1, 'm1', 'm2')}\n"
SHARED = f"{STOCK}{limit(1, 2, 'global')}\n@consume 1 q a\n{sent(1, 'a', 1, 'm1', 'm2')}\n"
LATE = "- deadline replies"
QUORUM = "@queue q quorum\n@stock q m1 m2 m3\n@open 1\n"
AS_CONSUMER = f"{SHARED}@consume 1 p b\n{sent(1, 'b', 3, 'n1', 'n2', queue='p')}"
"""Where `global` is denied it limits each consumer."""

BROKEN = {
    "QOS-001": TWO + sent(1, "a", 3, "m3"),
    "QOS-002": f"{STOCK}{limit(1, 3)}\n@consume 1 q a\n{sent(1, 'a', 1, 'm1', 'm2')}\n{LATE}",
    "QOS-003": f"{TWO}@consume 1 p b\n{LATE}",
    "QOS-004": f"{TWO}{limit(1, 4)}\n{sent(1, 'a', 3, 'm3')}",
    "QOS-005": f"{STOCK}{limit(1, 0)}\n@consume 1 q a\n{sent(1, 'a', 1, 'm1')}\n{LATE}",
    "QOS-006": SHARED + sent(1, "a", 3, "m3"),
    "QOS-007": f"{STOCK}{limit(1, 2)}\n{limit(1, 3, 'global')}\n@consume 1 q a\n@consume 1 p b\n"
    f"{sent(1, 'a', 1, 'm1', 'm2')}\n{sent(1, 'b', 3, 'n1', 'n2', queue='p')}",
    "QOS-008": f"{STOCK}{limit(1, 3, 'global')}\n{limit(1, 2)}\n@consume 1 q a\n@consume 1 p b\n"
    f"{sent(1, 'a', 1, 'm1', 'm2')}\n{sent(1, 'b', 3, 'n1', 'n2', queue='p')}",
    "QOS-009": (f"{AS_CONSUMER}\n{sent(1, 'b', 5, 'n3', queue='p')}", "rabbitmq-4.3"),
    "QOS-010": f"{TWO}1 > ack 2\n{LATE}",
    "QOS-011": f"{SHARED}{limit(1, 1, 'global')}\n1 > ack 2\n{sent(1, 'a', 3, 'm3')}",
    "QOS-012": f"{TWO}1 > ack 2 multiple\n{sent(1, 'a', 3, 'm3', 'm4', 'm5')}",
    "QOS-013": f"{TWO}@consume 1 p b\n{sent(1, 'b', 3, 'n1', 'n2', queue='p')}\n1 > ack 4 multiple\n"
    f"{sent(1, 'b', 5, 'n3', 'n4', queue='p')}\n{LATE}",
    "QOS-014": f"{TWO}1 > get q\n1 < get-empty",
    "QOS-015": f"{STOCK}@hold 1 p n1\n{limit(1, 1)}\n@consume 1 q a\n{LATE}",
    "QOS-016": f"{STOCK}{limit(1, 1)}\n@consume 1 q a no_ack\n{sent(1, 'a', 1, 'm1')}\n{LATE}",
    "QOS-018": f"{TWO}1 > nack 2 requeue\n{LATE}",
    "QOS-019": f"{SHARED}1 > cancel a\n1 < cancel-ok a\n@consume 1 q b\n1 > ack 2 multiple\n{LATE}",
    "QOS-020": f"{TWO}1 > cancel a\n1 < cancel-ok a\n@consume 1 q b\n{LATE}",
    "QOS-021": f"{STOCK}{limit(1, 1)}\n@consume 2 q a\n{sent(2, 'a', 1, 'm1')}\n{LATE}",
    "QOS-022": f"{SHARED}{limit(1, 4, 'global')}\n{LATE}",
    "QOS-024": f"@open 1\n1 > qos 1\n{LATE}",
    "QOS-025": f"{QUORUM}{limit(1, 1, 'global')}\n@consume 1 q a\n{LATE}",
    "QOS-026": f"{STOCK}1 > select\n1 < select-ok\n{limit(1, 1)}\n@consume 1 q a\n{sent(1, 'a', 1, 'm1')}\n1 > ack 1\n"
    f"{sent(1, 'a', 2, 'm2')}",
    "QOS-027": f"{TWO}@consume 2 q b\n{LATE}",
    "QOS-028": f"{STOCK}@consume 1 q a\n{sent(1, 'a', 1, 'm1')}\n{LATE}",
}

SOUND = {
    "QOS-001": TWO,
    "QOS-002": TWO,
    "QOS-003": f"{TWO}@consume 1 q b\n{sent(1, 'b', 3, 'm3', 'm4')}",
    "QOS-004": f"{TWO}{limit(1, 4)}\n1 > ack 1\n{sent(1, 'a', 3, 'm3')}",
    "QOS-005": f"{STOCK}{limit(1, 0)}\n@consume 1 p a\n{sent(1, 'a', 1, 'n1', 'n2', 'n3', 'n4', queue='p')}",
    "QOS-006": SHARED,
    "QOS-007": f"{STOCK}{limit(1, 2)}\n{limit(1, 3, 'global')}\n@consume 1 q a\n@consume 1 p b\n"
    f"{sent(1, 'a', 1, 'm1', 'm2')}\n{sent(1, 'b', 3, 'n1', queue='p')}",
    "QOS-008": f"{STOCK}{limit(1, 3, 'global')}\n{limit(1, 2)}\n@consume 1 q a\n@consume 1 p b\n"
    f"{sent(1, 'a', 1, 'm1', 'm2')}\n{sent(1, 'b', 3, 'n1', queue='p')}",
    "QOS-009": (AS_CONSUMER, "rabbitmq-4.3"),
    "QOS-010": f"{TWO}1 > ack 2\n{sent(1, 'a', 3, 'm3')}",
    "QOS-011": f"{SHARED}{limit(1, 1, 'global')}\n1 > ack 2 multiple\n{sent(1, 'a', 3, 'm3')}",
    "QOS-012": f"{TWO}1 > ack 2 multiple\n{sent(1, 'a', 3, 'm3', 'm4')}",
    "QOS-013": f"{TWO}@consume 1 p b\n{sent(1, 'b', 3, 'n1', 'n2', queue='p')}\n1 > ack 3 multiple\n"
    f"{sent(1, 'a', 5, 'm3', 'm4')}",
    "QOS-014": f"{TWO}1 > get q\n1 < get-ok 3 m3 q",
    "QOS-015": f"{STOCK}@hold 1 p n1\n{limit(1, 1)}\n@consume 1 q a\n{sent(1, 'a', 2, 'm1')}",
    "QOS-016": f"{STOCK}{limit(1, 1)}\n@consume 1 q a no_ack\n{sent(1, 'a', 1, 'm1', 'm2')}",
    "QOS-017": f"{SHARED}@consume 1 p b no_ack\n@barrier 1\n{LATE}",
    "QOS-018": f"{TWO}1 > nack 2 requeue\n1 < deliver a 3 m2 q redelivered",
    "QOS-019": f"{SHARED}1 > cancel a\n1 < cancel-ok a\n@consume 1 q b\n1 > ack 2 multiple\n"
    f"{sent(1, 'b', 3, 'm3', 'm4')}",
    "QOS-020": f"{TWO}1 > cancel a\n1 < cancel-ok a\n@consume 1 q b\n{sent(1, 'b', 3, 'm3', 'm4')}",
    "QOS-021": f"{limit(2, 1)}\n{TWO}".replace("2 > qos", "@open 2\n2 > qos", 1),
    "QOS-022": f"{SHARED}{limit(1, 4, 'global')}\n{sent(1, 'a', 3, 'm3', 'm4')}",
    "QOS-023": "@open 1\n1 > qos 0 size=1\n0 < kicked 540 60 10 NOT_IMPLEMENTED",
    "QOS-024": f"@open 1\n{limit(1, 1)}\n{limit(1, 1)}",
    "QOS-025": f"{QUORUM}{limit(1, 1, 'global')}\n1 > consume q a\n0 < kicked 540 60 20 NOT_IMPLEMENTED",
    "QOS-026": f"{STOCK}1 > select\n1 < select-ok\n{limit(1, 1)}\n@consume 1 q a\n{sent(1, 'a', 1, 'm1')}\n1 > ack 1\n"
    f"1 > commit\n1 < commit-ok\n{sent(1, 'a', 2, 'm2')}",
    "QOS-027": f"{TWO}@consume 2 q b\n{sent(2, 'b', 1, 'm3')}",
    "QOS-028": f"{STOCK}@consume 1 p a\n{sent(1, 'a', 1, 'n1', 'n2', 'n3', 'n4', queue='p')}",
}

NAMESAKE = f"{TWO}1 > cancel a\n1 < cancel-ok a\n@consume 1 q a\n{sent(1, 'a', 3, 'm3', 'm4')}\n"
UNSUSPICIOUS = {
    "a limit set in the same write as consume": f"{STOCK}1 > qos 1\n1 > consume q a\n1 < qos-ok\n1 < consume-ok a\n"
    + sent(1, "a", 1, "m1"),
    "deliveries that an ack of everything may have settled": f"""
        {TWO}1 > ack 1
        1 > ack 0 multiple
        {sent(1, "a", 3, "m3")}
        {sent(1, "a", 4, "m4", "m5")}
        @barrier 1
    """,
    "a limit of the channel set while deliveries are under way": f"""
        {STOCK}@consume 1 q a
        1 > qos 1 global
        {sent(1, "a", 1, "m1", "m2")}
        1 < qos-ok
        {sent(1, "a", 3, "m3")}
    """,
    "a lowered limit and what was sent before": f"""
        {STOCK}{limit(1, 3, "global")}
        @consume 1 q a
        1 > qos 1 global
        {sent(1, "a", 1, "m1", "m2")}
        1 < qos-ok
        {sent(1, "a", 3, "m3")}
    """,
    "a limit of the channel set while deliveries are outstanding, and none under way": f"""
        @queue q
        @stock q m1 m2
        @open 1
        @consume 1 q a
        {sent(1, "a", 1, "m1", "m2")}
        {limit(1, 2, "global")}
        @stock q m3 m4
        {sent(1, "a", 3, "m3")}
        @barrier 1
        {sent(1, "a", 4, "m4")}
    """,
    "deliveries that overtake the ack which makes a lowered limit count": f"""
        @queue q
        @stock q m1 m2
        @open 1
        {limit(1, 4, "global")}
        @consume 1 q a
        {sent(1, "a", 1, "m1", "m2")}
        {limit(1, 1, "global")}
        1 > ack 1
        @stock q m3 m4
        {sent(1, "a", 3, "m3", "m4")}
    """,
    "a rolled back ack keeps its slot": f"{STOCK}1 > select\n1 < select-ok\n{limit(1, 1)}\n@consume 1 q a\n"
    f"{sent(1, 'a', 1, 'm1')}\n1 > ack 1\n1 > rollback\n1 < rollback-ok\n{LATE}",
    "a quorum queue under a limit that came later": f"{QUORUM}@consume 1 q a\n{limit(1, 1, 'global')}\n"
    f"{sent(1, 'a', 1, 'm1', 'm2', 'm3')}",
    "a consumer that had room when the get was sent": (
        f"{TWO}1 > ack 1\n1 > get q\n{sent(1, 'a', 3, 'm3')}\n1 < get-empty"
    ),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_breach_is_filed_under_its_rule(play, rule: str) -> None:
    assert rule in played(play, BROKEN[rule]).rest().broken


GETS_ALONE = f"@queue q\n@stock q m1 m2 m3\n@open 1\n{limit(1, 2, 'global')}\n1 > get q\n1 < get-ok 1 m1 q\n1 > get q\n"


def test_gets_that_reach_a_limit_are_no_loss(play) -> None:
    """GarageMQ: a channel's limit binds gets, and counts them. What they do not find is still there."""
    empty = f"{GETS_ALONE}1 < get-ok 2 m2 q\n1 > get q\n1 < get-empty\n"
    assert play(empty).broken == []
    assert play(f"{empty}1 > ack 2 multiple\n@barrier 1\n1 > get q\n1 < get-ok 3 m3 q").broken == ["QOS-014"]
    assert play(f"{GETS_ALONE}1 < get-empty\n").broken == ["RQ-011"]


@pytest.mark.parametrize("rule", SOUND)
def test_what_is_right_bears_the_rule_out(play, rule: str) -> None:
    """Once the channels have answered: until then one delivery more may be under way."""
    book = played(play, SOUND[rule])
    for number in {event.channel for event in book.events if event.method == "basic.deliver"}:
        book.play(f"@barrier {number}")
    assert book.judge.judgement.findings == []
    assert book.exercised[rule] >= 1


@pytest.mark.parametrize("story", UNSUSPICIOUS)
def test_no_finding(play, story: str) -> None:
    if "get-empty" in UNSUSPICIOUS[story]:
        book = play(UNSUSPICIOUS[story])
        assert "QOS-014" not in book.broken
    else:
        assert play(UNSUSPICIOUS[story]).judge.judgement.findings == []


def test_a_changed_limit_counts_from_the_first_settlement_that_was_handled(play) -> None:
    changed = f"@queue q\n@stock q m1 m2 m3\n@open 1\n@consume 1 q a\n{sent(1, 'a', 1, 'm1', 'm2', 'm3')}\n"
    changed += f"{limit(1, 2, 'global')}\n1 > ack 1\n@barrier 1\n@stock q m4 m5 m6\n"
    assert play(changed + sent(1, "a", 4, "m4")).broken == ["QOS-011"]
    assert play(f"{changed}1 > ack 3 multiple\n{sent(1, 'a', 4, 'm4', 'm5')}\n@barrier 1").exercised["QOS-011"] >= 1


def test_a_quorum_queue_must_not_refuse_a_channels_limit_softly(play) -> None:
    softly = play(f"{QUORUM}{limit(1, 1, 'global')}\n1 > consume q a\n1 < closed 540 60 20 NOT_IMPLEMENTED")
    assert "QOS-025" in softly.broken


def test_where_global_is_denied_each_consumer_is_counted(play) -> None:
    assert play(f"{AS_CONSUMER}\n@barrier 1", "rabbitmq-4.3").exercised["QOS-009"] == 2


def test_automatic_deliveries_under_a_channels_limit_are_reported(play) -> None:
    back = play(SOUND["QOS-017"]).judge.judgement.reports["QOS-017"]
    assert back == {"held back while the channel's limit is reached": 1}
    through = play(f"{SHARED}@consume 1 p b no_ack\n{sent(1, 'b', 3, 'n1', queue='p')}").judge.judgement.reports
    assert through["QOS-017"] == {"sent although the channel's limit is reached": 1}


def test_one_qos_ok_too_many(play) -> None:
    assert play(f"@open 1\n{limit(1, 1)}\n1 < qos-ok").broken == ["QOS-024"]


def test_a_size_may_be_obeyed(play) -> None:
    accepted = "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > qos 0 size=1 \n 1 < qos-ok \n"
    book = play(accepted)
    assert book.judge.judgement.reports["QOS-023"] == {"qos-ok": 1}
    assert book.exercised["QOS-023"] == 0, "GarageMQ says qos-ok, and sends what it likes"
    obeyed = book.play("@consume 1 q a \n 1 < deliver a 1 m1 q \n @barrier 1")
    assert obeyed.judge.owed() == [], "it may be held back, as no size is known to fit"
    large = "@queue q \n @open 1 \n 1 > publish q m1 bodies={} \n 1 > qos 0 size=1 \n 1 < qos-ok \n @consume 1 q a"
    assert play(large.format(2)).judge.owed() == [], "GarageMQ sends nothing that is larger, never mind in advance"
    assert [one.kind for one in play(large.format(1)).judge.owed()] == ["delivery"]


def test_a_size_that_is_accepted_is_obeyed(play) -> None:
    start = "@queue q \n @stock q m1 \n 1 > qos 0 size=1 \n 1 < qos-ok \n @consume 1 q a \n 1 < deliver a 1 m1 q \n"
    small, large = (f"@open 1 \n 1 > publish q m2 bodies={size} \n" + start for size in (1, 2))
    assert play(large + "1 > ack 1 \n 1 < deliver a 2 m2 q bodies=2").broken == [], "nothing is outstanding"
    assert play(small + "1 < deliver a 2 m2 q").broken == [], "it is no larger"
    assert play(large + "1 < deliver a 2 m2 q bodies=2").broken == ["QOS-023"]


def test_a_limit_without_a_size_on_a_closed_channel_is_refused_for_the_channel(play) -> None:
    """QOS-023 has nothing to say of that 504: no size was asked for."""
    book = play("@open 1\n@close 1\n1 > qos 5\n0 < kicked 504 60 10 CHANNEL_ERROR - expected 'channel.open'")
    assert book.broken == []
    assert book.exercised["ERR-010"] == 1


@pytest.mark.parametrize(
    ("steps", "rules"),
    [
        ("1 > ack 1 \n 1 < deliver a 5 m5 q", ["QOS-013"]),
        ("1 > ack 2 multiple \n 1 < deliver a 5 m5 q \n 1 < deliver a 6 m6 q", ["QOS-013"]),
        ("1 < deliver a 5 m5 q", ["QOS-001"]),
        ("1 > ack 1 \n 1 > ack 3 \n 1 < deliver a 5 m5 q", []),
        ("1 > ack 1 \n 1 < deliver a 5 m5 q \n 1 < deliver a 6 m6 q", ["QOS-013"]),
    ],
)
def test_what_a_namesake_had_frees_no_slot_of_its_successor(play, steps: str, rules: list[str]) -> None:
    """RabbitMQ adds it to the limit, once for each delivery; any more than that has another cause."""
    assert play(NAMESAKE + steps).broken == rules


def test_beyond_what_a_namesake_had_another_rule_is_broken(play) -> None:
    """The slots of the two that the first consumer had are in use, and the settlement of an own one frees too many."""
    used = NAMESAKE.replace("@stock q m1", "@stock q m0 m7 m8 m9 m1") + "1 > ack 3 \n"
    assert play(used + "1 < deliver a 5 m5 q \n 1 < deliver a 6 m6 q").broken == ["QOS-010"]
