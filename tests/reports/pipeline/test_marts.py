"""Islands, times and marts: the parts of the pipeline that are about more than one history."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from codec import methods as m
from conformance.catalogue import profiles
from conformance.history import events as ev
from conformance.history.events import Event, EventBuilder, Labels
from conformance.oracle.monitors import judge
from reports.alone import marts as alone
from reports.pipeline import marts, shard, timing
from reports.pipeline.timing import TimedRow, bucket, measured, middle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# -- islands


def links(*said: tuple[str, str]) -> list[tuple[str, str, str]]:
    return [(connection, shard.MEETS, f"queue {queue}" if queue else "") for connection, queue in said]


def test_connections_that_meet_are_one_island_also_by_way_of_others() -> None:
    apart = shard.apart(links(("c1", "a"), ("c2", "b"), ("c3", "a"), ("c3", "b"), ("c4", "d"), ("c5", "")))
    assert apart == [
        ("", "c1"),
        ("c1", "c1"),
        ("c2", "c1"),
        ("c3", "c1"),
        ("", "c4"),
        ("c4", "c4"),
        ("", "c5"),
        ("c5", "c5"),
    ]
    assert shard.apart(links(("c1", "a"), ("c2", "a"))) == []


def test_islands_do_not_depend_on_the_order() -> None:
    said = links(("c1", "a"), ("c2", "b"), ("c3", "b"), ("c4", "c"), ("c5", "a"))
    assert {tuple(shard.apart(order)) for order in itertools.permutations(said)} == {tuple(shard.apart(said))}


def test_virtual_hosts_are_told_apart_only_where_all_are_known() -> None:
    same = links(("c1", "a"), ("c2", "a"))
    assert shard.apart([*same, ("c1", shard.HOST, "/"), ("c2", shard.HOST, "/other")]) != []
    assert shard.apart([*same, ("c1", shard.HOST, "/")]) == []


def test_a_history_with_something_that_is_about_all_of_it_stays_whole() -> None:
    assert shard.apart([*links(("c1", "a"), ("c2", "b")), ("", shard.WHOLE, "")]) == []


def capture(pairs: int) -> list[Event]:
    """As many pairs of connections as said, each on a queue of its own; every second queue delivers a tag twice."""
    seq = itertools.count(1)
    builders = {
        name: EventBuilder(Labels("r1", "b", "h", name), seq.__next__, lambda: 10**18)
        for name in ("", *(f"{kind}{n}" for n in range(pairs) for kind in ("p", "c")))
    }
    events = [builders[""].local(ev.OBSERVED, by="capture", others=False, ordered=True)]

    def says(name: str, direction: str, *frames: Any) -> None:
        made = (builders[name].frame(direction, frame, frame.encode()) for frame in frames)
        events.extend(event for event in made if event is not None)

    def content(name: str, direction: str, method: Any, message: str) -> None:
        import codec

        body = message.encode()
        says(name, direction, method, codec.header(1, len(body), message_id=message), codec.Body(1, body))

    for n in range(pairs):
        for name in (f"p{n}", f"c{n}"):
            events.append(builders[name].local("open", host="h", port=1))
            says(name, ">", m.ChannelOpen(1), m.QueueDeclare(1, 0, f"q{n}"))
            says(name, "<", m.ChannelOpenOk(1), m.QueueDeclareOk(1, f"q{n}", 0, 0))
    for k in range(1, 4):
        for n in range(pairs):
            content(f"p{n}", ">", m.BasicPublish(1, 0, "", f"q{n}"), f"m{n}-{k}")
            says(f"c{n}", ">", m.BasicGet(1, 0, f"q{n}"))
            content(f"c{n}", "<", m.BasicGetOk(1, min(k, 2) if n % 2 else k, False, "", f"q{n}", 0), f"m{n}-{k}")
    return events


def split(events: Iterable[Event]) -> list[list[Event]]:
    """The islands of one history, as silver has them."""
    own = list(events)
    found = shard.apart((event.connection, what, name) for event in own for what, name in shard.links(event))
    names = sorted({island for _, island in found})
    return [[event for event in own if (event.connection, name) in set(found)] for name in names]


def test_islands_are_judged_as_the_whole_is() -> None:
    profile = profiles.load("documented")
    events = capture(4)
    islands = split(events)
    assert len(islands) == 4
    parts = [judge(island, profile) for island in islands]
    whole = judge(events, profile)
    assert whole.findings, "something is wrong in it"
    assert sorted(map(repr, whole.findings)) == sorted(repr(found) for part in parts for found in part.findings)
    assert whole.exercised == sum((part.exercised for part in parts), start=type(whole.exercised)())


# -- times


@pytest.mark.parametrize("ns", [0, 1, 63, 64, 127, 128, 129, 1000, 10**6, 123_456_789, 10**12, 2**62])
def test_a_bucket_stands_for_its_times(ns: int) -> None:
    assert abs(middle(bucket(ns)) - ns) <= ns / 100
    assert bucket(ns) <= bucket(ns + 1)


def row(method: str, time: int, direction: str = ">", **more: Any) -> tuple[tuple[str, str], TimedRow]:
    given = {"delivery_tag": None, "multiple": None, "message_id": None, "body_hash": None, **more}
    return ("h", ""), TimedRow("c1", 1, time, direction, method, **given)


def test_confirms_and_deliveries_are_timed() -> None:
    rows = [
        row("channel.open", 0),
        row("confirm.select", 1),
        *(row("basic.publish", 100 * n, message_id=f"m{n}") for n in range(1, 5)),
        row("basic.ack", 400, "<", delivery_tag=2, multiple=True),
        row("basic.nack", 500, "<", delivery_tag=4),
        row("basic.deliver", 600, "<", message_id="m1"),
        row("basic.deliver", 900, "<", message_id="m1"),
    ]
    expected = {
        ("confirm", bucket(300)): 1,
        ("confirm", bucket(200)): 1,
        ("confirm", bucket(100)): 1,
        ("delivery", bucket(500)): 1,
    }
    assert dict(measured(rows)) == expected


def test_a_message_that_was_published_twice_is_not_timed() -> None:
    twice = [row("basic.publish", n, message_id="m") for n in (1, 2)]
    assert measured([*twice, row("basic.get-ok", 9, "<", message_id="m")]) == {}


# -- marts


RUNS = [
    ("r1", "B 1", "B", "1.9", "p", "2026-01-01", "recording", "0", 1, 1, 1),
    ("r2", "B 1", "B", "1.9", "p", "2026-01-02", "recording", "0", 1, 1, 1),
    ("r3", "B 1", "B", "1.9", "p", "2026-01-03", "recording", "0", 1, 1, 1),
    ("r4", "B 2", "B", "1.10", "p", "2026-01-01", "recording", "0", 1, 1, 1),
]
SEEN = {
    "X-1": {"r1": "held", "r2": "broken", "r3": "held", "r4": "broken"},
    "X-2": {"r1": "broken", "r2": "held", "r3": "held", "r4": "held"},
    "X-3": {"r1": "held", "r2": "under-tested", "r3": "held", "r4": "inconclusive"},
}


@pytest.mark.spark
def test_marts(spark: SparkSession) -> None:
    names = {run[0]: run[1] for run in RUNS}
    table = spark.createDataFrame(
        [
            (run, names[run], "p", rule, "must", verdict, 2, int(verdict == "broken"), 0)
            for rule, verdicts in SEEN.items()
            for run, verdict in verdicts.items()
        ],
        "run STRING, broker STRING, profile STRING, rule STRING, level STRING, verdict STRING, exercised BIGINT, "
        "findings BIGINT, doubtful BIGINT",
    )
    runs = spark.createDataFrame(RUNS, marts.RUNS)
    matrix = {(one.broker, one.rule): (one.verdict, one.runs, one.exercised) for one in marts.matrix(table).collect()}
    assert matrix["B 1", "X-1"] == ("broken", 3, 6)
    assert matrix["B 1", "X-3"] == ("held", 3, 6)
    assert matrix["B 2", "X-3"] == ("inconclusive", 1, 2)
    history = marts.history(table, runs)
    befores = {(one.run, one.rule): one.before for one in history.collect()}
    assert (befores["r1", "X-1"], befores["r2", "X-1"], befores["r4", "X-1"]) == (None, "held", None)
    flaky = {
        (one.broker, one.rule): (one.clear, one.broken, one.flips, one.flaky)
        for one in marts.flakiness(history).collect()
    }
    assert flaky["B 1", "X-1"] == (3, 1, 2, True)
    assert flaky["B 1", "X-2"] == (3, 1, 1, False)
    assert flaky["B 1", "X-3"] == (2, 0, 0, False)
    pairs = marts.pairs([(run[0], run[2], run[3], run[5]) for run in RUNS])
    assert pairs == [("r3", "r4"), ("r2", "r3")]
    worse = {
        (one.before, one.after, one.rule): one.change
        for one in marts.regressions(table, spark.createDataFrame(pairs, marts.PAIRS)).collect()
    }
    assert worse == {
        ("r3", "r4", "X-1"): "broken",
        ("r3", "r4", "X-3"): "other",
        ("r2", "r3", "X-1"): "fixed",
        ("r2", "r3", "X-3"): "other",
    }
    spread = [("r1", "confirm", bucket(ms * 10**6), 1) for ms in range(1, 101)]
    parts = spark.createDataFrame(spread, timing.DDL).repartition(3)
    found = marts.latency(parts, runs).collect()[0]
    assert (found.n, found.broker) == (100, "B 1")
    assert [found.p50, found.p90, found.p99, found.worst] == pytest.approx([50, 90, 99, 100], rel=0.01)
    rows = [row.asDict() for row in table.collect()]
    here = alone.marts(rows, [row.asDict() for row in runs.collect()], [row.asDict() for row in parts.collect()])
    there = {
        "matrix": marts.matrix(table),
        "history": history,
        "flakiness": marts.flakiness(history),
        "latency": marts.latency(parts, runs),
        "regressions": marts.regressions(table, spark.createDataFrame(pairs, marts.PAIRS)),
    }
    for name, frame in there.items():
        expected = [row.asDict() for row in frame.orderBy(*marts.ORDER[name]).collect()]
        assert expected == here[name], f"{name} in this process"
