"""A client of the pure core: methods in, frames out, no socket and no clock in between."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from inspect import getmembers, isfunction
from pathlib import Path

import pytest

import codec
from codec import methods as m
from codec import values
from reference_broker import dialects
from reference_broker.core.broker import Broker
from reference_broker.mutants import parts_with

CAPABILITIES = {"consumer_cancel_notify": True, "authentication_failure_close": True}


class Client:
    """One connection to a core. `send` feeds everything as one piece and answers what comes back."""

    def __init__(self, core: Broker, capabilities: dict | None = None, log_in: bool = True) -> None:
        self.core = core
        self.connection = core.connect()
        self.reader = codec.FrameReader()
        self.log: list[codec.Frame] = []
        if log_in:
            self.log_in(CAPABILITIES if capabilities is None else capabilities)

    def log_in(self, capabilities: dict) -> None:
        properties = values.table({"capabilities": capabilities})
        self.send(
            codec.ProtocolHeader(),
            m.ConnectionStartOk(0, properties, "PLAIN", b"\0guest\0guest", "en_US"),
            m.ConnectionTuneOk(0, 2047, 131072, 0),
            m.ConnectionOpen(0, "/"),
        )

    def speaking(self, dialect: str) -> None:
        """Go on with another connection to the core, which from now on speaks this dialect, as wrong as before."""
        self.core.remake(parts_with(self.core.parts.mutants, dialects.dialect(dialect).parts()))
        other = type(self)(self.core).open()
        self.connection, self.reader, self.log = other.connection, other.reader, self.log + other.log

    def send(self, *items: object) -> list[codec.Frame]:
        self.feed(b"".join(item if isinstance(item, bytes) else item.encode() for item in items))
        return self.read()

    def feed(self, data: bytes) -> None:
        self.connection.feed(data)

    def read(self) -> list[codec.Frame]:
        frames = []
        while data := self.connection.take():
            frames += self.reader.feed(data)
        self.log += frames
        return frames

    # -- shorthands, all on channel 1 unless told otherwise

    def open(self, *channels: int) -> Client:
        self.send(*[m.ChannelOpen(channel) for channel in channels or (1,)])
        return self

    def queue(self, name: str = "q", channel: int = 1, **options: object) -> str:
        arguments = values.table(options.pop("arguments", {}))
        self.send(m.QueueDeclare(channel, 0, name, arguments=arguments, **options))
        return name

    def quorum(self, name: str, **arguments: object) -> str:
        named = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
        return self.queue(name, durable=True, arguments={"x-queue-type": "quorum", **named})

    def reopen(self) -> None:
        """After the broker closed the channel."""
        self.send(m.ChannelCloseOk(1), m.ChannelOpen(1))

    def publish(self, *bodies: str, queue: str = "q", channel: int = 1, exchange: str = "", **how: object) -> list:
        mandatory = how.pop("mandatory", False)
        method = m.BasicPublish(channel, 0, exchange, queue, mandatory)
        return self.send(*[codec.content(method, body.encode(), **how) for body in bodies])

    def get(self, queue: str = "q", channel: int = 1, no_ack: bool = False) -> tuple | None:
        """(tag, body, redelivered) or None when empty."""
        frames = self.send(m.BasicGet(channel, 0, queue, no_ack))
        return next(iter(deliveries(frames)), None)

    def gets(self, count: int, queue: str = "q", channel: int = 1, no_ack: bool = False) -> list[str]:
        found = [self.get(queue, channel, no_ack) for _ in range(count)]
        return [each[1] for each in found if each is not None]

    def consume(self, tag: str = "c", queue: str = "q", channel: int = 1, **options: object) -> list:
        return deliveries(self.send(m.BasicConsume(channel, 0, queue, tag, **options)))

    def drain(self, queue: str = "q") -> list[tuple]:
        """What is ready, as (body, redelivered), taken out through a channel of its own."""
        self.send(m.ChannelOpen(99))
        found = []
        while (delivery := self.get(queue, 99, no_ack=True)) is not None:
            found.append(delivery[1:])
        self.send(m.ChannelClose(99, 200))
        return found

    def depth(self, queue: str = "q", channel: int = 1) -> int:
        (reply,) = self.send(m.QueueDeclare(channel, 0, queue, passive=True))
        return reply.message_count


def deliveries(frames: Sequence[codec.Frame]) -> list[tuple]:
    """(tag, body, redelivered) of every delivery and get-ok among the frames."""
    found = []
    for at, frame in enumerate(frames):
        if isinstance(frame, m.BasicDeliver | m.BasicGetOk):
            body = frames[at + 2].payload.decode() if frames[at + 1].body_size else ""
            found.append((frame.delivery_tag, body, frame.redelivered))
    return found


@pytest.fixture
def core() -> Broker:
    return Broker()


@pytest.fixture
def connect(core: Broker) -> Callable[..., Client]:
    return lambda **how: Client(core, **how)


@pytest.fixture
def client(core: Broker) -> Client:
    """A connection with channel 1 open and the queue `q` declared."""
    client = Client(core).open()
    client.queue()
    return client


@pytest.fixture(scope="session")
def scripts() -> list[Callable[[Client], None]]:
    """What clients do to let mutants show: the public functions of the modules in the folder of this name."""
    found = []
    for path in sorted(Path(__file__).with_name("scripts").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"scripts_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        own = [one for _, one in getmembers(module, isfunction) if one.__module__ == module.__name__]
        found += [one for one in own if not one.__name__.startswith("_")]
    return found


@pytest.fixture(scope="session")
def client_of() -> Callable[..., Client]:
    """A fresh broker with these mutants, and a client on its channel 1 with queue `q`."""

    def make(*mutants: str) -> Client:
        client = Client(Broker(parts=parts_with(mutants))).open()
        client.queue()
        return client

    return make


@pytest.fixture(scope="session")
def speaking() -> Callable[..., Client]:
    """A fresh broker that speaks this dialect, and a client on its channel 1 with the quorum queue `q`."""

    def make(dialect: str = "documented", **arguments: object) -> Client:
        named = {f"x-{name.replace('_', '-')}": value for name, value in arguments.items()}
        client = Client(Broker(parts=dialects.dialect(dialect).parts())).open()
        client.queue(durable=True, arguments={"x-queue-type": "quorum", **named})
        return client

    return make


@pytest.fixture(scope="session")
def client_on() -> Callable[..., Client]:
    """A client on channel 1 of a broker that is there already."""
    return lambda broker: Client(broker).open()


@pytest.fixture
def found_in() -> Callable[[Sequence[codec.Frame]], list[tuple]]:
    return deliveries
