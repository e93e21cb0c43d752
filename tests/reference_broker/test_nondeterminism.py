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
from conformance.drive.drivers.raw import Target, open_connection
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker, nondeterminism
from reference_broker.configuration import Configuration, charter
from reference_broker.core.broker import Broker
from reference_broker.core.parts import Parts
from reference_broker.nondeterminism import VARIATIONS, UnknownVariation
from tests.reference_broker.variations import (
    FLOW,
    SCRIPTS,
    a_window_of_three,
    kinds,
    refused,
    return_among_confirms,
    silences,
)

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


def test_octets_that_are_no_frame_are_told_after_what_came_before_them(free) -> None:
    """A content header that ends with another octet than CE, behind a publish whose turn has not come."""
    publish, header = m.BasicPublish(1, 0, "amq.fanout").encode(), codec.header(1, 0).encode()
    for seed in range(5 * len(SEEDS)):
        said = free(seed, "channels.late").open().send(publish + header[:-1] + b"\0")
        assert [(type(frame), frame.reply_code) for frame in said] == [(m.ConnectionClose, 501)]


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
