"""What is acknowledged, returned and discarded, singly and in multiples, rightly and wrongly."""

import codec
from codec import methods as m

FLOW = m.ChannelFlow(1, True)


def _requeue(tag, multiple=False):
    return m.BasicNack(1, tag, multiple, True)


def settle_singles(client):
    client.publish(*"123456")
    client.gets(5)
    client.send(m.BasicAck(1, 3), _requeue(5), m.BasicReject(1, 4), m.BasicReject(1, 2, True), FLOW)
    client.gets(2)
    client.send(m.ChannelClose(1, 200), m.ChannelOpen(1))


def settle_multiples(client):
    client.publish(*"12345678")
    client.gets(6)
    client.send(m.BasicAck(1, 2), m.BasicAck(1, 4, True), FLOW, m.ChannelClose(1, 200), m.ChannelOpen(1))


def nack_multiples(client):
    client.publish(*"12345678")
    client.gets(6)
    client.send(m.BasicNack(1, 2), _requeue(4, True), FLOW)
    client.gets(2)
    client.send(m.BasicNack(1, 6, True), FLOW, m.ChannelClose(1, 200), m.ChannelOpen(1))


def multiple_over_everything(client):
    client.queue("other")
    client.publish("1", "2", "3")
    client.publish("a", "b", queue="other")
    client.get()
    client.consume("x")
    client.consume("y", "other")
    client.send(m.BasicCancel(1, "x"), m.BasicCancel(1, "y"))
    client.send(m.BasicAck(1, 5, True), FLOW, m.ChannelClose(1, 200), m.ChannelOpen(1))
    client.drain("other")


def tag_zero(client):
    client.open(2)
    client.publish(*"1234")
    client.get(channel=2)
    client.gets(2)
    client.send(m.BasicAck(1, 0, True), FLOW)
    client.send(m.ChannelClose(1, 200), m.ChannelClose(2, 200), m.ChannelOpen(1))


def tag_zero_on_nothing(client):
    client.send(m.BasicAck(1, 0, True), FLOW)
    client.send(m.BasicNack(1, 0, True), FLOW)


def tag_zero_alone(client):
    for method in (m.BasicAck(1, 0), m.BasicReject(1, 0), m.BasicNack(1, 0)):
        client.publish("1")
        client.get()
        client.send(method, FLOW)
        client.reopen()


def stale_multiple(client):
    client.publish(*"1234")
    client.gets(4)
    client.send(m.BasicAck(1, 2), m.BasicAck(1, 2, True), FLOW)
    client.reopen()


def stale_nack_multiple(client):
    client.publish(*"1234")
    client.gets(4)
    client.send(m.BasicAck(1, 2), m.BasicNack(1, 2, True), FLOW)
    client.reopen()


def multiple_beyond(client):
    client.publish(*"123")
    client.gets(3)
    client.send(m.BasicAck(1, 9, True), FLOW)
    client.reopen()


def large_tags(client):
    client.publish("1")
    client.get()
    for tag, multiple in ((2**63, False), (2**64 - 1, True)):
        client.send(m.BasicAck(1, tag, multiple), FLOW)
        client.reopen()


def doubles(client):
    for first in (m.BasicAck(1, 1), _requeue(1), m.BasicReject(1, 1)):
        for second in (m.BasicAck(1, 1), m.BasicNack(1, 1), m.BasicReject(1, 1)):
            client.publish("1")
            client.get()
            client.send(first, second, FLOW)
            client.reopen()
            client.gets(3, no_ack=True)


def auto_ack(client):
    client.publish(*"12")
    client.get(no_ack=True)
    client.consume("auto", no_ack=True)
    client.publish("3")
    client.consume("manual")
    client.publish(*"4567")
    client.send(m.BasicAck(1, 1), FLOW)
    client.reopen()


def auto_ack_lost(client):
    other = type(client)(client.core).open()
    other.consume("auto", no_ack=True)
    client.publish("1", "2")
    other.connection.lost()


def two_consumers(client):
    client.queue("other")
    client.consume("x")
    client.consume("y", "other")
    sent = [codec.content(m.BasicPublish(1, 0, "", queue), b"m") for queue in ("q", "other", "q")]
    client.send(*sent)
    client.get()
    client.publish("z", queue="other")


def get_between_deliveries(client):
    client.send(m.BasicQos(1, 0, 1))
    client.publish(*"123")
    client.consume()
    client.get()
    client.send(m.BasicAck(1, 1), FLOW)


def many_acks_then_close(client):
    client.publish(*map(str, range(60)))
    client.gets(60)
    client.send(*[m.BasicAck(1, tag) for tag in range(1, 61)], m.ChannelClose(1, 200), m.ChannelOpen(1))


def cancel_then_settle(client):
    client.publish(*"12")
    client.consume()
    client.send(m.BasicCancel(1, "c"))
    client.get()
    client.send(m.BasicAck(1, 1), m.BasicNack(1, 2), FLOW)
    client.reopen()


def settle_of_deleted_queue(client):
    client.queue("brief")
    client.publish("1", queue="brief")
    client.get("brief")
    client.send(m.QueueDelete(1, 0, "brief"), m.BasicAck(1, 1), FLOW)


def discard_with_dead_letters(client):
    client.queue("dead")
    client.queue("q2", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    client.publish("1", "2", queue="q2")
    client.gets(2, "q2")
    client.send(m.BasicNack(1, 2, True, False), FLOW)
    client.drain("dead")


def requeue_order(client):
    client.publish(*"12345678")
    client.gets(6)
    client.send(_requeue(4), _requeue(2), m.BasicReject(1, 5, True), _requeue(6, True))


def requeue_to_a_consumer(client):
    client.publish(*"123")
    client.consume()
    client.send(_requeue(2), FLOW)
    client.send(_requeue(3, True), FLOW)


def requeue_elsewhere(client):
    other = type(client)(client.core).open()
    client.publish(*"123")
    client.gets(2)
    client.send(_requeue(1))
    other.gets(3)
    client.publish("4")
    other.get()
    client.log += other.log


def recover(client):
    client.publish(*"123")
    client.get()
    client.consume()
    client.send(m.BasicRecover(1, True), FLOW)
    client.send(m.BasicAck(1, 1), FLOW)


def ack_twice_after_recover(client):
    client.publish("1")
    client.consume()
    client.send(m.BasicRecover(1, True), m.BasicAck(1, 2), m.BasicAck(1, 2))


def requeue_to_a_shared_queue(client):
    client.open(2, 3)
    client.publish(*"12345")
    client.get()
    for channel in (2, 3):
        client.send(m.BasicQos(channel, 0, 1))
        client.consume(channel=channel)
    client.send(_requeue(1))
