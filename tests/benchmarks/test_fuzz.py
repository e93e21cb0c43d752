"""The fuzzer in small: the broker stands, and one that would not is seen."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.fuzz import __main__ as fuzz
from benchmarks.fuzz import sockets as fuzz_sockets
from benchmarks.fuzz.core import SWEEP, Tally, Victim, work
from benchmarks.fuzz.inputs import HANDSHAKE, PHASES, Breaker, Input, corpus
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.outbox import Outbox


@pytest.fixture(scope="module")
def frames() -> list[bytes]:
    return corpus(1, 150)


@pytest.fixture
def victim() -> Victim:
    return Victim()


def test_the_core_stands(frames: list[bytes], victim: Victim) -> None:
    breaker = Breaker(frames, random.Random(1))
    for _ in range(2 * SWEEP):
        victim.attack(breaker.input())
    victim.sweep()
    tally = victim.tally
    assert tally.examples == []
    assert (tally.crashes, tally.hangs, tally.tried) == (0, 0, 2 * SWEEP)
    assert tally.refused > 0.9 * tally.tried
    assert {outcome.split(":")[0] for outcome in tally.outcomes} == set(PHASES)


def test_the_same_seed_breaks_alike(frames: list[bytes]) -> None:
    one, two = (Breaker(frames, random.Random(7)) for _ in range(2))
    assert [one.input() for _ in range(50)] == [two.input() for _ in range(50)]


def test_a_broker_that_fails_is_seen(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Input("header", b"", (b"AMQP\0\0\x09\x01" + HANDSHAKE[1],))
    monkeypatch.setattr(Connection, "log_in", lambda *_: 1 / 0)
    victim.attack(given)
    assert victim.tally.crashes == 1
    assert "ZeroDivisionError" in victim.tally.examples[0]


def test_half_a_frame_is_seen(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outbox, "pieces", lambda self, item: (item.encode()[:-1],))
    victim.attack(Input("header", b"", (HANDSHAKE[0],)))
    assert "half a frame" in victim.tally.examples[0]


def test_what_is_left_behind_is_seen(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "lost", lambda self: None)
    victim.attack(Input("header", b"", (HANDSHAKE[0],)))
    victim.sweep()
    assert any("connections are left" in example for example in victim.tally.examples)


def test_tallies_add_up() -> None:
    total = Tally(outcomes=Counter({"open: waits": 1}))
    total.add(work(3, 100, 600.0, frames=30))
    assert total.tried == SWEEP
    assert total.outcomes.total() == SWEEP + 1
    assert "open: waits" in fuzz.figure(total.outcomes)


def test_a_siege(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CROWD": 2, "SETTLING": 1, "ASSAULTS": 2}.items():
        monkeypatch.setattr(fuzz_sockets, name, value)
    report = asyncio.run(fuzz_sockets.siege(tmp_path, 40, 2.0))
    assert report.notes == []
    assert (report.inputs, report.crashes, report.hangs) == (40, 0, 0)
    assert report.rounds
    assert report.peak_mb < 400


def test_the_result_is_left_where_people_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def besieged(*_: object) -> fuzz_sockets.Report:
        return fuzz_sockets.Report(inputs=5, rounds=[0.001])

    monkeypatch.setattr(fuzz, "siege", besieged)
    monkeypatch.setattr(fuzz, "core", lambda *_: Tally(tried=12, refused=10, crashes=1))
    out = tmp_path / "build" / "fuzz.json"
    assert fuzz.main(["--out", str(out)]) == 1
    found = json.loads(out.read_text())
    assert {name: found[name] for name in ("inputs", "crashes", "hangs", "leaks_mb")} == {
        "inputs": 15,
        "crashes": 1,
        "hangs": 0,
        "leaks_mb": 0.0,
    }
