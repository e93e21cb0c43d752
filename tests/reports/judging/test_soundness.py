"""A history with parts missing accuses nobody of what the whole history does not, and how it is cut up is all one.

Lawful histories are mutilated thousands of times: not one may be found broken. Histories of wrong brokers stay broken
where the proof is in the part that is left.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.catalogue import profiles, rules
from conformance.history import events as ev
from conformance.history.events import Event
from conformance.history.recording import Recording, RecordingWriter
from conformance.oracle.monitors import judge
from conformance.oracle.monitors.moments import MOMENT
from conformance.oracle.verdicts import REASONS, Judgement, Verdict, verdict_of, why_not
from reports.pipeline import check, ingest, verdicts
from tests.support import mutilation, traces
from tests.support.traces import Trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROFILE = profiles.load(traces.PROFILE)
THOROUGH = settings(
    max_examples=600,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SAMPLE = (
    "tags.start-at-zero",
    "tags.counter-per-consumer",
    "settle.multiple-only-below-tag",
    "mode.discard-requeues",
    "errors.double-ack-accepted",
    "prefetch.one-too-many",
    "requeue.flag-never",
    "confirms.one-ahead",
    "errors.unknown-tag-is-404",
    "confirms.counts-from-0",
    "settle.answers-ack",
    "confirms.single-after-multiple",
)
"""Two of each four are played in lockstep: of each family whose findings are counted, one that is found whatever the
interleaving."""

SEEN = 30
"""So many rules at least are exercised in what is left."""


@pytest.fixture(scope="module")
def lawful() -> list[Trace]:
    return list(traces.lawful(4))


@pytest.fixture(scope="module")
def wrong() -> list[Trace]:
    found = [trace for trace in traces.wrong(SAMPLE, 3) if any(one.certain for one in trace.live.findings)]
    assert len(found) > len(SAMPLE)
    return found


def accused(judgement: Judgement) -> set[str]:
    return {finding.rule for finding in judgement.findings if finding.certain}


# -- nobody is accused falsely


@given(data=st.data(), chance=st.randoms(use_true_random=False))
@THOROUGH
def test_what_is_missing_accuses_nobody(lawful: list[Trace], data: st.DataObject, chance: random.Random) -> None:
    trace = data.draw(st.sampled_from(lawful), label="history")
    mutilated = data.draw(st.sampled_from(mutilation.ALL), label="mutilation")(trace.events, chance)
    assert accused(judge(mutilated, PROFILE)) <= accused(trace.live)


@pytest.mark.parametrize("mutilated", mutilation.ALL, ids=lambda one: one.__name__)
def test_each_way_to_lose_something_leaves_something(lawful: list[Trace], mutilated: mutilation.Mutilation) -> None:
    """A judge that has gone blind accuses nobody either."""
    total = Judgement()
    for trace in lawful:
        total.add(judge(mutilated(trace.events, random.Random(trace.events[0].history)), PROFILE))
    assert total.exercised["TAG-003"] > len(lawful)
    assert sum(times > 0 for times in total.exercised.values()) > SEEN
    if mutilated is not mutilation.left:
        assert len(total.doubts) > 20
    if mutilated is mutilation.crowded:
        assert not {rule for rule, times in total.exercised.items() if times and "ALL" in rules.get(rule).scope}


# -- wrong brokers are found where the proof is left


def test_what_comes_after_the_proof_may_be_missing(wrong: list[Trace]) -> None:
    """After the last moment: until then an end whose reason is missing may explain what was found."""
    proven = [trace for trace in wrong if any(one.certain for one in trace.live.findings)]
    assert len(proven) > len(wrong) / 2, "most wrong brokers are found for certain"
    for trace in proven:
        first = min((one for one in trace.live.findings if one.certain), key=lambda one: max(one.witness))
        place = next(at for at, event in enumerate(trace.events) if event.seq == max(first.witness)) + 1
        for rest in (mutilation.left, mutilation.gapped, mutilation.sieved):
            after = rest(trace.events[place:], random.Random(place)) if trace.events[place:] else []
            assert first.rule in accused(judge([*trace.events[:place], *_later(after, first.at)], PROFILE))


def _later(history: Sequence[Event], seq: int) -> Iterator[Event]:
    return (event._replace(seq=event.seq + seq, time_ns=event.time_ns + 2 * MOMENT) for event in history)


def test_what_one_connection_proves_stands_among_strangers(wrong: list[Trace]) -> None:
    """Counted over all: numbers, limits and refused settlements are found in an open world, fates of messages not."""
    found: Counter[str] = Counter()
    for trace in wrong:
        for seed in range(4):
            found.update(accused(judge(mutilation.crowded(trace.events, random.Random(seed)), PROFILE)))
    assert {rule.partition("-")[0] for rule in found} >= {"TAG", "ERR", "QOS", "CNF"}
    assert not {rule for rule in found if rules.get(rule).family in ("AUTO", "MODE", "RQ", "TMO")} - {"MODE-006"}


def test_tags_are_compared_from_the_middle_too(wrong: list[Trace]) -> None:
    found: set[str] = set()
    for trace in wrong:
        for seed in range(4):
            found |= accused(judge(mutilation.late(trace.events, random.Random(seed)), PROFILE))
    assert "TAG-003" in found


# -- and it is said why


def test_a_rule_that_fired_in_vain_is_inconclusive() -> None:
    assert verdict_of([], 0, doubtful=True) is Verdict.INCONCLUSIVE
    assert verdict_of([], 3, doubtful=True) is Verdict.HELD
    assert verdict_of([], 0) is Verdict.UNDER_TESTED
    assert verdict_of([], 0, doubtful=True, offered=False) is Verdict.NOT_OFFERED
    assert (
        why_not({"joined": 3, "gap": 1})
        == "3 histories began in the middle of a connection, 1 history has missing octets"
    )
    assert why_not({}) == "a lawful order of events also explains what was seen"


def test_every_reason_has_words(lawful: list[Trace]) -> None:
    seen: set[str] = set()
    for trace in lawful:
        for mutilated in mutilation.ALL:
            doubts = judge(mutilated(trace.events, random.Random(7)), PROFILE).doubts
            seen.update(reason for reasons in doubts.values() for reason in reasons)
    assert seen == set(REASONS) - {"cut"}, "a history that is cut off at its end has nothing after that to doubt"


# -- the pipeline


@pytest.fixture(scope="module")
def few() -> list[Trace]:
    """A third of the lawful histories: Spark's tests may run where the others do not, and need not have them played."""
    return list(traces.lawful(2))


@pytest.fixture(scope="module")
def mixed(few: list[Trace]) -> list[Event]:
    """Whole and mutilated histories, lawful and wrong, at times that are all the same."""
    wrong = [trace for trace in traces.wrong(SAMPLE, 1) if any(one.certain for one in trace.live.findings)]
    assert len(wrong) > len(SAMPLE) // 2
    return [
        event._replace(time_ns=10**18, history=f"{number} {event.history}")
        for number, trace in enumerate([*few, *wrong])
        for event in ([*trace.events] if number % 2 else mutilation.several(trace.events, random.Random(number)))
    ]


def written(folder: Path, events: Iterable[Event], files: int) -> Recording:
    """A recording in so many files, each with every so-manieth event."""
    writers = [RecordingWriter(folder, {"run": "r", "profile": traces.PROFILE}, str(number)) for number in range(files)]
    for number, event in enumerate(events):
        writers[number % files].write(event)
    for writer in writers:
        writer.close()
    return Recording(folder)


def rows(outcome: DataFrame) -> list[tuple[object, ...]]:
    return sorted((tuple(map(str, row)) for row in outcome.collect()), key=str)


@pytest.mark.spark
def test_how_a_recording_is_cut_up_is_all_one(spark: SparkSession, mixed: list[Event], tmp_path: Path) -> None:
    """Files, their order, the order of rows at equal times, partitions and batches make no difference."""
    once = written(tmp_path / "once", mixed, 1)
    expected = rows(check.check(ingest.events(spark, once), {"r": traces.PROFILE}, 1))
    assert expected
    shuffled = list(mixed)
    random.Random(1).shuffle(shuffled)
    for number, (events, files, partitions, batch) in enumerate(
        (
            (shuffled, 5, 3, 10_000),
            (mixed[::-1], 2, 7, 13),
            (shuffled[::-1], 1, 2, 3),
        )
    ):
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(batch))
        try:
            recording = written(tmp_path / str(number), events, files)
            assert rows(check.check(ingest.events(spark, recording), {"r": traces.PROFILE}, partitions)) == expected
        finally:
            spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


@pytest.mark.spark
def test_the_table_says_what_is_the_matter(spark: SparkSession, few: list[Trace], tmp_path: Path) -> None:
    """Three histories began mid-way: no rule about messages is held, broken or untested by them."""
    lockstep = [trace.events for trace in few if " lockstep " in trace.events[0].history]
    late = [mutilation.late(history, random.Random(2)) for history in lockstep[:3]]
    assert all(any(event.kind == ev.JOINED for event in history) for history in late)
    recording = written(tmp_path, (event for history in late for event in history), 1)
    table = {row["rule"]: row for row in verdicts.verdicts(spark, tmp_path).collect()}
    assert table["TAG-003"]["verdict"] == "held"
    doubtful = [row for row in table.values() if row["verdict"] == "inconclusive"]
    assert doubtful
    assert all(
        "began in the middle" in row["reason"] or "clients you did not capture" in row["reason"] for row in doubtful
    )
    assert not [row for row in table.values() if row["verdict"] == "broken"]
    assert recording.torn == []
