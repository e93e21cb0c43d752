"""What is remembered does not grow with the history, and what is forgotten is not claimed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.catalogue import profiles
from conformance.history.events import END, HEARTBEAT, METHOD, OPEN, TO_BROKER, TO_CLIENT, Event
from conformance.oracle.model import memory
from conformance.oracle.monitors import Judge
from tests.support.playbook import Playbook

REMEMBERED = 64


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "REMEMBERED", REMEMBERED)
    monkeypatch.setattr(memory, "CONNECTIONS", 8)


class Script:
    """Rows of a history, numbered."""

    def __init__(self) -> None:
        self.seq = 0

    def event(self, direction: str, method: str, connection: str = "c", channel: int = 1, **columns: object) -> Event:
        self.seq += 1
        fields: dict[str, object] = dict.fromkeys(Event._fields) | {
            "run": "r",
            "broker": "b",
            "history": "h",
            "connection": connection,
            "channel": channel,
            "seq": self.seq,
            "time_ns": self.seq,
            "direction": direction,
            "kind": METHOD,
            "class_id": 60 if channel else 10,
            "method_id": 0,
            "method": method,
            "flags": "",
            "arguments": "",
            "raw": b"",
        }
        return Event(**(fields | columns))  # type: ignore[arg-type]

    def opened(self, connection: str = "c") -> Iterator[Event]:
        yield self.event("-", "", connection, 0, kind=OPEN)
        yield self.event(TO_BROKER, "channel.open", connection)
        yield self.event(TO_CLIENT, "channel.open-ok", connection)

    def consuming(self) -> Iterator[Event]:
        yield from self.opened()
        yield self.event(TO_BROKER, "queue.declare", queue="q")
        yield self.event(TO_CLIENT, "queue.declare-ok", queue="q")
        yield self.event(TO_BROKER, "basic.consume", queue="q", consumer_tag="t")
        yield self.event(TO_CLIENT, "basic.consume-ok", consumer_tag="t")

    def message(self, number: int, *, tag: int | None = None) -> Iterator[Event]:
        """Published, delivered, acknowledged."""
        yield self.event(TO_BROKER, "basic.publish", exchange="", routing_key="q", message_id=f"m{number}")
        yield self.delivery(number, tag or number)
        yield self.event(TO_BROKER, "basic.ack", delivery_tag=tag or number, multiple=False)

    def delivery(self, number: int, tag: int) -> Event:
        return self.event(
            TO_CLIENT,
            "basic.deliver",
            consumer_tag="t",
            delivery_tag=tag,
            message_id=f"m{number}",
            routing_key="q",
            exchange="",
        )


def judged(events: Iterator[Event], judge: Judge | None = None) -> Judge:
    judge = judge or Judge(profiles.load("documented"))
    for event in events:
        judge.step(event)
    return judge


def sizes(judge: Judge) -> list[int]:
    channel = judge._model.connections["c"].channels[1]
    queue = judge._model.queues["q"]
    return [
        len(channel.deliveries),
        len(channel.unproven),
        len(channel.unsynced["q"]),
        len(queue.copies),
        len(queue.gone),
    ]


def test_a_channel_that_only_settles_is_bounded() -> None:
    script = Script()
    judge = judged(script.consuming())
    for number in range(1, 10 * REMEMBERED):
        judged(script.message(number), judge)
    assert max(sizes(judge)) <= 2 * REMEMBERED + 2
    assert not judge.judgement.findings


def test_what_was_just_settled_is_not_forgotten() -> None:
    script = Script()
    judge = judged(script.consuming())
    for number in range(1, 5 * REMEMBERED):
        judged(script.message(number), judge)
    judged(iter([script.delivery(5 * REMEMBERED - 10, 5 * REMEMBERED)]), judge)
    assert [found.rule for found in judge.judgement.findings] == ["MODE-004"]


def test_nothing_is_claimed_of_what_is_forgotten() -> None:
    script = Script()
    judge = judged(script.consuming())
    for number in range(1, 5 * REMEMBERED):
        judged(script.message(number), judge)
    judged(iter([script.delivery(3, 5 * REMEMBERED)]), judge)
    judged(iter([script.event(TO_BROKER, "basic.ack", delivery_tag=3, multiple=False)]), judge)
    judged(iter([script.event(TO_BROKER, "basic.qos"), script.event(TO_CLIENT, "basic.qos-ok")]), judge)
    assert not judge.judgement.findings


def test_connections_that_are_over_are_forgotten() -> None:
    script = Script()
    judge = Judge(profiles.load("documented"))
    for number in range(100):
        name = f"c{number}"
        judged(script.opened(name), judge)
        judged(
            iter(
                [
                    script.event(TO_BROKER, "connection.close", name, 0),
                    script.event(TO_CLIENT, "connection.close-ok", name, 0),
                    script.event("-", "", name, 0, kind="end", arguments='{"cause": "closed"}'),
                ]
            ),
            judge,
        )
    assert len(judge._model.connections) <= 8
    assert not judge.judgement.findings


def lost_and_used_again(script: Script, judge: Judge, *, proven: bool) -> Judge:
    """The acks of the first connection are answered or not, it is lost, and an id of long ago is used once more. A
    second connection gets two messages of that id, and settles the first."""
    for number in range(1, 5 * REMEMBERED):
        judged(script.message(number), judge)
    if proven:
        judged(iter([script.event(TO_BROKER, "basic.qos"), script.event(TO_CLIENT, "basic.qos-ok")]), judge)
    judged(iter([script.event("-", "", "c", 0, kind="end", arguments='{"cause": "reset"}')]), judge)
    judged(script.opened("d"), judge)
    judged(iter([script.event(TO_BROKER, "basic.publish", "d", exchange="", routing_key="q", message_id="m3")]), judge)
    for tag in (1, 2):
        judged(
            iter(
                [
                    script.event(TO_BROKER, "basic.get", "d", queue="q"),
                    script.event(
                        TO_CLIENT,
                        "basic.get-ok",
                        "d",
                        delivery_tag=tag,
                        message_id="m3",
                        routing_key="q",
                        exchange="",
                        flags="redelivered" if tag == 1 else "",
                    ),
                    script.event(TO_BROKER, "basic.ack", "d", delivery_tag=tag, multiple=False),
                    script.event(TO_BROKER, "basic.qos", "d"),
                    script.event(TO_CLIENT, "basic.qos-ok", "d"),
                ]
            ),
            judge,
        )
    return judge


def test_what_is_forgotten_may_come_back_with_its_id_used_again() -> None:
    """Acks that nothing proved are undone by the loss: the first of the two is the message of long ago."""
    script = Script()
    assert not lost_and_used_again(script, judged(script.consuming()), proven=False).judgement.findings


def test_what_is_forgotten_and_proven_to_be_settled_does_not_come_back() -> None:
    script = Script()
    found = lost_and_used_again(script, judged(script.consuming()), proven=True).judgement.findings
    assert "MODE-004" in {finding.rule for finding in found}


@pytest.mark.parametrize(("end", "broken"), [("1 < closed 404 60 40 NOT_FOUND", []), ("@barrier 1", ["MODE-005"])])
def test_dead_letters_of_what_is_forgotten_are_owed_if_it_was_settled(end: str, broken: list[str]) -> None:
    """MODE-005: a publish that may cost the channel comes before more discards than are remembered."""
    many = range(1, 2 * REMEMBERED)
    names, discards = " ".join(f"m{one}" for one in many), "".join(f"1 > nack {one} \n" for one in many)
    history = f"""
        @queue d
        @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=d
        @stock q {names}
        @hold 1 q {names}
        1 > publish key m999 exchange=x
    """
    assert Playbook().play(f"{history}\n{discards}\n{end}\n- deadline drain d").broken == broken


def test_pauses_of_connections_that_have_ended_are_forgotten() -> None:
    script, judge = Script(), Judge(profiles.load("documented"))
    for number in range(40):
        name = f"c{number}"
        for event in script.opened(name):
            judge.step(event)
        judge.step(script.event(TO_BROKER, "connection.tune-ok", name, 0, arguments='{"heartbeat": 1}'))
        for second in (1, 3):
            said = script.event(TO_BROKER, "", name, 0, kind=HEARTBEAT, time_ns=(10 * number + second) * 1_000_000_000)
            judge.step(said)
        assert name in judge._model.pauses.of_clients
        judge.step(script.event("-", "", name, 0, kind=END, arguments='{"cause": "fin"}'))
    assert not judge._model.pauses.of_clients
