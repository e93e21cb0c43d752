"""Queues that several histories see: claims that need no clock, and claims that are no longer certain."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from codec import methods as m
from conformance.history import recording
from conformance.history.events import OBSERVED, Event
from reports.pipeline import cross, ingest
from reports.pipeline.cross import Fact, facts_of, judged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.simulated import Wire

Wires = Iterator["Wire"]


@pytest.fixture
def observer(wire: type[Wire]) -> type[Wire]:
    """A history of somebody who sees one side, and nobody's scene."""

    class Observer(wire):  # type: ignore[misc, valid-type]
        def __init__(self, name: str, *, others: bool = False) -> None:
            super().__init__(name)
            self.events.clear()
            self.local(OBSERVED, by="proxy", others=others, ordered=True)
            self.local("open", host="127.0.0.1", port=5672)
            self.begins()

        def publishes(self, *messages: str) -> Observer:
            for message in messages:
                self.carries(">", m.BasicPublish(1, 0, "", "q"), message)
            return self

        def consumes(self, no_ack: bool = False) -> Observer:
            self.says(">", m.BasicConsume(1, 0, "q", "t", False, no_ack, False, False, []))
            self.says("<", m.BasicConsumeOk(1, "t"))
            return self

        def gets(self, tag: int, message: str, redelivered: bool = False) -> Observer:
            self.carries("<", m.BasicDeliver(1, "t", tag, redelivered, "", "q"), message)
            return self

        def acks(self, tag: int) -> Observer:
            self.says(">", m.BasicAck(1, tag, False), m.BasicQos(1, 0, 5, False))
            self.says("<", m.BasicQosOk(1))
            return self

    return Observer


def broken(*histories: Wire) -> list[tuple[str, bool]]:
    """(rule, certain), whatever the order in which facts arrive."""
    facts = [fact for own in histories for fact in facts_of(own.events)]
    found = [(row["rule"], row["certain"]) for row in judged(facts)]
    for seed in range(3):
        shuffled = random.Random(seed).sample(facts, len(facts))
        assert [(row["rule"], row["certain"]) for row in judged(shuffled)] == found
    return found


def test_a_redelivery_elsewhere_without_the_flag(observer: type[Wire]) -> None:
    sender = observer("a").publishes("m1")
    one, other = (observer(name).consumes().gets(1, "m1") for name in "bc")
    assert broken(sender, one, other) == [("RQ-008", True)]
    marked = observer("c").consumes().gets(1, "m1", redelivered=True)
    assert broken(sender, one, marked) == []


def test_what_came_automatically_came_again(observer: type[Wire]) -> None:
    sender = observer("a").publishes("m1")
    one, other = observer("b").consumes(no_ack=True).gets(1, "m1"), observer("c").consumes().gets(1, "m1", True)
    assert broken(sender, one, other) == [("MODE-002", True)]
    last = observer("b").consumes(no_ack=True).gets(1, "m1", redelivered=True)
    assert broken(sender, last, observer("c").consumes().gets(1, "m1")) == []


def test_acknowledged_twice(observer: type[Wire]) -> None:
    sender = observer("a").publishes("m1")
    one, other = observer("b").consumes().gets(1, "m1").acks(1), observer("c").consumes().gets(1, "m1", True).acks(1)
    assert broken(sender, one, other) == [("RQ-011", True)]


def test_an_ack_that_nobody_can_know_was_processed_says_nothing(observer: type[Wire]) -> None:
    sender = observer("a").publishes("m1")
    one, other = observer("b").consumes().gets(1, "m1").acks(1), observer("c").consumes().gets(1, "m1", True)
    other.says(">", m.BasicAck(1, 1, False))
    assert broken(sender, one, other) == []


def test_overtaken_between_two_observers(observer: type[Wire]) -> None:
    sender = observer("a").publishes("m1", "m2", "m3")
    assert broken(sender, observer("b").consumes().gets(1, "m2").gets(2, "m1").gets(3, "m3")) == [("RQ-006", True)]
    assert broken(sender, observer("b").consumes().gets(1, "m1").gets(2, "m3")) == []
    back = observer("b").consumes().gets(1, "m2").gets(2, "m1", redelivered=True)
    assert broken(sender, back) == []


def test_nothing_is_certain_where_somebody_may_not_have_been_seen(observer: type[Wire]) -> None:
    sender = observer("a", others=True).publishes("m1")
    one, other = (observer(name, others=True).consumes().gets(1, "m1") for name in "bc")
    assert broken(sender, one, other) == [("RQ-008", False)]


@pytest.mark.parametrize("sent", [(), ("m1", "m1")])
def test_a_message_of_unknown_or_double_origin_says_nothing(observer: type[Wire], sent: tuple[str, ...]) -> None:
    assert broken(observer("a").publishes(*sent), *(observer(n).consumes().gets(1, "m1") for n in "bc")) == []


def recorded_to(folder: Path, events: Iterable[Event]) -> list[Path]:
    return [recording.write(folder, {"run": "r1", "profile": "documented"}, events)]


@pytest.mark.spark
def test_spark_finds_the_shared_queue_and_doubts_what_needs_all(
    spark: SparkSession,
    observer: type[Wire],
    tmp_path: Path,
) -> None:
    histories = [observer("a").publishes("m1"), *(observer(n).consumes().gets(1, "m1") for n in "bc")]
    events = list(itertools.chain.from_iterable(own.events for own in histories))
    silver = ingest.events_of(spark, recorded_to(tmp_path, events))
    shared = cross.shared(silver)
    assert {(row["queue"], row["history"]) for row in shared.collect()} == {("q", "a"), ("q", "b"), ("q", "c")}
    facts = spark.createDataFrame([tuple(fact) for own in histories for fact in facts_of(own.events)], cross.DDL)
    assert [row["rule"] for row in cross.findings(facts, shared).collect()] == ["RQ-008"]
    claims = [("r1", "b", "finding", rule, 1, 5, "", "", True, [5], [], []) for rule in ("RQ-011", "TAG-001")]
    gold = spark.createDataFrame(claims, cross.check.DDL)
    certain = {row["rule"]: row["certain"] for row in cross.degraded(gold, shared).collect()}
    assert certain == {"RQ-011": False, "TAG-001": True}


def test_a_fact_has_the_columns_that_it_says() -> None:
    assert tuple(Fact._fields) == tuple(cross.ARROW.names) == tuple(part.split()[0] for part in cross.DDL.split(", "))
