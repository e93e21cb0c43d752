"""The core as a whole: everything is in one place at any time, and nothing gets lost on the way."""

import random

from codec import methods as m

BODIES = [str(number) for number in range(300)]


class Schedule:
    """Three clients, each with what it holds, and what was acknowledged."""

    def __init__(self, clients, found_in):
        self.chance = random.Random(11)
        self.clients, self.found_in = clients, found_in
        self.held, self.acked = {}, set()

    def note(self, client):
        for tag, body, _ in self.found_in(client.read()):
            assert body not in self.acked
            self.held[client, tag] = body

    def tags_of(self, client):
        self.note(client)
        return [tag for owner, tag in self.held if owner is client]

    def consume(self, client, body):
        if self.chance.random() < 0.1:
            client.feed(m.BasicConsume(1, 0, "q", f"c{body}").encode())

    def ack(self, client, body):
        for tag in self.drawn(self.tags_of(client)):
            client.feed(m.BasicAck(1, tag).encode())
            self.acked.add(self.held.pop((client, tag)))

    def nack(self, client, body):
        tags = self.tags_of(client)
        for tag in self.drawn(tags):
            client.feed(m.BasicNack(1, tag, True, True).encode())
            for low in [low for low in tags if low <= tag]:
                del self.held[client, low]

    def get(self, client, body):
        client.feed(m.BasicGet(1, 0, "q").encode())

    def reopen(self, client, body):
        if self.chance.random() < 0.2:
            tags = self.tags_of(client)
            client.feed(m.ChannelClose(1, 200).encode() + m.ChannelOpen(1).encode())
            for tag in tags:
                del self.held[client, tag]

    def drawn(self, tags):
        return [self.chance.choice(tags)] if tags else []

    def step(self, body):
        acts = (self.consume, self.ack, self.nack, self.get, self.reopen, lambda client, body: None)
        self.chance.choice(acts)(self.chance.choice(self.clients), body)
        for client in self.clients:
            self.note(client)


def test_conservation_under_a_random_schedule(core, connect, found_in):
    """Whatever clients do, each message is acknowledged once or still in the queue, in order."""
    admin = connect().open()
    admin.queue()
    clients = [connect().open() for _ in range(3)]
    for client in clients[:2]:
        client.send(m.BasicQos(1, 0, 7))
    schedule = Schedule(clients, found_in)
    for body in BODIES:
        admin.publish(body)
        schedule.step(body)
    for client in clients:
        client.connection.lost()
    left = [body for body, _ in admin.drain()]
    assert left == sorted(left, key=int)
    assert sorted([*left, *schedule.acked], key=int) == BODIES
    assert schedule.acked
    assert left


def test_server_properties_name_what_is_offered(connect):
    client = connect(log_in=False)
    (start,) = client.send(b"AMQP\0\0\x09\x01")
    fields = {name: value for name, _, value in start.server_properties}
    assert fields["product"] == b"amqp-conformance reference"
    assert ("consumer_cancel_notify", "t", True) in fields["capabilities"]
    assert start.mechanisms.split() == [b"PLAIN", b"AMQPLAIN"]


def test_a_lost_connection_leaves_nothing_behind(core, connect):
    admin = connect().open()
    admin.queue()
    client = connect().open(1, 2)
    client.queue("mine", exclusive=True)
    client.consume("x")
    client.connection.lost()
    assert list(core.connections) == [admin.connection]
    assert set(core.vhost.queues) == {"q"}
    assert not core.vhost.queues["q"].consumers
    assert not core.vhost.queues["q"].ring
