"""The core as a whole: everything is in one place at any time, and nothing gets lost on the way."""

import random

from codec import methods as m

BODIES = [str(number) for number in range(300)]


def test_conservation_under_a_random_schedule(core, connect, found_in):
    """Whatever clients do, each message is acknowledged once or still in the queue, in order."""
    chance = random.Random(11)
    admin = connect().open()
    admin.queue()
    clients = [connect().open() for _ in range(3)]
    for client in clients[:2]:
        client.send(m.BasicQos(1, 0, 7))
    held, acked = {}, set()

    def note(client):
        for tag, body, _ in found_in(client.read()):
            assert body not in acked
            held[client, tag] = body

    for body in BODIES:
        admin.publish(body)
        client = chance.choice(clients)
        match chance.randrange(6):
            case 0:
                client.feed(m.BasicConsume(1, 0, "q", f"c{body}").encode() if chance.random() < 0.1 else b"")
            case 1:
                note(client)
                tags = [tag for owner, tag in held if owner is client]
                if tags:
                    tag = chance.choice(tags)
                    client.feed(m.BasicAck(1, tag).encode())
                    acked.add(held.pop((client, tag)))
            case 2:
                note(client)
                tags = [tag for owner, tag in held if owner is client]
                if tags:
                    tag = chance.choice(tags)
                    client.feed(m.BasicNack(1, tag, True, True).encode())
                    for low in [low for low in tags if low <= tag]:
                        del held[client, low]
            case 3:
                client.feed(m.BasicGet(1, 0, "q").encode())
            case 4 if chance.random() < 0.2:
                note(client)
                client.feed(m.ChannelClose(1, 200).encode() + m.ChannelOpen(1).encode())
                for owner, tag in [key for key in held if key[0] is client]:
                    del held[owner, tag]
        for each in clients:
            note(each)
    for client in clients:
        client.connection.lost()
    left = [body for body, _ in admin.drain()]
    assert left == sorted(left, key=int)
    assert sorted([*left, *acked], key=int) == BODIES
    assert acked
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
