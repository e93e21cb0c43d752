"""Consumers that end: with their queues, and by cancels of all kinds."""

from codec import methods as m
from reference_broker.core.access import Permission, Rights

FLOW = m.ChannelFlow(1, True)


def deletion_with_consumers(client):
    client.open(2)
    client.queue("brief")
    client.publish(*"12345", queue="brief")
    client.send(m.BasicQos(1, 0, 1), m.BasicQos(2, 0, 1))
    for tag, queue, channel in (("a", "brief", 1), ("b", "brief", 1), ("c", "brief", 2), ("d", "q", 1)):
        client.consume(tag, queue, channel)
    client.send(m.QueueDelete(2, 0, "brief"))
    client.publish("4")
    client.send(m.BasicCancel(1, "a"), m.BasicAck(1, 1), m.BasicCancelOk(1, "b"), FLOW)


def deletion_before_the_deaf(client):
    for announced in ({}, {"consumer_cancel_notify": 1}):
        other = type(client)(client.core, capabilities=announced).open()
        client.queue("brief")
        other.consume("a", "brief")
        client.send(m.QueueDelete(1, 0, "brief"))
        other.read()
        client.log += other.log


def cancels_of_all_kinds(client):
    client.open(2)
    client.consume("c")
    client.send(m.BasicCancel(1, "c"), FLOW)
    client.publish("0")
    client.send(m.BasicCancel(1, "c"), FLOW)
    client.send(m.ChannelClose(1, 200), m.ChannelOpen(1))
    client.consume("s", channel=2)
    client.publish("1")
    client.consume("c")
    client.send(m.BasicCancel(1, "c", True), FLOW)
    client.consume("c")
    client.consume("s")


def right_to_read_withdrawn(client):
    client.consume("c")
    client.connection.permit(Rights(Permission(read="^$")))
    client.send(m.ConnectionUpdateSecret(0, b"secret", "refreshed"))
    other = type(client)(client.core).open()
    other.publish("1")
    client.read()
