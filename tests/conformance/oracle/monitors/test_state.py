"""A Judge that is put aside anywhere in a history and taken up again judges as if nothing had happened."""

from __future__ import annotations

import random
import subprocess
import sys
import zlib
from itertools import groupby
from pathlib import Path

import pytest

from conformance.catalogue import profiles
from conformance.history.events import Event
from conformance.history.recording import Recording
from conformance.oracle.monitors import Judge, state
from reference_broker import ReferenceBroker

DOCUMENTED = profiles.load("documented")
MUTANTS = ("settle.multiple-only-below-tag",)


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> list[list[Event]]:
    """All machines, and the scenes of four families; and some on a broker that makes a mistake."""
    folder = tmp_path_factory.mktemp("suite")
    assert played(folder, "--rules", "TAG-*,QOS-*,CNF-*,TMO-*") == 0
    with ReferenceBroker(mutants=MUTANTS) as broker:
        assert played(folder, "--broker-url", broker.url, "--rules", "ACK-00[12]") == 1
    events = Recording(folder).events()
    return [list(history) for _, history in groupby(events, key=lambda event: (event.run, event.history))]


def played(folder: Path, *options: str) -> int:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--pyargs",
            "conformance",
            "--depth",
            "smoke",
            "-q",
            "--recording",
            str(folder),
            "-p",
            "no:cacheprovider",
            *options,
        ],
        capture_output=True,
        timeout=600,
        check=False,
        cwd=Path(__file__).parents[4],
    ).returncode


def halfway(history: list[Event]) -> Judge:
    judge = Judge(DOCUMENTED)
    for event in history[: len(history) // 2]:
        judge.step(event)
    return judge


def resumed(history: list[Event], cuts: set[int]) -> Judge:
    judge = Judge(DOCUMENTED)
    for at, event in enumerate(history):
        judge.step(event)
        if at in cuts:
            judge = state.decode(state.encode(judge), DOCUMENTED)
    return judge


@pytest.mark.parametrize("times", [2, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.sampled(3)
def test_taken_up_again_it_judges_as_if_nothing_had_happened(histories: list[list[Event]], times: int) -> None:
    chance, broken = random.Random(7), set()
    for history in histories:
        whole, at = Judge(DOCUMENTED), set(chance.sample(range(len(history)), min(times, len(history))))
        for event in history:
            whole.step(event)
        again = resumed(history, at)
        assert again.judgement == whole.judgement, (history[0].history, at)
        assert again.owed() == whole.owed()
        assert again.clocks() == whole.clocks()
        assert state.encode(again) == state.encode(whole), (history[0].history, at)
        broken |= {finding.rule for finding in whole.judgement.findings}
    assert broken, "the mutant was not noticed, so findings were not compared"


def test_it_may_be_put_aside_after_every_event(histories: list[list[Event]]) -> None:
    for history in sorted(histories, key=len)[:: len(histories) // 12]:
        if len(history) < 300:
            assert resumed(history, set(range(len(history)))).judgement == resumed(history, set()).judgement


def test_a_state_is_small_and_readable_to_its_own_version_alone(histories: list[list[Event]]) -> None:
    sizes = sorted(len(state.encode(halfway(history))) for history in histories)
    assert sizes[len(sizes) // 2] < 3500
    data = state.encode(halfway(histories[0]))
    assert data.startswith(f"{state.FORMAT} {state.fingerprint()} documented ".encode())
    with pytest.raises(state.UnknownState, match="another one"):
        state.decode(data, profiles.load("rabbitmq-4.3"))
    with pytest.raises(state.UnknownState, match="empty checkpoint"):
        state.decode(data.replace(state.fingerprint().encode(), b"0123456789abcdef"), DOCUMENTED)
    with pytest.raises(state.UnknownState, match="is damaged"):
        state.decode(data[:-9], DOCUMENTED)
    head = data.partition(b"\n")[0]
    with pytest.raises(state.UnknownState, match="is damaged"):
        state.decode(head + b"\n" + zlib.compress(b"[[99,0]]"), DOCUMENTED)


def test_what_is_shared_is_shared_again_and_circles_close(histories: list[list[Event]]) -> None:
    one = next(
        delivery
        for history in histories
        for view in [state.decode(state.encode(halfway(history)), DOCUMENTED).connection("c1")]
        if view is not None
        for channel in view.channels.values()  # type: ignore[attr-defined]
        for delivery in channel.unacked.values()
    )
    assert one.copy.holder is one
    assert one.copy.queue.copies[one.message] is one.copy
    assert one.channel.deliveries[one.tag] is one.channel.unacked[one.tag]


def test_an_empty_container_with_two_holders_keeps_both() -> None:
    judge = Judge(DOCUMENTED)
    judge.judgement.reports["A"] = judge.judgement.exercised
    again = state.decode(state.encode(judge), DOCUMENTED)
    assert again.judgement.reports["A"] is again.judgement.exercised


def test_what_is_no_plain_data_is_named() -> None:
    judge = Judge(DOCUMENTED)
    judge.judgement.reports["A"] = print  # type: ignore[assignment]
    with pytest.raises(TypeError, match="plain data between two events, and holds a builtin_function"):
        state.encode(judge)
