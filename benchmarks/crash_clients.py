"""The clients of a crash campaign: they publish, acknowledge, requeue and commit until the broker is killed.

Each keeps a tally of what it was told. A message is *confirmed* by its confirm or commit; it is *let go* once an ack
for it was sent; and that ack is *settled* once something later on the same channel was confirmed or committed, because
the log keeps the order of a channel. Messages are numbers, unique in the campaign.
"""

from __future__ import annotations

import random
import select
import socket
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import codec
from codec import methods as m
from codec import values

EXCHANGE = "crash"
QUEUES = {
    "crash.classic": {},
    "crash.quorum": {"x-queue-type": "quorum", "x-delivery-limit": -1},
}
WINDOW, PREFETCH, MOST_HELD = 200, 100, 40
LOOK = 0.005
PATIENCE = 60.0
"""Seconds for one answer."""


@dataclass
class Tally:
    published: set[int] = field(default_factory=set)
    confirmed: set[int] = field(default_factory=set)
    delivered: set[int] = field(default_factory=set)
    unmarked: set[int] = field(default_factory=set)
    """Delivered without the mark of a redelivery."""
    let_go: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)

    def add(self, other: Tally) -> None:
        for name in vars(self):
            getattr(self, name).update(getattr(other, name))


class Content:
    """The content under way, in however many frames it comes."""

    def __init__(self) -> None:
        self.missing = 0
        self.body = b""

    def whole(self, frame: codec.Frame) -> bool:
        """With this frame, is it?"""
        if isinstance(frame, codec.Header):
            self.missing, self.body = frame.body_size, b""
        elif isinstance(frame, codec.Body):
            self.missing -= len(frame.payload)
            self.body += frame.payload
            return self.missing == 0
        return False


class Wire:
    """A logged-in connection with channel 1 open."""

    def __init__(self, url: str) -> None:
        port = urlsplit(url).port
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.reader = codec.FrameReader()
        self.call(codec.ProtocolHeader().encode())
        self.call(m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"))
        self.call(m.ConnectionTuneOk(0, 0, 0), m.ConnectionOpen(0, "/"))
        self.call(m.ChannelOpen(1))

    def send(self, *items: codec.Method | bytes) -> None:
        self.socket.sendall(b"".join([item if isinstance(item, bytes) else item.encode() for item in items]))

    def read(self) -> list[codec.Frame]:
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the broker is gone")
        return self.reader.feed(data)

    def call(self, *items: codec.Method | bytes) -> None:
        """Send, and wait for an answer."""
        self.send(*items)
        while not self.read():
            pass

    def got(self, queue: str) -> int | None:
        """The number in the first message of the queue, which stays with this channel; None if that is empty."""
        self.send(m.BasicGet(1, 0, queue, False))
        content = Content()
        while True:
            for frame in self.read():
                if isinstance(frame, m.BasicGetEmpty):
                    return None
                if content.whole(frame):
                    return int(content.body)


def prepare(url: str) -> None:
    """Queues, exchange and bindings, whether they are there already or not."""
    line = Wire(url)
    line.call(m.ExchangeDeclare(1, 0, EXCHANGE, "direct", durable=True))
    for queue, arguments in QUEUES.items():
        line.call(m.QueueDeclare(1, 0, queue, durable=True, arguments=values.table(arguments)))
        line.call(m.QueueBind(1, 0, queue, EXCHANGE, queue))
    line.socket.close()


def contents(url: str) -> set[int]:
    """What is in the queues; it stays there."""
    line, found = Wire(url), set()
    for queue in QUEUES:
        while (number := line.got(queue)) is not None:
            found.add(number)
    line.socket.close()
    return found


class Client:
    """One connection with one channel. `run` ends when the broker is gone."""

    def __init__(self, url: str, chance: random.Random, numbers: Iterator[int]) -> None:
        self.line = Wire(url)
        self.chance = chance
        self.numbers = numbers
        self.tally = Tally()
        self.held: list[tuple[int, int]] = []
        self.incoming: m.BasicDeliver | None = None
        self.content = Content()
        self.select()
        self.line.send(m.BasicQos(1, 0, PREFETCH), *(m.BasicConsume(1, 0, queue, queue) for queue in QUEUES))

    def select(self) -> None:
        raise NotImplementedError

    def act(self) -> None:
        raise NotImplementedError

    def acked(self, messages: list[int]) -> None:
        raise NotImplementedError

    def run(self) -> None:
        try:
            while True:
                self.act()
                if select.select([self.line.socket], [], [], LOOK)[0]:
                    for frame in self.line.read():
                        self.take(frame)
        except OSError:
            self.line.socket.close()

    def publish(self) -> int:
        """One more, by name or through the exchange; its number."""
        number, queue = next(self.numbers), self.chance.choice(list(QUEUES))
        self.tally.published.add(number)
        method = m.BasicPublish(1, 0, self.chance.choice(["", EXCHANGE]), queue)
        self.line.send(codec.content(method, str(number).encode(), delivery_mode=2))
        return number

    def take(self, frame: codec.Frame) -> None:
        if isinstance(frame, m.BasicDeliver):
            self.incoming = frame
        elif self.content.whole(frame) and self.incoming is not None:
            self.delivered(self.incoming, int(self.content.body))
        else:
            self.take_frame(frame)

    def take_frame(self, frame: codec.Frame) -> None:
        raise NotImplementedError

    def delivered(self, method: m.BasicDeliver, number: int) -> None:
        self.tally.delivered.add(number)
        if not method.redelivered:
            self.tally.unmarked.add(number)
        self.held.append((method.delivery_tag, number))
        fate = self.chance.random()
        if len(self.held) > MOST_HELD:
            self.settle_all()
        elif fate < 0.6:
            self.held.pop()
            self.let_go([number])
            self.line.send(m.BasicAck(1, method.delivery_tag, False))
        elif fate < 0.8:
            self.held.pop()
            self.line.send(m.BasicNack(1, method.delivery_tag, False, True))

    def settle_all(self) -> None:
        held, self.held = self.held, []
        self.let_go([number for _, number in held])
        self.line.send(m.BasicAck(1, held[-1][0], True))

    def let_go(self, messages: list[int]) -> None:
        self.tally.let_go.update(messages)
        self.acked(messages)


class Confirming(Client):
    def select(self) -> None:
        self.line.call(m.ConfirmSelect(1))
        self.last = 0
        self.unconfirmed: dict[int, int] = {}
        self.unproven: deque[tuple[int, list[int]]] = deque()

    def act(self) -> None:
        for _ in range(self.chance.randint(0, 20) if len(self.unconfirmed) < WINDOW else 0):
            self.last += 1
            self.unconfirmed[self.last] = self.publish()

    def acked(self, messages: list[int]) -> None:
        self.unproven.append((self.last + 1, messages))

    def take_frame(self, frame: codec.Frame) -> None:
        if not isinstance(frame, m.BasicAck | m.BasicNack):
            return
        tag = frame.delivery_tag
        reached = [each for each in self.unconfirmed if each == tag or (frame.multiple and each < tag)]
        numbers = {self.unconfirmed.pop(each) for each in reached}
        if isinstance(frame, m.BasicAck):
            self.tally.confirmed |= numbers
            while self.unproven and self.unproven[0][0] <= tag:
                self.tally.settled.update(self.unproven.popleft()[1])


class Committing(Client):
    def select(self) -> None:
        self.line.call(m.TxSelect(1))
        self.published: list[int] = []
        self.settling: list[int] = []
        self.committing: tuple[list[int], list[int]] | None = None

    def act(self) -> None:
        """Nothing while a commit is under way, so that it is known what that covers."""
        if self.committing is None:
            self.published += [self.publish() for _ in range(self.chance.randint(1, 20))]
            self.committing = self.published, self.settling
            self.published, self.settling = [], []
            self.line.send(m.TxCommit(1))

    def acked(self, messages: list[int]) -> None:
        self.settling += messages

    def take_frame(self, frame: codec.Frame) -> None:
        if isinstance(frame, m.TxCommitOk) and self.committing is not None:
            published, settled = self.committing
            self.tally.confirmed.update(published)
            self.tally.settled.update(settled)
            self.committing = None


KINDS: tuple[Callable[..., Client], ...] = (Confirming, Committing, Confirming)
