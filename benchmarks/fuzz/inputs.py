"""Broken inputs for a broker: good and bad frames from the codec's strategies, put together and broken once more.

Hypothesis draws a corpus, slowly and well: every method with every kind of argument, every defect that has a name,
frames with octets lost or added. From there on plain chance goes on, fast: an input is a few pieces of the corpus and
of sound conversation, then one or more changes of its octets. Everything is decided by a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import codec
from codec import methods as m
from codec import values
from tests.support.octets import strategies

LARGEST = 60_000
"""Octets of one input."""
TALK: tuple[bytes, ...] = tuple(
    item if isinstance(item, bytes) else item.encode()
    for item in (
        m.ChannelOpen(2),
        m.ChannelClose(1, 200),
        m.ChannelCloseOk(1),
        m.QueueDeclare(1, 0, "q"),
        m.QueueDeclare(1, 0, "x", arguments=values.table({"x-max-length": 3, "x-message-ttl": 10})),
        m.QueueDeclare(1, 0, "qq", durable=True, arguments=values.table({"x-queue-type": "quorum"})),
        m.ExchangeDeclare(1, 0, "t", "topic"),
        m.ExchangeDeclare(1, 0, "h", "headers"),
        m.QueueBind(1, 0, "q", "t", "a.#.b.*"),
        m.QueueBind(1, 0, "q", "h", "", arguments=values.table({"x-match": "any"})),
        m.BasicConsume(1, 0, "q", "c"),
        m.BasicConsume(2, 0, "q", ""),
        m.BasicCancel(1, "c"),
        m.BasicGet(1, 0, "q"),
        m.BasicQos(1, 0, 2),
        m.BasicAck(1, 1),
        m.BasicAck(1, 0, True),
        m.BasicNack(1, 1, True, True),
        m.BasicReject(1, 1),
        m.BasicRecover(1, True),
        m.ConfirmSelect(1),
        m.TxSelect(1),
        m.TxCommit(1),
        m.TxRollback(1),
        m.QueuePurge(1, 0, "q"),
        m.QueueDelete(1, 0, "q"),
        m.ExchangeDelete(1, 0, "t"),
        m.ConnectionClose(0, 200),
        codec.Heartbeat(),
        m.BasicPublish(1, 0, "", "q"),
        codec.content(m.BasicPublish(1, 0, "", "q"), b"body"),
        codec.content(m.BasicPublish(1, 0, "t", "a.b.c", True), b"", headers=values.table({"CC": ["q"]})),
        codec.content(m.BasicPublish(1, 0, "h", ""), b"x" * 2000, expiration="1", priority=3),
    )
)
HANDSHAKE: tuple[bytes, ...] = (
    codec.ProtocolHeader().encode(),
    m.ConnectionStartOk(
        0,
        values.table({"capabilities": {"authentication_failure_close": True, "consumer_cancel_notify": True}}),
        "PLAIN",
        b"\0guest\0guest",
        "en_US",
    ).encode(),
    m.ConnectionTuneOk(0, 100, 65536, 0).encode(),
    m.ConnectionOpen(0, "/").encode(),
    m.ChannelOpen(1).encode() + m.QueueDeclare(1, 0, "q").encode(),
)
PHASES = ("header", "login", "tuning", "opening", "open", "channel")
"""What comes first: nothing, the protocol header, and so on; most inputs begin on an open channel."""
WEIGHTS = (1, 2, 1, 1, 3, 12)


@dataclass(frozen=True, slots=True)
class Input:
    """What a peer sends: a sound beginning, and then something broken, in pieces as TCP may cut it."""

    phase: str
    beginning: bytes
    pieces: tuple[bytes, ...]

    @property
    def octets(self) -> bytes:
        return b"".join(self.pieces)


def corpus(number: int, count: int) -> list[bytes]:
    """So many frames, good, bad and damaged."""
    found: list[bytes] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(strategies.frames(), strategies.broken().map(lambda both: both[1]), strategies.damaged()))
    def draw(raw: bytes) -> None:
        found.append(raw)

    draw()
    return found


class Breaker:
    """An endless source of inputs."""

    def __init__(self, frames: Sequence[bytes], chance: random.Random) -> None:
        self.frames, self.chance = frames, chance

    def input(self) -> Input:
        chance = self.chance
        phase = chance.choices(range(len(PHASES)), WEIGHTS)[0]
        some = range(chance.randint(1, 5))
        data = b"".join(chance.choice(TALK if chance.random() < 0.4 else self.frames) for _ in some)
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            data = chance.choice(CHANGES)(data, chance)
        return Input(PHASES[phase], b"".join(HANDSHAKE[:phase]), tuple(self.cut(data[:LARGEST])))

    def cut(self, data: bytes) -> list[bytes]:
        """Mostly in one piece."""
        if self.chance.random() < 0.8 or len(data) < 2:
            return [data]
        places = sorted({self.chance.randrange(1, len(data)) for _ in range(self.chance.randint(1, 4))})
        return [data[begin:end] for begin, end in zip([0, *places], [*places, len(data)], strict=True)]


Change = Callable[[bytes, random.Random], bytes]


def flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data)) if data else 0
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


def flip_early(data: bytes, chance: random.Random) -> bytes:
    """Where type, channel, size, class and method are."""
    at = chance.randrange(min(11, len(data) or 1))
    return data[:at] + bytes([chance.choice((0, 1, 2, 3, 8, 9, 0x7F, 0x80, 0xFF, 0xCE))]) + data[at + 1 :]


def lose(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.randint(1, 9) :]


def add(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.randbytes(chance.randint(1, 9)) + data[at:]


def repeat(data: bytes, chance: random.Random) -> bytes:
    return data * chance.choice((2, 3, 20)) if len(data) < 2000 else data + data[:100]


def shorten(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def other_channel(data: bytes, chance: random.Random) -> bytes:
    return data[:1] + chance.choice((b"\0\0", b"\0\1", b"\0\2", b"\0\x64", b"\0\x65", b"\xff\xff")) + data[3:]


def noise(data: bytes, chance: random.Random) -> bytes:
    return data + chance.randbytes(chance.randint(1, 200))


def huge_size(data: bytes, chance: random.Random) -> bytes:
    return data[:3] + chance.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\1\0\1", b"\0\0\0\0")) + data[7:]


CHANGES: tuple[Change, ...] = (
    flip,
    flip,
    flip_early,
    lose,
    add,
    repeat,
    shorten,
    other_channel,
    noise,
    huge_size,
)
