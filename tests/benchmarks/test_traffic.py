"""Generated traffic is lawful, the same every time, and broken exactly where it is said to be."""

from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks import traffic
from benchmarks.traffic import History, Planted
from conformance.catalogue import profiles
from conformance.history.events import Event
from conformance.oracle.verdicts import Judgement
from reports.pipeline import check
from reports.pipeline.ingest import to_events


def events(history: History, planted: list[Planted] | None = None) -> list[Event]:
    return [event for batch in traffic.batches(history, planted) for event in to_events(batch)]


def judged(found: list[Event]) -> Judgement:
    return check.fold_one(found, profiles.load(traffic.PROFILE))


@pytest.mark.parametrize("kind", traffic.KINDS)
def test_it_is_lawful_and_busy(kind: str) -> None:
    judgement = judged(events(History("h", kind, 6000)))
    assert not judgement.findings
    assert sum(times > 0 for times in judgement.exercised.values()) > 30


@pytest.mark.parametrize("kind", traffic.KINDS)
def test_what_is_planted_is_found_and_nothing_else(kind: str) -> None:
    planted: list[Planted] = []
    judgement = judged(events(History("h", kind, 12_000, plants=9), planted))
    assert sorted(Planted(one.rule, one.history, one.at) for one in judgement.findings) == sorted(planted)
    assert {one.rule for one in planted} == {traffic.CONFIRM, traffic.QOS_OK, traffic.FLAG}


def test_numbers_go_on_over_rounds() -> None:
    found = events(History("h", "shared", 8000))
    assert all(one.seq < other.seq for one, other in pairwise(found))
    tags = [one.delivery_tag for one in found if one.method == "basic.deliver" and one.channel == 4]
    assert tags == list(range(1, len(tags) + 1))
    messages = [one.message_id for one in found if one.method == "basic.publish"]
    assert len(set(messages)) == len(messages)


def test_it_is_the_same_every_time() -> None:
    one, other = (list(islice(events(History("h", "quorum", 3000)), 2500)) for _ in range(2))
    assert one == other
    assert one != list(islice(events(History("g", "quorum", 3000)), 2500))


def test_a_skewed_plan_gives_half_of_all_to_one_connection(tmp_path: Path) -> None:
    plan = traffic.plan(40_000, histories=4, skewed=True)
    sizes = [traffic.write(tmp_path / f"{one.name}.parquet", [one])[0] for one in plan]
    assert sum(sizes) == pytest.approx(40_000, rel=0.1)
    assert sizes[0] == pytest.approx(20_000, rel=0.1)
    first = next(check.read(str(tmp_path / "big.parquet"), traffic.RUN, rows=1_000_000))
    assert set(first.column("connection").to_pylist()) == {"app"}


def test_a_shard_of_many_row_groups_is_read_in_the_memory_of_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traffic, "GROUP", 1 << 14)

    def most(events: int) -> int:
        path = tmp_path / f"{events}.parquet"
        rows, _ = traffic.write(path, [History("h", "shared", events)])
        before = pa.total_allocated_bytes()
        taken = [(batch.num_rows, pa.total_allocated_bytes()) for batch in check.read(str(path), traffic.RUN)]
        assert sum(size for size, _ in taken) == rows
        return max(held for _, held in taken) - before

    assert most(200_000) < 1.3 * most(14_000)
