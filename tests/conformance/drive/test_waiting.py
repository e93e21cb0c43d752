from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from codec import FrameReader, Method, values
from codec import methods as m
from conformance.catalogue import profiles
from conformance.drive import ending, waiting
from conformance.drive.around import Around
from conformance.drive.drivers.raw import Target
from conformance.drive.guard import Guard
from conformance.drive.patience import SURE
from conformance.drive.pulse import Pulse
from conformance.drive.stage import Endless, Stage
from conformance.drive.waiting import BrokenDown
from conformance.drive.watchdog import alarm
from conformance.history import events
from conformance.history.recorder import Recorder
from conformance.oracle.model import Obligation
from reference_broker import ReferenceBroker
from reference_broker.core.parts import HANDLERS

Answer = Callable[[object], list[Method]]


def stage_on(url: str, deadline: float = 5.0, guard: Guard | None = None) -> Stage:
    profile = profiles.load("documented")
    return Stage(Target.parse(url), profile, Recorder("run", "b"), "scene", deadline=deadline, guard=guard)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with ReferenceBroker() as broker:
        made = stage_on(broker.url)
        yield made
        made.cleanup()


def contrary(frame: object) -> list[Method]:
    """Asks for the flow once more whenever it has been agreed to."""
    if isinstance(frame, m.ChannelOpen):
        return [m.ChannelOpenOk(frame.channel), m.ChannelFlow(frame.channel, True)]
    return [m.ChannelFlow(frame.channel, True)] if isinstance(frame, m.ChannelFlowOk) else []


def talkative(frame: object) -> list[Method]:
    """Owes the answer to the second channel.open, and talks on the first channel all the time."""
    if isinstance(frame, m.ChannelOpen) and frame.channel == 1:
        return [m.ChannelOpenOk(1)]
    talks = isinstance(frame, m.ChannelOpen | m.ChannelCloseOk)
    return [m.ChannelClose(1, 406, "PRECONDITION_FAILED", 60, 80)] if talks else []


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The URL of a server that greets like any and then answers frame by frame."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener, answer), daemon=True).start()
        yield f"amqp://127.0.0.1:{listener.getsockname()[1]}"


def _serve(listener: socket.socket, answer: Answer) -> None:
    with contextlib.suppress(OSError):
        sock, _ = listener.accept()
        reader = FrameReader()
        sock.recv(8)
        sock.sendall(m.ConnectionStart(0, 0, 9, values.table({}), b"PLAIN", b"en_US").encode())
        while data := sock.recv(65536):
            for frame in reader.feed(data):
                for method in _greeting(frame) or answer(frame):
                    sock.sendall(method.encode())


def _greeting(frame: object) -> list[Method]:
    if isinstance(frame, m.ConnectionStartOk):
        return [m.ConnectionTune(0, 2047, 131072, 0)]
    return [m.ConnectionOpenOk(0)] if isinstance(frame, m.ConnectionOpen) else []


def test_a_broker_that_never_comes_to_an_end_is_left_by_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_EVENTS", 2000)
    with serving(contrary) as url:
        stage = stage_on(url)
        stage.channel()
        with pytest.raises(Endless, match=r"2\d\d\d events this history had not ended"):
            while True:
                stage.quiesce()
        began = time.monotonic()
        stage.cut()
        assert time.monotonic() - began < 5


class Clock:
    """Stands still, or goes a little with each look at it."""

    now, pace = 1000.0, 0.0

    def monotonic(self) -> float:
        self.now += self.pace
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time by which stages wait."""
    made = Clock()
    monkeypatch.setattr(waiting, "time", made)
    return made


@pytest.mark.parametrize(("deadline", "limit"), [(5.0, 60), (0.3, 30)])
def test_a_history_is_left_when_its_time_is_over(clock: Clock, deadline: float, limit: int) -> None:
    """A crowded machine may need some seconds for a history of short deadlines."""
    with serving(contrary) as url:
        stage = stage_on(url, deadline=deadline)
        stage.channel()
        clock.pace = 0.05
        begun = clock.now
        with pytest.raises(Endless, match=f"limits: {limit} s"):
            while True:
                stage.waiter.settles(lambda: False)
        assert limit - 1 < clock.now - begun < limit + 1
        stage.cut()


def test_who_talks_and_still_owes_is_given_up_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although it is never silent for as long as a deadline."""
    monkeypatch.setattr(waiting, "PATIENCE", 0.01)
    with serving(talkative) as url:
        stage = stage_on(url, deadline=60.0)
        first = stage.channel()
        first.send(m.ChannelOpen(2))
        began = time.monotonic()
        assert not stage.quiesce()
        assert waiting.PATIENCE * 60.0 <= time.monotonic() - began < 60.0
        assert stage.events[-1].kind == events.DEADLINE
        stage.cut()


def test_a_wait_that_is_announced_may_take_its_time(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LASTS", 0)
    brief = Stage(stage.target, stage.profile, Recorder("run", "b"), "brief", deadline=5.0)
    assert brief.waiter.settles(lambda: True, 5.0)
    assert brief.channel().state == "open"
    brief.cleanup()
    with pytest.raises(Endless):
        Stage(stage.target, stage.profile, Recorder("run", "b"), "none", deadline=5.0).channel()


def test_a_silence_that_is_owed_something_becomes_an_event(stage: Stage) -> None:
    channel = stage.channel()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(stage.judge), "owed", lambda judge: [Obligation("reply", "c1", 1, "something", 1)])
        assert not stage.quiesce(deadline=0.05)
    assert stage.events[-1].kind == events.DEADLINE
    assert stage.events[-1].args["for"] == "replies"
    assert channel.state == "open"


def test_patience_is_of_what_is_still_owed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that comes is no reason to wait at length for one that never does."""
    monkeypatch.setitem(HANDLERS, m.ChannelFlow, lambda channel, method: None)
    with ReferenceBroker() as broker:
        stage = stage_on(broker.url)
        silent, answered = stage.channel(), stage.channel()
        for _ in range(SURE):
            stage.guard.patience.in_vain(["reply: the answer to channel.flow"])
        silent.flow()
        answered.close()
        assert not stage.quiesce()
        assert answered.state == "closed"
        assert stage.events[-1].args["waited_ms"] < stage.waiter.deadline * 1000 / 2
        stage.cleanup()


def test_a_connection_that_has_become_deaf_is_not_waited_for_at_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two waits in vain, for two different things, without a word in between; a word, and it is heard again."""
    for silent in (m.ChannelFlow, m.BasicQos, m.TxSelect, m.ConfirmSelect):
        monkeypatch.setitem(HANDLERS, silent, lambda channel, method: None)
    monkeypatch.setattr(waiting, "SHORT", 0.1)
    with ReferenceBroker() as broker:
        stage = stage_on(broker.url, deadline=0.5)
        deaf, other = stage.channel(), stage.channel(connection=stage.connect("other"))
        for method in (m.ChannelFlow(1, active=True), m.BasicQos(1), m.TxSelect(1)):
            deaf.send(method)
            stage.quiesce()
        other.send(m.ConfirmSelect(other.number))
        stage.quiesce()
        waits = [event.args["waited_ms"] / 1000 for event in stage.events if event.kind == events.DEADLINE]
        assert [wait < stage.waiter.deadline for wait in waits] == [False, False, True, False]
        stage.connection.abort()


def test_a_connection_that_lives_on_becomes_an_event(stage: Stage) -> None:
    connection = stage.connection
    assert not stage.waiter.ends(connection, 0.05)
    assert (stage.events[-1].args["for"], stage.events[-1].args["connection"]) == ("end", "c1")
    connection.abort()
    assert stage.waiter.ends(connection, 5)


def test_several_connections_are_read_together(stage: Stage) -> None:
    queue = stage.queue()
    channel, other = stage.channel(), stage.channel(connection=stage.connect("c2"))
    channel.publish(queue, 1)
    stage.barrier(channel)
    other.consume(queue)
    stage.quiesce()
    assert other.unacked == [1]
    assert (channel.number, other.number) == (1, 1)
    assert stage.finish().findings == []


def test_a_hurry_slows_down_and_ends(stage: Stage, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def pump(timeout: float) -> None:
        pauses.append(timeout)
        clock.now += timeout

    monkeypatch.setattr(stage.waiter, "pump", pump)
    hurry = waiting.Hurry(stage.waiter)
    while not hurry.over:
        hurry.wait()
    assert pauses[:7] == [0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.1]
    assert set(pauses[7:]) == {waiting.Hurry.LATER}
    assert stage.deadline < sum(pauses) < stage.deadline + 2 * waiting.Hurry.LATER
    hurry.again()
    assert not hurry.over


# -- late is not never: deadlines of a fifth of a second, and a broker that stands still for many of them

DEADLINE, PAUSE = 0.2, 0.7


@contextlib.contextmanager
def guarded(**freely: float) -> Iterator[tuple[ReferenceBroker, Stage]]:
    """A stage that takes the broker's pulse before it calls silence silence."""
    with ReferenceBroker() as broker:
        made = stage_on(broker.url, DEADLINE, Guard(Pulse(Target.parse(broker.url), **freely)))
        yield broker, made
        made.cleanup()


def pause(broker: ReferenceBroker, seconds: float) -> None:
    """The whole broker stands still."""
    assert broker._loop is not None
    broker._loop.call_soon_threadsafe(time.sleep, seconds)


def deadlines(stage: Stage) -> list[str]:
    return [str(event.args["for"]) for event in stage.events if event.kind == events.DEADLINE]


def lates(stage: Stage) -> list[str]:
    return [str(event.args["what"]) for event in stage.events if event.kind == events.LATE]


def test_a_broker_that_stands_still_for_a_while_is_late_and_not_silent() -> None:
    with guarded() as (broker, stage):
        channel = stage.channel()
        pause(broker, PAUSE)
        channel.flow()
        assert stage.quiesce()
        assert (deadlines(stage), lates(stage)) == ([], ["the answer to channel.flow"])
        assert stage.finish().findings == []


def test_what_a_paused_broker_is_to_open_is_waited_for() -> None:
    with guarded() as (broker, stage):
        connection = stage.connection
        pause(broker, PAUSE)
        assert stage.channel(connection=connection).state == "open"
        assert (deadlines(stage), lates(stage)) == ([], ["the answer to channel.open"])


def test_a_message_that_is_late_in_a_drain_is_not_lost() -> None:
    """The get is answered, and answered empty: what is returned is on its way for longer than a deadline."""
    with guarded() as (_, stage):
        queue, channel = stage.queue(), stage.channel()
        channel.publish(queue)
        stage.barrier(channel)
        gets = iter(range(1 << 30))
        real = stage.get

        def slow(channel: Any, name: str, **about: Any) -> Any:
            return None if next(gets) < 3 else real(channel, name, **about)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stage, "get", slow)
            patch.setattr(Pulse, "last", property(lambda pulse: DEADLINE))
            patch.setattr(waiting.Hurry, "SOON", DEADLINE)
            patch.setattr(waiting.Hurry, "LATER", DEADLINE)
            ending.drain(stage, queue)
        assert (deadlines(stage), lates(stage)) == ([], ["a message in a drain"])
        assert stage.finish().findings == []


def test_who_answers_elsewhere_and_never_here_is_accused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HANDLERS, m.ChannelFlow, lambda channel, method: None)
    with guarded() as (_, stage):
        channel = stage.channel()
        channel.flow()
        began = time.monotonic()
        assert not stage.quiesce()
        took = time.monotonic() - began
        assert DEADLINE < took < DEADLINE * waiting.PATIENCE
        assert deadlines(stage) == ["replies"]
        assert DEADLINE <= stage.events[-1].args["waited_ms"] / 1000 <= took
        assert [finding.rule for finding in stage.judgement.findings] == ["ERR-014"]


def test_who_is_slow_everywhere_for_ever_is_accused_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 3)
    monkeypatch.setitem(HANDLERS, m.ChannelFlow, lambda channel, method: None)
    monkeypatch.setattr(Pulse, "last", property(lambda pulse: 60.0))
    with guarded() as (_, stage):
        channel = stage.channel()
        channel.flow()
        assert not stage.quiesce()
        assert stage.events[-1].args["waited_ms"] >= 3 * DEADLINE * 1000


def test_who_answers_nobody_is_down_and_not_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.drive.pulse.CONNECTS", 0.1)
    with guarded(patience=0.1) as (broker, stage):
        channel = stage.channel()
        pause(broker, 2.0)
        channel.flow()
        with pytest.raises(BrokenDown):
            stage.quiesce()
        assert stage.events[-1].kind == events.BREAKDOWN
        assert stage.judgement.findings == []


def test_time_that_this_process_slept_is_no_part_of_a_deadline(
    stage: Stage,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each look takes ten times as long as it was to take: so few looks would be no deadline."""
    looks: list[float] = []

    def pump(timeout: float = 0.0) -> list[events.Event]:
        looks.append(timeout)
        clock.now += 10 * timeout
        return []

    clock.pace = 1e-7

    assert stage.connection.alive
    monkeypatch.setattr(waiting, "PATIENCE", 1000)
    monkeypatch.setattr(stage.waiter, "pump", pump)
    lasts = stage.waiter._lasts
    assert not stage.waiter.settles(lambda: False)
    assert sum(looks) == pytest.approx(stage.deadline, rel=1e-3)
    assert max(looks) == waiting.SLICE
    assert looks[-1] == 0.0, "and a look when it is over"
    assert stage.waiter._lasts - lasts == pytest.approx(9 * stage.deadline, rel=1e-3), (
        "the history may last that much longer"
    )


@pytest.mark.parametrize(("beat", "lasts"), [(0.0, 30.0), (0.02, 30.0), (0.08, 96.0)])
def test_with_a_broker_that_is_far_away_a_history_may_last_longer(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, beat: float, lasts: float
) -> None:
    """A beat of the pulse is a round trip, of which everything else takes many."""
    pulse = Pulse(stage.target)
    monkeypatch.setattr(Pulse, "last", beat)
    waiter = replace(stage.waiter, deadline=DEADLINE, guard=Guard(pulse))
    assert waiter._lasts == pytest.approx(lasts)


@pytest.mark.parametrize("how", ["crash", "revive"])
def test_while_the_broker_restarts_the_time_of_its_check_does_not_pass(how: str) -> None:
    def slow() -> None:
        select.select([], [], [], 0.4)  # longer than the check may take

    with ReferenceBroker() as broker:
        guard, around = Guard(), Around(kill=slow, restart=slow)
        made = stage_on(broker.url, guard=guard)
        made.connect("c")
        guard.check_ends = time.monotonic() + 0.3
        with alarm(0.3):
            getattr(around, how)(made)
            assert not guard.over
        made.cleanup()
