"""The rewriting proxy: pieces stay whole, what is not meant passes as it came, and each behaviour is given away."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import codec
from codec import methods as m
from conformance.campaigns.hunt import hunt
from conformance.catalogue import rules
from conformance.history.events import TO_BROKER, TO_CLIENT
from conformance.session import brokers
from tools.rewriting import MUTANTS, Memory, Piece, Stream, Wrong
from tools.wire_mutants import HONEST, bench

RABBITMQ = os.environ.get("AMQP_RABBITMQ_URL")
BODY = b"x" * 300
HELLO = b"AMQP\x00\x00\x09\x01"


def delivery(tag: int, channel: int = 1, body: bytes = BODY) -> bytes:
    return codec.content(m.BasicDeliver(channel, "c", tag, False, "", "q"), body, 128)


def passed(stream: Stream, data: bytes, size: int) -> bytes:
    """What leaves when these octets come in pieces of this size."""
    return b"".join(stream.pass_on(data[at : at + size]) for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_what_is_not_meant_passes_as_it_came(size: int) -> None:
    traffic = HELLO + m.ChannelOpen(1).encode() + delivery(1) + codec.Heartbeat(0).encode() + delivery(2, body=b"")
    assert passed(Stream(TO_BROKER, HONEST.rewrite, Memory()), traffic, size) == traffic


def test_a_piece_is_a_method_with_all_its_content() -> None:
    seen: list[Piece] = []

    def note(piece: Piece, memory: Memory) -> list[Piece]:
        seen.append(piece)
        return [piece]

    stream = Stream(TO_CLIENT, note, Memory())
    first, second = delivery(1), delivery(1, channel=2)
    half = len(first) // 2
    stream.pass_on(first[:half])
    assert seen == []
    stream.pass_on(first[half:] + second)
    assert [piece.octets() for piece in seen] == [first, second]


def test_octets_that_are_no_frame_pass_as_they_came() -> None:
    broken = b"\x09\x00\x01\x00\x00\x00\x02ab\xce"
    assert Stream(TO_CLIENT, HONEST.rewrite, Memory()).pass_on(broken) == broken


def rewritten(name: str, direction: str, *traffic: bytes) -> list[codec.Frame]:
    rewrite: Wrong = MUTANTS[name].rewrite
    hello = HELLO if direction == TO_BROKER else b""
    left = Stream(direction, rewrite, Memory()).pass_on(hello + b"".join(traffic))
    return codec.FrameReader(0).feed(left[len(hello) :])


def test_a_delivery_is_doubled_with_its_content() -> None:
    frames = rewritten("wire.doubles-deliver", TO_CLIENT, delivery(1))
    assert sum(isinstance(frame, m.BasicDeliver) for frame in frames) == 2
    assert sum(len(frame.payload) for frame in frames if isinstance(frame, codec.Body)) == 2 * len(BODY)


def test_deliveries_change_places() -> None:
    frames = rewritten("wire.reorders-delivers", TO_CLIENT, delivery(1), delivery(2))
    assert [frame.delivery_tag for frame in frames if isinstance(frame, m.BasicDeliver)] == [2, 1]


def test_the_same_method_of_the_other_direction_passes() -> None:
    ack = m.BasicAck(1, 3, False)
    assert rewritten("wire.acks-multiple", TO_BROKER, ack.encode()) == [m.BasicAck(1, 3, True)]
    assert rewritten("wire.acks-multiple", TO_CLIENT, ack.encode()) == [ack]
    assert rewritten("wire.holds-confirm", TO_CLIENT, ack.encode(), m.BasicAck(1, 4).encode()) == [ack]


def test_each_names_rules_that_are_judged() -> None:
    assert len(MUTANTS) >= 10
    assert all(rules.get(rule).judged for mutant in MUTANTS.values() for rule in mutant.rules)


@pytest.fixture(scope="module")
def reference() -> Iterator[brokers.BrokerUnderTest]:
    with brokers.resolve(None) as behind:
        yield behind


@pytest.mark.parametrize("name", MUTANTS)
def test_each_is_given_away_in_front_of_the_reference_broker(name: str, reference: brokers.BrokerUnderTest) -> None:
    with bench(reference, MUTANTS[name], "ci") as wrong:
        trail = hunt(MUTANTS[name].rules, wrong)
    assert trail.rule in MUTANTS[name].rules


@pytest.mark.rabbitmq
@pytest.mark.skipif(RABBITMQ is None, reason="AMQP_RABBITMQ_URL names no broker")
@pytest.mark.parametrize("name", MUTANTS)
def test_each_is_given_away_in_front_of_a_real_broker(name: str) -> None:
    with brokers.resolve(RABBITMQ) as behind, bench(behind, MUTANTS[name], "ci") as wrong:
        trail = hunt(MUTANTS[name].rules, wrong)
    assert trail.rule in MUTANTS[name].rules


def test_a_proxy_that_rewrites_nothing_breaks_nothing(reference: brokers.BrokerUnderTest) -> None:
    with bench(reference, HONEST, "smoke") as right:
        trail = hunt(("ACK-001", "CNF-009", "CAN-003", "ERR-001"), right)
    assert trail.rule is None
    assert trail.histories > 4
