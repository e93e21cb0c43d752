"""A connection ends without a word where the broker should say something: who did that is seen when it comes again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from reference_broker import ReferenceBroker
from tests.support.ports import Cue, Door

ACK = b"\x00\x3c\x00\x50"


def on_acks(times: int) -> Cue:
    """The first so many writes with a basic.ack end all connections."""
    left = itertools.chain(range(times))
    return lambda data, answers: not answers and ACK in data and next(left, None) is not None


@pytest.fixture
def examine(tmp_path: Path) -> Callable[[Cue], dict[str, Any]]:
    def run(cue: Cue) -> dict[str, Any]:
        with ReferenceBroker() as broker:
            door = Door(broker.port, cue=cue)
            url = f"amqp://guest:guest@127.0.0.1:{door.port}/%2F"
            main(["run", url, "--rules", "MODE-006", "--depth", "smoke", "--report", str(tmp_path), "-n", "1"])
            door.close()
        results: dict[str, Any] = json.loads((tmp_path / "results.json").read_text())
        return results

    return run


def verdict(results: dict[str, Any]) -> str:
    (rule,) = (one for one in results["rules"] if one["id"] == "MODE-006")
    return str(rule["verdict"])


def test_who_ends_the_connection_once_is_not_the_broker(examine: Callable[[Cue], dict[str, Any]]) -> None:
    results = examine(on_acks(1))
    assert verdict(results) == "inconclusive"
    assert [one["kind"] for one in results["troubles"]] == ["lost"]
    assert not results["gate"]["open"], "the scene was lost, and tells nothing"


def test_who_ends_it_each_time_is_the_broker(examine: Callable[[Cue], dict[str, Any]]) -> None:
    results = examine(on_acks(1000))
    assert verdict(results) == "broken"
    assert results["troubles"] == []
