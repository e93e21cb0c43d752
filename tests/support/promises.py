"""A client that knows what it was promised, on a broker whose log is on a disk of ours.

Messages are numbers, and have their queue as the last digit. `confirmed` is what was confirmed or committed, `let_go`
what an ack was sent for, and `gone` what was surely got rid of: the block with its settlement is durable, or a reply
says so.
"""

from __future__ import annotations

import codec
from codec import methods as m
from codec import values
from tests.support.disks import FakeDisk
from tests.support.kept import Host

QUEUES = {"classic": {}, "quorum": {"x-queue-type": "quorum"}}
CONFIRMS, TX = 1, 2
SEGMENT = 250


class World:
    """What the client did, was told, and may rely on."""

    def __init__(self, disk: FakeDisk) -> None:
        self.host = Host(disk, SEGMENT)
        self.last = 0
        self.published: set[int] = set()
        self.confirmed: set[int] = set()
        self.let_go: set[int] = set()
        self.gone: set[int] = set()
        self.declared: set[str] = set()
        self.unsealed_gone: set[int] = set()
        self.gone_with: dict[int, set[int]] = {}
        self.connect()

    # -- the wire

    def connect(self) -> None:
        self.connection = self.host.broker.connect()
        self.reader = codec.FrameReader()
        self.unconfirmed: dict[int, int] = {}
        self.held: dict[int, list[tuple[int, int]]] = {CONFIRMS: [], TX: []}
        self.in_tx: list[int] = []
        self.settled_in_tx: list[int] = []
        self.awaited: list[tuple[str, object]] = []
        self.numbers = 0
        self.send(
            codec.ProtocolHeader(),
            m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"),
            m.ConnectionTuneOk(0, 0, 0, 0),
            m.ConnectionOpen(0, "/"),
            m.ChannelOpen(CONFIRMS),
            m.ChannelOpen(TX),
            m.ConfirmSelect(CONFIRMS),
            m.TxSelect(TX),
        )
        for queue, arguments in QUEUES.items():
            self.awaited.append(("declared", queue))
            self.send(m.QueueDeclare(CONFIRMS, 0, queue, durable=True, arguments=values.table(arguments)))

    def send(self, *items: object) -> None:
        self.connection.feed(b"".join(item if isinstance(item, bytes) else item.encode() for item in items))
        self.read()

    def read(self) -> None:
        while data := self.connection.take():
            for frame in self.reader.feed(data):
                if isinstance(frame, m.BasicAck | m.BasicNack):
                    self.resolve(frame)
                elif isinstance(frame, m.TxCommitOk | m.QueueDeclareOk | m.QueuePurgeOk):
                    self.answered(*self.awaited.pop(0))
                elif isinstance(frame, m.ConnectionClose):
                    self.connection.lost()
                    self.connect()
                    return

    def resolve(self, frame: m.BasicAck | m.BasicNack) -> None:
        tag = frame.delivery_tag
        for number in [each for each in self.unconfirmed if each == tag or (frame.multiple and each < tag)]:
            message = self.unconfirmed.pop(number)
            if isinstance(frame, m.BasicAck):
                self.confirmed.add(message)

    def answered(self, what: str, about: object) -> None:
        if what == "declared":
            self.declared.add(about)
        elif what == "committed":
            published, settled = about
            self.confirmed.update(published)
            self.gone.update(settled)
        else:
            self.gone.update(about)

    # -- what a client does

    def publish(self, queue: int, channel: int) -> None:
        name, self.last = list(QUEUES)[queue], self.last + 10
        message = self.last + queue
        self.published.add(message)
        if channel == CONFIRMS:
            self.numbers += 1
            self.unconfirmed[self.numbers] = message
        else:
            self.in_tx.append(message)
        publish = m.BasicPublish(channel, 0, "", name)
        self.send(codec.content(publish, str(message).encode(), delivery_mode=2))

    def get(self, queue: int, channel: int) -> None:
        name = list(QUEUES)[queue]
        self.connection.feed(m.BasicGet(channel, 0, name, False).encode())
        bound = self.connection.channels.get(channel)
        if bound is not None:
            known = {tag for tag, _ in self.held[channel]}
            self.held[channel] += [
                (tag, int(one.entry.message.body)) for tag, one in bound.unacked.by_tag.items() if tag not in known
            ]
        self.read()

    def settle(self, how: str, channel: int) -> None:
        if not self.held[channel]:
            return
        tag, message = self.held[channel].pop(0)
        if how == "ack":
            self.let_go.add(message)
            if channel == TX:
                self.settled_in_tx.append(message)
            else:
                self.unsealed_gone.add(message)
            self.send(m.BasicAck(channel, tag, False))
        else:
            self.send(m.BasicNack(channel, tag, False, True))

    def commit(self) -> None:
        self.awaited.append(("committed", (self.in_tx, self.settled_in_tx)))
        self.in_tx, self.settled_in_tx = [], []
        self.send(m.TxCommit(TX))

    def purge(self, queue: int) -> None:
        name = list(QUEUES)[queue]
        ready = [int(body) for body in self.host.bodies(name)]
        self.let_go.update(ready)
        self.awaited.append(("purged", ready))
        self.send(m.QueuePurge(CONFIRMS, 0, name))

    # -- what the driver does

    def tick(self) -> None:
        block = self.host.journal.seal()
        if block is not None:
            self.gone_with[id(block)], self.unsealed_gone = self.unsealed_gone, set()
            self.host.commits.take([block])

    def write(self) -> None:
        self.host.write()
        waiting = {id(block) for block in self.host.commits.waiting}
        for block in [block for block in self.gone_with if block not in waiting]:
            self.gone.update(self.gone_with.pop(block))
        self.read()

    def cycle(self, queue: int) -> None:
        """A message comes and goes, and is written."""
        self.publish(queue, CONFIRMS)
        self.tick()
        self.get(queue, CONFIRMS)
        self.settle("ack", CONFIRMS)
        self.tick()
        self.write()

    def do(self, step: tuple) -> None:
        getattr(self, step[0])(*step[1:])


def check(host: Host, world: World) -> None:
    assert not [note for note in host.log.notes if "damaged" in note]
    there = [int(body) for queue in QUEUES for body in host.bodies(queue)]
    assert len(there) == len(set(there)), "twice"
    assert set(there) <= world.published
    assert not world.confirmed - world.let_go - set(there), "confirmed, and lost"
    assert not world.gone & set(there), "settled, and back"
    assert world.declared <= set(host.broker.vhost.queues)
