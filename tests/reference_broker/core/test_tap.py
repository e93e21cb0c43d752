"""The tap: every octet of every connection, as it left and as it came."""

import random

import codec
from codec import methods as m
from reference_broker.core.broker import Broker
from reference_broker.core.parts import Parts
from reference_broker.core.tap import Tap
from reference_broker.nondeterminism import of
from tests.reference_broker.conftest import Client


def test_it_keeps_both_directions_of_each_connection():
    tap, parts = Tap(), Parts()
    tap.into(parts)
    core = Broker(parts=parts)
    clients = [Client(core).open() for _ in range(2)]
    core.move_to(7.0)
    clients[1].send(m.ChannelFlow(1, True))
    came, left = tap.pieces[-2:]
    assert (came.connection, came.by_client, came.at, came.octets) == (2, True, 7.0, m.ChannelFlow(1, True).encode())
    assert (left.connection, left.by_client, left.octets) == (2, False, m.ChannelFlowOk(1, True).encode())
    assert parts.tap is tap


def test_it_sees_what_variations_leave():
    """Octets as they are written, whatever was done to them on the way out."""
    tap, parts, chance = Tap(), Parts(), random.Random(3)
    of(["bodies.split"], chance).apply(parts, chance)
    tap.into(parts)
    client = Client(Broker(parts=parts)).open()
    client.queue()
    client.publish(*["hello" * 9] * 20)
    client.gets(20, no_ack=True)
    heard = b"".join(piece.octets for piece in tap.pieces if not piece.by_client)
    assert codec.FrameReader().feed(heard) == client.log
    assert sum(isinstance(frame, codec.Body) for frame in client.log) > 20
