"""An application in production, played against the pure core of the reference broker.

Publishers in confirm mode, workers with a prefetch limit that settle one by one, in batches or by nack, workers that
come and go, one that polls, visitors whose connection comes and goes. There is no clock and no socket:
what is sent stays under way until chance lets the broker handle it, what the broker says until chance lets the client
read it. The play is cut into rounds; at the end of each the queues are empty and nobody owes anything.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from itertools import count

import codec
from codec import methods as m
from codec import values
from conformance.history import events as ev
from conformance.history.events import Event, EventBuilder, Labels
from reference_broker.core.broker import Broker

RUN, BROKER = "traffic", "amqp-conformance reference"
ROUND = "@round@"
"""Stands in names for the number of the round."""
UNCONFIRMED, UNPUBLISHED = 40, 64
SIZES = (48, 200, 200, 1000, 4000)
REQUEUED, DROPPED = 0.03, 0.01
"""Shares of the deliveries that are given back, and rejected for good."""


class Play:
    """The broker, the wires, and what was seen on them."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)
        self.core = Broker()
        self.wires: list[Wire] = []
        self.seen: list[Event] = []
        self.numbers, self.ids = count(1), count(1)

    def go_on(self) -> None:
        """Until nothing is under way and nobody wants anything."""
        while True:
            able = [move for wire in self.wires for move in wire.moves()]
            if able:
                self.chance.choice(able)()
                continue
            flushed = [actor.flush() for wire in self.wires for actor in list(wire.actors.values())]
            if not any(flushed):
                return

    def message_id(self) -> str:
        return f"{next(self.ids):016x}"


class Wire:
    """One connection, with what is under way on it in both directions."""

    def __init__(self, play: Play, name: str) -> None:
        self.play, self.name = play, name
        self.peer = play.core.connect()
        self.reader = codec.FrameReader()
        self.builder = EventBuilder(Labels(RUN, BROKER, "", name), play.numbers.__next__, lambda: 0)
        self.to_broker: deque[bytes] = deque()
        self.to_client: deque[codec.Frame] = deque()
        self.actors: dict[int, Actor] = {}
        play.wires.append(self)
        play.seen.append(self.builder.local(ev.OPEN, host="broker", port=5672))
        self._log_in()

    def _log_in(self) -> None:
        header = codec.ProtocolHeader().encode()
        self.play.seen.append(self.builder.note(ev.TO_BROKER, ev.PROTOCOL, header))
        self.to_broker.append(header)
        client = values.table({"capabilities": {"consumer_cancel_notify": True, "publisher_confirms": True}})
        for method in (
            m.ConnectionStartOk(0, client, "PLAIN", b"\0guest\0guest", "en_US"),
            m.ConnectionTuneOk(0, 2047, 131072, 0),
            m.ConnectionOpen(0, "/"),
        ):
            self.settle()
            self.send(method.encode())
        self.settle()

    def send(self, raw: bytes) -> None:
        """Whole frames go on their way."""
        self.to_broker.append(raw)
        for frame in codec.FrameReader().feed(raw):
            event = self.builder.frame(ev.TO_BROKER, frame, frame.encode())
            if event is not None:
                self.play.seen.append(event)

    def settle(self) -> None:
        """All that is under way arrives."""
        while self.to_broker or self.to_client:
            self.arrive() if self.to_broker else self.read()

    def moves(self) -> Iterator[object]:
        if self.to_broker:
            yield self.arrive
        if self.to_client:
            yield self.read
            yield self.read
        yield from (actor.act for actor in self.actors.values() if actor.wants())

    def arrive(self) -> None:
        """The broker handles what was sent, and speaks."""
        most = self.play.chance.randint(1, 4)
        self.peer.feed(b"".join(self.to_broker.popleft() for _ in range(min(most, len(self.to_broker)))))
        for wire in self.play.wires:
            while data := wire.peer.take():
                wire.to_client.extend(wire.reader.feed(data))

    def read(self) -> None:
        """The client reads one method with its content."""
        while self.to_client:
            frame = self.to_client.popleft()
            event = self.builder.frame(ev.TO_CLIENT, frame, frame.encode())
            if event is not None:
                self.play.seen.append(event)
                if event.channel in self.actors:
                    self.actors[event.channel].heard(event)
                return

    def close(self) -> None:
        """The client ends the connection."""
        self.send(m.ConnectionClose(0, 200, "bye").encode())
        self.settle()
        self.peer.lost()
        self.play.seen.append(self.builder.local(ev.END, cause="closed"))
        self.play.wires.remove(self)


class Actor:
    """Whoever uses a channel. Opens it, and says what it wants to do next."""

    def __init__(self, wire: Wire, channel: int) -> None:
        self.wire, self.channel, self.chance = wire, channel, wire.play.chance
        self.call(m.ChannelOpen(channel))
        wire.actors[channel] = self

    def call(self, *methods: codec.Method) -> None:
        for method in methods:
            self.wire.send(method.encode())
            self.wire.settle()

    def new_round(self, messages: int) -> None:
        """Another round begins."""

    def end_round(self) -> None:
        """It is over, and everything is quiet."""

    def wants(self) -> bool:
        return False

    def act(self) -> None:
        """Do the next thing."""

    def flush(self) -> bool:
        """Everything is quiet: is there something to do now at the latest? Then it is done."""
        return False

    def heard(self, event: Event) -> None:
        """The broker said this."""


class Publisher(Actor):
    """Publishes in confirm mode, a limited number ahead of the confirms."""

    def __init__(self, wire: Wire, channel: int, queues: list[str]) -> None:
        super().__init__(wire, channel)
        self.queues, self.left, self.sent, self.resolved = queues, 0, 0, 0
        self.call(m.ConfirmSelect(channel))

    def new_round(self, messages: int) -> None:
        self.left = messages

    def wants(self) -> bool:
        return self.left > 0 and self.sent - self.resolved < UNCONFIRMED

    def act(self) -> None:
        self.left -= 1
        self.sent += 1
        publish(self.wire, self.channel, self.chance.choice(self.queues))

    def heard(self, event: Event) -> None:
        if event.method == "basic.ack":
            self.resolved = max(self.resolved + 1, (event.delivery_tag or 0) if event.multiple else 0)


def publish(wire: Wire, channel: int, queue: str) -> None:
    """One persistent message to a queue."""
    play = wire.play
    wire.send(
        codec.content(
            m.BasicPublish(channel, 0, "", queue, True),
            b"x" * play.chance.choice(SIZES),
            delivery_mode=2,
            content_type="application/json",
            message_id=play.message_id(),
        )
    )


class Worker(Actor):
    """Consumes under a limit; `batch` is how many it settles at once."""

    def __init__(self, wire: Wire, channel: int, queue: str, prefetch: int, batch: int, *, restless: bool) -> None:
        super().__init__(wire, channel)
        self.queue, self.batch, self.restless = queue, batch, restless
        self.held = list[tuple[int, bool]]()
        self.tag = f"{wire.name}-{channel}-{ROUND if restless else 'steady'}"
        self.call(m.BasicQos(channel, 0, prefetch))
        if not restless:
            self._consume()

    def _consume(self) -> None:
        self.call(m.BasicConsume(self.channel, 0, self.queue, self.tag))

    def new_round(self, messages: int) -> None:
        if self.restless:
            self._consume()

    def end_round(self) -> None:
        if self.restless:
            self.call(m.BasicCancel(self.channel, self.tag))

    def wants(self) -> bool:
        return len(self.held) >= self.batch

    def act(self) -> None:
        if self.batch > 1:
            self._settle(self.held[self.batch - 1][0], multiple=True)
            del self.held[: self.batch]
            return
        at = 0 if self.chance.random() < 0.8 else self.chance.randrange(len(self.held))
        tag, redelivered = self.held.pop(at)
        fate = self.chance.random()
        if fate < REQUEUED and not redelivered:
            self.wire.send(m.BasicNack(self.channel, tag, False, True).encode())
        elif fate > 1 - DROPPED:
            self.wire.send(m.BasicReject(self.channel, tag, False).encode())
        else:
            self._settle(tag, multiple=False)

    def _settle(self, tag: int, *, multiple: bool) -> None:
        self.wire.send(m.BasicAck(self.channel, tag, multiple).encode())

    def flush(self) -> bool:
        if not self.held:
            return False
        self._settle(self.held[-1][0], multiple=True)
        self.held.clear()
        return True

    def heard(self, event: Event) -> None:
        if event.method == "basic.deliver":
            self.held.append((event.delivery_tag or 0, event.has("redelivered")))


class Poller(Actor):
    """Asks for single messages."""

    def __init__(self, wire: Wire, channel: int, queue: str) -> None:
        super().__init__(wire, channel)
        self.queue, self.left, self.waiting = queue, 0, False

    def new_round(self, messages: int) -> None:
        self.left = messages // 10

    def wants(self) -> bool:
        return self.left > 0 and not self.waiting

    def act(self) -> None:
        self.left, self.waiting = self.left - 1, True
        self.wire.send(m.BasicGet(self.channel, 0, self.queue).encode())

    def heard(self, event: Event) -> None:
        self.waiting = False
        if event.method == "basic.get-ok":
            self.wire.send(m.BasicAck(self.channel, event.delivery_tag or 0).encode())


def perform(kind: str, seed: int, rounds: int, messages: int) -> list[list[Event]]:
    """The beginning, the rounds, and the end of an application: `shared` has all of it on one connection, `classic`
    and `quorum` have a connection for each role. `messages` is how many each publisher sends in a round."""
    play = Play(f"{kind} {seed}")
    arguments = values.table({"x-queue-type": "quorum"} if kind == "quorum" else {})
    queues = ["orders", "mails"]
    wires = [Wire(play, "app")] * 3 if kind == "shared" else [Wire(play, name) for name in ("shop", "back", "poll")]
    first = Actor(wires[0], 1)
    first.call(*(m.QueueDeclare(1, 0, name, False, True, arguments=arguments) for name in [*queues, "polled"]))
    actors = [
        Publisher(wires[0], 2, queues),
        Publisher(wires[0], 3, [*queues, "polled"]),
        Worker(wires[1], 4, "orders", 20, 1, restless=False),
        Worker(wires[1], 5, "orders", 50, 10, restless=False),
        Worker(wires[1], 6, "mails", 10, 1, restless=True),
        Poller(wires[2], 7, "polled"),
        Worker(wires[2], 8, "polled", 5, 1, restless=False),
    ]
    parts = [_taken(play)]
    for _ in range(rounds):
        visitor = Wire(play, f"visitor-{ROUND}") if kind != "shared" else None
        for actor in actors:
            actor.new_round(messages)
        if visitor is not None:
            Actor(visitor, 1)
            for _ in range(3):
                publish(visitor, 1, "mails")
        play.go_on()
        for actor in actors:
            actor.end_round()
        if visitor is not None:
            visitor.close()
        parts.append(_taken(play))
    for wire in dict.fromkeys(wires):
        wire.close()
    return [*parts, _taken(play)]


def _taken(play: Play) -> list[Event]:
    taken, play.seen = play.seen, []
    return taken
