"""The benchmarks of the broker measure what they say, at a small size."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from benchmarks import broker_growth, broker_load, broker_size
from benchmarks.broker_wire import Load, Round, acks, listener, name_of
from codec import methods as m
from reference_broker import ReferenceBroker


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "bench.json"


def rows(path: Path) -> dict[str, dict]:
    return {row["name"]: row for row in json.loads(path.read_text())}


def test_load_goes_all_the_way_through() -> None:
    with ReferenceBroker() as broker:
        load = Load(broker.url, persistent=False)
        count = load.run(0.3)
        load.close()
        assert 0 < count == load.received <= load.sent
        assert 0 < load.confirmed <= load.sent


def test_acknowledgements_are_made_in_advance_for_each_tag() -> None:
    one = len(m.BasicAck(1, 1).encode())
    assert acks()[41 * one : 42 * one] == m.BasicAck(1, 42).encode()


def test_rates_and_cpu_beside_a_peer(results: Path) -> None:
    """The peer is another reference broker: it is a process, has a name, and the ratios are about one."""
    with broker_load.reference(None) as (url, process):
        assert listener(int(url.rsplit(":", 1)[1].split("/")[0])) == process
        assert name_of(url).startswith("amqp-conformance reference")
        broker_load.main([url, "--rounds", "1", "--seconds", "0.4"], results)
    found = rows(results)
    confined = {f"broker.rate.{one.mode}{one.suffix}" for one in broker_load.settings() if one.cores}
    assert set(found) == {*broker_load.GOALS, *confined}
    assert all(row["ours"] > 0 and row["theirs"] > 0 and row["ratio"] > 0 for row in found.values())
    assert found["broker.cpu"]["better"] == "lower"


def test_who_was_busy_is_told_beside_the_load_generator(capsys: pytest.CaptureFixture[str]) -> None:
    us, them = Round(rate=100_000, cost=9.0, generator=0.2), Round(rate=50_000, cost=50.0, generator=0.1)
    broker_load.show_cores({broker_load.Setting("transient", 2): [(us, them)]}, "RabbitMQ")
    shown = capsys.readouterr().out
    assert "transient.2-cores" in shown
    assert "ours 0.90, the load generator 0.20;  RabbitMQ 2.50, the load generator 0.10" in shown


def test_sizes_and_times(results: Path) -> None:
    broker_size.main(["--times", "3", "--messages", "20000", "--rounds", "1"], results)
    found = rows(results)
    assert found["broker.start_ms"]["ratio"] == found["broker.start_ms"]["ours"] > 0
    assert 100 < found["broker.bytes_per_message"]["ours"] < 600
    assert found["broker.tap"]["ours"] > 0.5


def test_growth_is_the_cost_at_the_large_size_over_that_at_the_small(monkeypatch, results: Path) -> None:
    small = [(name, (20, 200), prepare, act) for name, _, prepare, act in broker_growth.ROWS[:3]]
    monkeypatch.setattr(broker_growth, "ROWS", small)
    monkeypatch.setattr(broker_growth, "MESSAGES", 20)
    broker_growth.main(["--rounds", "1"], results)
    found = rows(results)
    assert list(found) == list(broker_growth.GOALS)
    assert all(row["ratio"] == row["ours"] / row["theirs"] for row in found.values())


def test_nobody_listens() -> None:
    with socket.socket() as unused, pytest.raises(LookupError, match="no process"):
        unused.bind(("127.0.0.1", 0))
        listener(unused.getsockname()[1])
