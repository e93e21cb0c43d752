"""Channels and connections: several side by side, errors, what ends and begins again."""

import codec
from codec import methods as m

FLOW = m.ChannelFlow(1, True)


def close_and_reopen(client):
    client.publish(*"123")
    client.gets(2)
    client.send(m.ChannelClose(1, 200), m.ChannelOpen(1))
    client.send(m.BasicAck(1, 1), FLOW)
    client.reopen()
    client.get()


def two_channels(client):
    client.open(2)
    client.publish(*"12")
    client.get()
    client.get(channel=2)
    client.send(m.BasicAck(1, 1), m.ChannelFlow(2, True))


def foreign_tag(client):
    client.open(2)
    client.publish(*"12")
    client.gets(2)
    client.send(m.BasicAck(2, 2), m.ChannelFlow(2, True), FLOW)
    client.send(m.ChannelCloseOk(2), m.ChannelClose(1, 200), m.ChannelOpen(1))


def error_beside_a_consumer(client):
    client.open(2)
    client.consume("c", channel=2)
    client.send(m.BasicAck(1, 9))
    client.reopen()
    client.publish("1")
    client.send(m.ChannelFlow(2, True))


def pipelined_after_error(client):
    client.consume()
    publish = codec.content(m.BasicPublish(1, 0, "", "q"), b"late")
    client.send(m.BasicAck(1, 9), publish, FLOW)
    other = type(client)(client.core).open()
    other.publish("1")
    client.read()
    client.reopen()


def pipelined_without_consumer(client):
    publish = codec.content(m.BasicPublish(1, 0, "", "q"), b"late")
    client.send(m.BasicAck(1, 9), publish, FLOW)
    client.reopen()


def modes_after_reopen(client):
    client.send(m.ConfirmSelect(1), m.BasicQos(1, 0, 1), m.BasicAck(1, 9))
    client.reopen()
    client.publish(*"123")
    client.consume()


def crossing_closes(client):
    client.send(m.BasicAck(1, 9))
    client.send(m.ChannelClose(1, 200))
    client.reopen()


def hard_error(client):
    client.send(m.BasicQos(1, 10))


def consumer_tag_twice(client):
    client.consume("t")
    client.consume("t")


def unopened(client):
    client.send(m.BasicAck(7, 1), FLOW)


def publish_and_consume_confirmed(client):
    client.send(m.ConfirmSelect(1))
    client.publish("1", "2")
    client.consume()
    client.publish("3")


def mixed_persistence(client):
    for body, mode in (("1", 1), ("2", 2), ("3", 1)):
        client.publish(body, delivery_mode=mode)


def close_of_a_laden_channel(client):
    client.publish(*"1234")
    client.gets(2)
    client.consume("gone")
    client.send(m.BasicCancel(1, "gone"), m.ChannelClose(1, 200), m.ChannelOpen(1))


def close_of_a_laden_connection(client):
    client.open(2)
    client.publish(*"12")
    client.get()
    client.get(channel=2)
    client.send(m.ConnectionClose(0, 200))


def loss_with_much_unread(client):
    client.publish(*map(str, range(30)))
    client.consume()


def error_of_a_laden_channel(client):
    client.publish(*"12")
    client.gets(2)
    client.send(m.BasicAck(1, 9))


def close_in_a_transaction(client):
    client.publish(*"12")
    client.send(m.TxSelect(1))
    client.gets(2)
    client.send(m.BasicAck(1, 1), m.ChannelClose(1, 200))


def silence(client):
    other = type(client)(client.core, log_in=False)
    other.send(
        codec.ProtocolHeader(), m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0, 2047, 131072, 2), m.ConnectionOpen(0, "/"),
    )  # fmt: skip
    for _ in range(8):
        client.core.move_to(client.core.clock.now + 1)
        other.read()
        client.log.append(other.connection.finished)


def close_before_one_who_waits(client):
    other = type(client)(client.core).open()
    client.publish("1")
    client.get()
    other.consume()
    client.send(m.ChannelClose(1, 200))
    other.read()
    client.log += other.log


def nothing_to_purge(client):
    client.send(m.QueueDeclare(1, queue="empty"), m.QueuePurge(1, queue="empty"), FLOW)
