from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codec import methods as m
from conformance.drive.drivers.target import Target
from conformance.drive.pulse import BadRestart, Pulse
from reference_broker import ReferenceBroker
from reference_broker.parts import HANDLERS
from tests.support.ports import Door


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker() as started:
        yield started


def pulse_of(url: str, restart: str | None = None) -> Pulse:
    return Pulse(Target.parse(url), patience=0.3, restart=restart)


def test_a_broker_that_answers_has_a_pulse(broker: ReferenceBroker) -> None:
    pulse = pulse_of(broker.url)
    assert [pulse.beats() for _ in range(3)] == [True] * 3
    assert 0 < pulse.last < 0.3


def test_a_broker_that_answers_no_declare_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HANDLERS, m.QueueDeclare, lambda channel, method: None)
    with ReferenceBroker() as broker:
        pulse = pulse_of(broker.url)
        assert not pulse.beats()
        assert pulse.down == "answers no queue.declare"


def test_a_refusal_is_an_answer(broker: ReferenceBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = m.QueueDeclare(1, queue="nowhere", passive=True)
    monkeypatch.setattr("conformance.drive.pulse.m.QueueDeclare", lambda number, **about: refused)
    pulse = pulse_of(broker.url)
    assert pulse.beats()
    assert pulse.beats()


def test_a_broker_that_has_ended_accepts_no_connection(broker: ReferenceBroker) -> None:
    door = Door(broker.port)
    pulse = pulse_of(f"amqp://127.0.0.1:{door.port}")
    assert pulse.beats()
    door.close()
    assert not pulse.beats()
    assert pulse.down == "accepts no connection"


def test_a_connection_that_is_lost_is_no_breakdown(broker: ReferenceBroker) -> None:
    pulse = pulse_of(broker.url)
    assert pulse.beats()
    assert pulse._line is not None
    pulse._line.abort()
    assert pulse.beats()


def test_the_command_brings_it_back(broker: ReferenceBroker, tmp_path: Path) -> None:
    door = Door(broker.port)
    door.close()
    mark = tmp_path / "restarted"
    pulse = pulse_of(f"amqp://127.0.0.1:{door.port}", restart=f"touch {shlex.quote(str(mark))}")
    assert not pulse.beats()
    door.reopen()
    pulse.revive()
    assert mark.exists()
    assert pulse.down == ""
    assert pulse.beats()
    door.close()


def test_a_command_that_fails_says_so(broker: ReferenceBroker) -> None:
    pulse = pulse_of(broker.url, restart=f"{sys.executable} -c 'print(\"no such node\"); raise SystemExit(7)'")
    with pytest.raises(BadRestart, match="exit code 7: no such node"):
        pulse.revive()


def test_a_daemon_that_the_command_leaves_behind_keeps_nobody_waiting(
    broker: ReferenceBroker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conformance.drive.pulse.RESTARTS", 5.0)
    pulse = pulse_of(broker.url, restart="sleep 30 &")
    pulse.revive()


def test_beats_that_take_longer_and_longer_are_slow() -> None:
    pulse = Pulse(Target("127.0.0.1"))
    pulse._beats += [0.01, 0.02, 0.01, 1.5, 1.6, 0.5]
    assert not pulse.slow
    pulse._beats += [1.5, 1.6, 1.7]
    assert pulse.slow
    steady = Pulse(Target("127.0.0.1"))
    steady._beats += [1.5] * 9
    assert not steady.slow, "it always was like this"
