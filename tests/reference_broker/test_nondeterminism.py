"""Each variation shows on the wire, says who grants it, and costs a broker without variations nothing.

That each is lawful is for the monitors to say: see tests/conformance/campaigns/test_legal.py.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

import codec
from codec import methods as m
from codec import values
from conformance.drive.drivers.raw import Target, open_connection
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker, nondeterminism
from reference_broker.broker import Broker
from reference_broker.configuration import Configuration, charter
from reference_broker.nondeterminism import VARIATIONS, UnknownVariation
from reference_broker.parts import Parts

FLOW = m.ChannelFlow(1, True)
SEEDS = range(12)


@pytest.fixture
def free(client_of) -> Callable:
    """A client of a broker with these variations, that reads until nothing is put off any more."""
    honest = type(client_of())

    class Patient(honest):
        pieces: list[bytes]

        def tick(self) -> list[codec.Frame]:
            """One look at every connection that has something to say."""
            frames = []
            for connection in self.core.take_dirty():
                data = connection.take()
                if connection is self.connection and data:
                    self.pieces.append(data)
                    frames += self.reader.feed(data)
            return frames

        def read(self) -> list[codec.Frame]:
            frames, self.pieces = [], []
            while self.core.dirty:
                frames += self.tick()
            return frames

    def make(seed: int, *names: str, log_in: bool = True):
        chance = random.Random(seed)
        parts = Configuration().parts()
        nondeterminism.of(names, chance).apply(parts, chance)
        return Patient(Broker(parts=parts), log_in=log_in)

    return make


def confirms(client, *sends):
    client.open()
    client.queue()
    client.send(m.ConfirmSelect(1))
    seen = []
    for bodies in sends:
        client.feed(b"".join(codec.content(m.BasicPublish(1, 0, "", "q"), body) for body in bodies))
        seen += client.tick()
    return [(frame.delivery_tag, frame.multiple) for frame in seen + client.read()]


def consumers_of_one_queue(client):
    client.open(1, 2)
    client.queue()
    client.consume("a")
    client.consume("b", channel=2)
    return [frame.consumer_tag for frame in client.publish(*"123456") if isinstance(frame, m.BasicDeliver)]


def queues_of_one_channel(client):
    client.open()
    client.send(m.BasicQos(1, 0, 1, True))
    for name in "abc":
        client.queue(name)
        client.publish("1", "2", queue=name)
        client.consume(name, name)
    seen = [client.send(m.BasicAck(1, tag)) for tag in range(1, 4)]
    return [frame.consumer_tag for frames in seen for frame in frames if isinstance(frame, m.BasicDeliver)]


def kinds(frames):
    return [type(frame).__name__ for frame in frames if isinstance(frame, codec.Method)]


def publish_beside_a_consumer(client):
    client.open()
    client.queue()
    client.consume()
    return kinds(client.send(codec.content(m.BasicPublish(1, 0, "", "q"), b"1"), FLOW))


def wider_limit(client):
    client.open()
    client.queue()
    client.send(m.BasicQos(1, 0, 1, True))
    client.publish("1", "2")
    client.consume()
    return kinds(client.send(m.BasicQos(1, 0, 2, True), FLOW))


def deleted_under_consumers(client):
    client.open()
    client.queue()
    client.consume("a")
    client.consume("b")
    frames = client.send(m.QueueDelete(1, 0, "q"))
    return [getattr(frame, "consumer_tag", "ok") for frame in frames]


def get_after_publish(client):
    client.open()
    client.quorum("s")
    return kinds(client.send(codec.content(m.BasicPublish(1, 0, "", "s"), b"1"), m.BasicGet(1, 0, "s")))


def slot_after_ack(client):
    client.open()
    client.queue()
    client.send(m.BasicQos(1, 0, 1))
    client.publish("1", "2")
    client.consume()
    return kinds(client.send(m.BasicAck(1, 1), FLOW))


def get_after_close(client):
    client.open(1, 2)
    client.queue()
    client.publish("1")
    client.get()
    return kinds(client.send(m.ChannelClose(1, 200), m.BasicGet(2, 0, "q")))


def body_frames(client):
    client.open()
    client.queue()
    client.publish("x" * 100)
    return [len(frame.payload) for frame in client.send(m.BasicGet(1, 0, "q")) if isinstance(frame, codec.Body)]


def beating(client):
    client.send(
        codec.ProtocolHeader(),
        m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0, 2047, 131072, 60),
        m.ConnectionOpen(0, "/"),
    )
    return [type(frame).__name__ for frame in client.send(m.ChannelOpen(1))]


def told_of_shortages(client):
    asked = {"capabilities": {"connection.blocked": True}}
    client.send(
        codec.ProtocolHeader(),
        m.ConnectionStartOk(0, values.table(asked), "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0, 2047, 131072, 0),
        m.ConnectionOpen(0, "/"),
    )
    return kinds(client.send(m.ChannelOpen(1)) + client.send(FLOW))


def publishes_with_answers(client):
    client.open()
    client.queue()
    client.send(m.ConfirmSelect(1))
    return kinds(client.send(*[codec.content(m.BasicPublish(1, 0, "", "q"), b"1") for _ in range(3)]))


def return_among_confirms(client):
    client.open()
    client.queue()
    client.send(m.ConfirmSelect(1))
    lost = codec.content(m.BasicPublish(1, 0, "", "nowhere", True), b"1")
    return kinds(client.send(lost, codec.content(m.BasicPublish(1, 0, "", "q"), b"2")))


def refused(client):
    """How publishes are answered, and which of them are there."""
    client.open()
    client.queue()
    client.send(m.ConfirmSelect(1))
    answers = [kinds(client.publish(body)) for body in "123456"]
    return answers, client.depth()


def a_window_of_three(client):
    """How many deliveries come in each tick."""
    client.open()
    client.queue()
    client.publish(*"12345")
    client.send(m.BasicQos(1, 0, 3))
    client.feed(m.BasicConsume(1, 0, "q", "c").encode())
    return [kinds(client.tick()).count("BasicDeliver"), kinds(client.read()).count("BasicDeliver")]


def returned_to_a_shared_queue(client):
    """The order in which two come back that a third consumer had, while two others share the queue."""
    client.open(1, 2, 3)
    client.queue()
    client.publish(*"123456")
    client.gets(4)
    for channel in (2, 3):
        client.send(m.BasicQos(channel, 0, 1), m.BasicConsume(channel, 0, "q", "c"))
    client.send(m.BasicNack(1, 3, False, True), m.BasicNack(1, 2, False, True))
    return client.gets(2)


def two_channels(client):
    """The order of the answers, when one channel is asked first, many times."""
    client.open(1, 2)
    return [[frame.channel for frame in client.send(m.ChannelFlow(1, True), m.ChannelFlow(2, True))] for _ in range(20)]


def silences(client):
    """How often an answer did not come, before a second has gone by and after it."""
    client.open()
    client.core.clock.flows = True
    missing = [not client.send(FLOW) for _ in range(200)].count(True)
    client.core.move_to(client.core.clock.now + 2)
    return missing > 0, len(client.read()) == missing


def answers_on_three_channels(client):
    client.open(1, 2, 3)
    return [frame.channel for frame in client.send(*[m.ChannelFlow(channel, True) for channel in (1, 2, 3)])]


def found_after_the_last_cancel(client):
    client.open()
    client.send(m.QueueDeclare(1, queue="q", auto_delete=True))
    client.consume("a")
    return kinds(client.send(m.BasicCancel(1, "a"), m.QueueDeclare(1, queue="q", passive=True)))


def declared_as_another_type(client):
    client.open()
    client.send(m.ExchangeDeclare(1, exchange="x", type="direct"))
    return kinds(client.send(m.ExchangeDeclare(1, exchange="x", type="fanout")))


def sizes(client):
    client.open(1, 2, 3)
    client.send(*[m.ChannelFlow(channel, True) for channel in (1, 2, 3)])
    return [len(piece) for piece in client.pieces]


SCRIPTS: dict[str, Callable] = {
    "blocked.announced": told_of_shortages,
    "flow.restarts": publishes_with_answers,
    "returns.late": return_among_confirms,
    "confirms.each": lambda client: confirms(client, [b"1", b"2", b"3"]),
    "confirms.multiple-of-one": lambda client: confirms(client, [b"1"]),
    "confirms.held-back": lambda client: confirms(client, [b"1"], [b"2"], [b"3"]),
    "confirms.out-of-order": lambda client: confirms(client, [b"1", b"2", b"3"]),
    "dispatch.any-consumer": consumers_of_one_queue,
    "dispatch.any-queue": queues_of_one_channel,
    "dispatch.late": publish_beside_a_consumer,
    "prefetch.late": wider_limit,
    "cancel.any-order": deleted_under_consumers,
    "confirms.refuse": refused,
    "dispatch.one-by-one": a_window_of_three,
    "requeue.closer-to-head": returned_to_a_shared_queue,
    "names.go-late": found_after_the_last_cancel,
    "refusals.as-the-text-has-them": declared_as_another_type,
    "channels.late": two_channels,
    "connections.pause": silences,
    "quorum.publish-late": get_after_publish,
    "settle.late": slot_after_ack,
    "close.returns-late": get_after_close,
    "bodies.split": body_frames,
    "heartbeats.interspersed": beating,
    "channels.interleave": answers_on_three_channels,
    "flush.piecemeal": sizes,
    "tcp.segments": sizes,
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_each_variation_shows_on_the_wire(free, name: str) -> None:
    """With some seed."""
    script, log_in = SCRIPTS[name], name not in ("heartbeats.interspersed", "blocked.announced")
    honest = script(free(0, log_in=log_in))
    assert any(script(free(seed, name, log_in=log_in)) != honest for seed in SEEDS)


@pytest.mark.parametrize("name", ["confirms.each", "confirms.held-back", "confirms.out-of-order"])
def test_every_publish_is_confirmed_once_in_whatever_shape(free, name: str) -> None:
    for seed in SEEDS:
        left = {1, 2, 3}
        for tag, multiple in SCRIPTS[name](free(seed, name)):
            covered = {number for number in left if number == tag or (multiple and number < tag)}
            assert tag in covered
            left -= covered
        assert left == set()


def test_a_pause_ends_and_is_made_only_where_time_goes_by(free) -> None:
    assert {silences(free(seed, "connections.pause")) for seed in SEEDS} == {(False, True), (True, True)}
    client = free(3, "connections.pause").open()
    assert all(kinds(client.send(FLOW)) == ["ChannelFlowOk"] for _ in range(1000))


def test_what_is_refused_is_there_or_not(free) -> None:
    seen = [refused(free(seed, "confirms.refuse")) for seed in SEEDS]
    nacks = [sum("BasicNack" in answer for answer in answers) for answers, _ in seen]
    assert sum(nacks) > 0
    assert all(6 - refusals <= depth <= 6 for refusals, (_, depth) in zip(nacks, seen, strict=True))
    assert len({6 - depth == refusals for refusals, (_, depth) in zip(nacks, seen, strict=True) if refusals}) == 2


def test_messages_come_one_by_one_and_all_of_them(free) -> None:
    assert a_window_of_three(free(0)) == [3, 0]
    for seed in SEEDS:
        at_once, later = a_window_of_three(free(seed, "dispatch.one-by-one"))
        assert (at_once < 3, at_once + later) == (True, 3)


def test_a_late_return_still_comes_before_its_confirm(free) -> None:
    late = 0
    for seed in SEEDS:
        seen = [name for name in return_among_confirms(free(seed, "returns.late")) if name.startswith("Basic")]
        assert seen.count("BasicReturn") == 1
        assert seen[-1] == "BasicAck"
        late += seen[0] == "BasicAck"
    assert late > 0


def test_a_connection_ends_when_everything_has_been_said(free) -> None:
    for seed in SEEDS:
        client = free(seed, "tcp.segments", "flush.piecemeal", "channels.interleave").open(1, 2)
        said = client.send(m.ChannelFlow(1, True), m.ChannelFlow(2, True), m.ConnectionClose(0, 200))
        assert isinstance(said[-1], m.ConnectionCloseOk)
        assert len(said) == 3
        assert client.connection.finished


def test_nothing_is_put_off_for_ever(free) -> None:
    """What a lost connection held comes back, although nobody ticks any more."""
    for seed in SEEDS:
        client = free(seed, "close.returns-late", "settle.late").open()
        client.queue()
        client.publish("1", "2")
        client.gets(2)
        client.feed(m.BasicNack(1, 1, False, True).encode())
        client.connection.lost()
        assert type(client)(client.core).open().depth() == 2


def test_each_variation_says_what_and_by_whom() -> None:
    assert len(VARIATIONS) >= 10
    for name, variation in VARIATIONS.items():
        assert re.fullmatch(r"[a-z]+\.[a-z-]+", name)
        assert variation.says[:1].islower()
        assert re.match(r"(guide: [A-Z]|AMQP 0-9-1 (XML|specification))", variation.granted_by)
        assert all(len(values) > 1 for values in variation.parameters.values())


def test_a_seed_draws_the_same_variations_each_time_and_tells_them() -> None:
    told = [str(charter(seed)) for seed in range(50)]
    assert told == [str(charter(seed)) for seed in range(50)]
    assert len(set(told)) == 50
    assert {line.split()[0] for one in told for line in one.splitlines()} == {*VARIATIONS}


def test_an_unknown_variation_is_named() -> None:
    with pytest.raises(UnknownVariation, match=r"'confirms\.eech'"):
        ReferenceBroker(nondeterminism=["confirms.eech"])


def test_without_variations_every_part_is_the_honest_one() -> None:
    assert Configuration().parts() == Parts()


def confirmed(url: str) -> list[tuple[int, bool]]:
    """How three publishes in one write are confirmed there."""
    seen: list[tuple[int, bool]] = []
    connection = open_connection(Target.parse(url), Recorder("r", "reference"), "c1")
    publish = codec.content(m.BasicPublish(1, 0, "", "nowhere"), b"1")
    connection.send(m.ChannelOpen(1), m.ConfirmSelect(1), publish, publish, publish)
    while not any(tag == 3 for tag, _ in seen):
        acks = [event for event in connection.receive(5.0) if event.method == "basic.ack"]
        seen += [(event.delivery_tag, event.multiple) for event in acks]
    connection.close()
    return seen


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_variations_are_taken_and_given_up_while_the_broker_runs(clock: str) -> None:
    """By connections that are made afterwards; where time stands still, too."""
    with ReferenceBroker(clock=clock) as broker:
        assert confirmed(broker.url) == [(3, True)]
        assert str(broker.nondeterminism(["confirms.each"])) == "confirms.each"
        assert confirmed(broker.url) == [(1, False), (2, False), (3, False)]
        assert str(broker.nondeterminism(7)) == str(charter(7))
        assert broker.nondeterminism(None) is None
        assert confirmed(broker.url) == [(3, True)]
    with pytest.raises(RuntimeError, match="not running"):
        broker.nondeterminism(7)
