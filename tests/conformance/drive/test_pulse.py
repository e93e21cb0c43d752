from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codec import methods as m
from codec.errors import ReplyCode
from conformance.drive.drivers.target import Target
from conformance.drive.pulse import BadRestart, Pulse
from reference_broker import ReferenceBroker
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import raised
from reference_broker.core.parts import HANDLERS
from reference_broker.server import Server
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


def test_a_broker_that_has_never_answered_one_of_them_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has, is not."""
    quiet, answer = list[bool](), HANDLERS[m.QueueDelete]
    monkeypatch.setitem(HANDLERS, m.QueueDelete, lambda channel, asked: None if quiet else answer(channel, asked))
    with ReferenceBroker() as broker:
        before, pulse = (Pulse(Target.parse(broker.url), 0.3) for _ in range(2))
        assert before.beats()
        quiet.append(True)
        assert [pulse.beats() for _ in range(3)] == [True] * 3
        assert (pulse.lacking, pulse.down) == ("queue.delete", "")
        assert not before.beats()
        assert before.down == "answers no queue.delete"
        before.drop()
        pulse.drop()


def test_a_broker_that_never_closes_channels_is_there() -> None:
    """Each beat has a connection of its own then."""
    with ReferenceBroker(personality="unanswered.channel.close") as broker:
        pulse = Pulse(Target.parse(broker.url), 0.3)
        assert [pulse.beats() for _ in range(3)] == [True] * 3
        assert (pulse.lacking, pulse.down) == ("channel.close", "")


def test_a_refusal_is_an_answer(broker: ReferenceBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = m.QueueDeclare(1, queue="nowhere", passive=True)
    monkeypatch.setattr("conformance.drive.pulse.m.QueueDeclare", lambda number, **about: refused)
    pulse = pulse_of(broker.url)
    assert pulse.beats()
    assert pulse.beats()


@pytest.mark.parametrize(("code", "down"), [(ReplyCode.INTERNAL_ERROR, True), (ReplyCode.RESOURCE_ERROR, False)])
def test_who_fails_over_what_it_did_before_is_down(
    code: ReplyCode, down: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on MetalMQ, whose part for queues may come to its end, while it goes on to let clients in. Who has failed from
    the start is not down, nor who refuses for another reason."""
    ill, declare = list[bool](), HANDLERS[m.QueueDeclare]

    def failing(channel: Channel, asked: m.QueueDeclare) -> None:
        if ill:
            raise raised(code, "a part of it is gone")
        declare(channel, asked)

    monkeypatch.setitem(HANDLERS, m.QueueDeclare, failing)
    with ReferenceBroker() as broker:
        before, pulse = (pulse_of(broker.url) for _ in range(2))
        assert before.beats()
        ill.append(True)
        assert before.beats() is not down
        assert ("fails over what it did before: connection.close 541" in before.down) is down
        assert [pulse.beats() for _ in range(2)] == [True] * 2
        before.drop()
        pulse.drop()


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


def test_one_process_restarts_it_for_all(broker: ReferenceBroker, tmp_path: Path) -> None:
    """Two have seen it break down. The second finds it restarted since then; a later breakdown is another one."""
    mark = tmp_path / "restarts"
    first, second = (pulse_of(broker.url, restart=f"printf x >> {shlex.quote(str(mark))}") for _ in range(2))
    assert first.beats()
    assert second.beats()
    first.revive()
    second.down = "accepts no connection"
    second.revive()
    assert (second.down, mark.read_text()) == ("", "x")
    assert second.beats()
    second.revive()
    assert mark.read_text() == "xx"
    first.drop()
    second.drop()


def test_who_fails_after_the_restart_is_restarted_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another process may have broken it down anew; or the command has restarted nothing."""
    mark, declare = tmp_path / "restarts", HANDLERS[m.QueueDeclare]
    well = [0]

    def failing(channel: Channel, asked: m.QueueDeclare) -> None:
        if mark.exists() and mark.read_text().count("x") < well[0]:
            raise raised(ReplyCode.INTERNAL_ERROR, "a part of it is gone")
        declare(channel, asked)

    monkeypatch.setitem(HANDLERS, m.QueueDeclare, failing)
    with ReferenceBroker() as broker:
        pulse = pulse_of(broker.url, restart=f"printf x >> {shlex.quote(str(mark))}")
        assert pulse.beats()
        mark.touch()
        well[0] = 2
        assert not pulse.beats()
        pulse.revive()
        assert (pulse.down, mark.read_text()) == ("", "xx")
        well[0] = 9
        with pytest.raises(BadRestart, match=r"fails over what it did before.*also after --restart .*, 3 times"):
            pulse.revive()
        pulse.drop()


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


Act = Callable[[], object]


@pytest.fixture
def commanded(broker: ReferenceBroker, monkeypatch: pytest.MonkeyPatch) -> Callable[[Act], Pulse]:
    """A pulse whose command does this to the broker, within this process."""

    def made(act: Act) -> Pulse:
        def run(option: str, command: str, meanwhile: Act) -> None:
            act()
            meanwhile()

        monkeypatch.setattr("conformance.drive.pulse._run", run)
        return pulse_of(broker.url, restart="again")

    return made


def emptied(broker: ReferenceBroker, kept: str = "") -> Act:
    """Restarts it in good order, but without its data; or with that of one kind."""

    def forget(server: Server) -> None:
        for name in list(server.broker.vhost.queues) if kept != "queues" else ():
            server.broker.vhost.delete_queue(server.broker.vhost.queues[name])
        for name in [one for one in server.broker.vhost.exchanges if one.startswith("amqpconf")]:
            if kept != "exchanges":
                server.broker.vhost.delete_exchange(server.broker.vhost.exchanges[name])

    def act() -> None:
        broker.restart()
        broker._inside(forget)

    return act


def left_in(broker: ReferenceBroker) -> list[str]:
    """The marks that are still there."""
    assert broker._server is not None
    vhost = broker._server.broker.vhost
    return [name for name in (*vhost.queues, *vhost.exchanges) if name.startswith("amqpconf.mark")]


def test_a_restart_in_good_order_is_one(broker: ReferenceBroker, commanded: Callable[[Act], Pulse]) -> None:
    pulse = commanded(broker.restart)
    pulse.restart_orderly()
    assert pulse.beats()
    assert left_in(broker) == []


def test_a_restart_that_is_a_kill_is_none(broker: ReferenceBroker, commanded: Callable[[Act], Pulse]) -> None:
    with pytest.raises(BadRestart, match=r"'again' .* ended without connection.close, as a kill does"):
        commanded(broker.crash).restart_orderly()
    assert left_in(broker) == []


def test_a_restart_without_the_data_is_none(broker: ReferenceBroker, commanded: Callable[[Act], Pulse]) -> None:
    with pytest.raises(BadRestart, match="nothing durable is there: does the command keep the broker's data"):
        commanded(emptied(broker)).restart_orderly()


@pytest.mark.parametrize("kept", ["queues", "exchanges"])
def test_a_broker_that_loses_some_is_for_the_rules(
    broker: ReferenceBroker, commanded: Callable[[Act], Pulse], kept: str
) -> None:
    commanded(emptied(broker, kept)).restart_orderly()
    assert left_in(broker) == []


def test_a_restart_that_restarts_nothing(commanded: Callable[[Act], Pulse], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.drive.pulse.ENDS", 0.3)
    with pytest.raises(BadRestart, match="The command restarted nothing, or another broker"):
        commanded(lambda: None).restart_orderly()


def test_a_broker_that_does_not_come_back(
    broker: ReferenceBroker, commanded: Callable[[Act], Pulse], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.drive.pulse.RESTARTS", 0.3)
    with pytest.raises(BadRestart, match=r"does not answer within 0\.3 s after --restart 'again'"):
        commanded(broker.stop).restart_orderly()


def test_beats_that_take_longer_and_longer_are_slow() -> None:
    pulse = Pulse(Target("127.0.0.1"))
    pulse._beats += [0.01, 0.02, 0.01, 1.5, 1.6, 0.5]
    assert not pulse.slow
    pulse._beats += [1.5, 1.6, 1.7]
    assert pulse.slow
    steady = Pulse(Target("127.0.0.1"))
    steady._beats += [1.5] * 9
    assert not steady.slow, "it always was like this"
