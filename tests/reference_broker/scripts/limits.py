"""Prefetch: limits of consumers and of channels, what fills and frees their slots; delivery limits."""

from codec import methods as m

FLOW = m.ChannelFlow(1, True)


def _requeue(tag, multiple=False):
    return m.BasicNack(1, tag, multiple, True)


def _limit(count, shared=False, channel=1):
    return m.BasicQos(channel, 0, count, shared)


def limits_of_consumers(client):
    client.queue("other")
    client.publish(*"123456")
    client.publish(*"abcdef", queue="other")
    client.send(_limit(2), _limit(2))
    client.consume("x")
    client.consume("y")
    client.send(_limit(4), _limit(0))
    client.consume("z", "other")
    client.get()


def limits_of_channels(client):
    client.queue("other")
    client.publish(*"123456")
    client.publish(*"abcdefgh", queue="other")
    client.gets(2)
    client.send(_limit(4, True), _limit(3))
    client.consume("x", "other")
    client.consume("y")
    client.send(m.BasicAck(1, 1), _limit(2, True), m.BasicAck(1, 3), _limit(6, True), FLOW)


def limits_the_other_way_round(client):
    client.publish(*"1234567")
    client.send(_limit(3), _limit(5, True))
    client.consume("x")
    client.consume("y")


def gets_reach_a_limit(client):
    client.publish(*"1234")
    client.send(_limit(2, True))
    client.gets(3)


def room_for_many(client):
    client.queue("ample", arguments={"x-max-length": 1000})
    client.publish(*"123456", queue="ample")
    client.get("ample")


def limits_of_two_channels(client):
    client.open(2)
    client.publish(*"123456")
    client.send(_limit(2), _limit(1, True))
    client.consume("x", channel=2)


def limits_lowered(client):
    client.publish(*"123456789")
    client.consume("x")
    client.send(_limit(2, True))
    client.publish("a", "b")
    client.send(m.BasicAck(1, 8, True), FLOW, m.BasicAck(1, 9), FLOW)


def automatic_under_limits(client):
    client.queue("other")
    client.publish(*"1234")
    client.publish(*"abcd", queue="other")
    client.send(_limit(2), _limit(3, True))
    client.consume("x", no_ack=True)
    client.consume("y", "other")


def limit_and_global_on_a_quorum_queue(client):
    client.queue("qq", durable=True, arguments={"x-queue-type": "quorum"})
    client.send(_limit(2, True))
    client.consume("x", "qq")


def global_where_it_is_denied(client):
    client.speaking("rabbitmq-4.3")
    client.publish(*"1234")
    client.send(_limit(2, True))
    client.consume("x")


def slots_one_by_one(client):
    client.publish(*"123456789abcdef")
    client.send(_limit(4))
    client.consume("x")
    for method in (m.BasicAck(1, 3), m.BasicReject(1, 2), _requeue(4), m.BasicAck(1, 1)):
        client.send(method, FLOW)


def slots_of_several(client):
    client.queue("other")
    client.publish(*"123456789abcdef")
    client.publish(*"123456789abcdef", queue="other")
    client.send(_limit(3))
    client.consume("x")
    client.send(_limit(2))
    client.consume("y", "other")
    client.send(m.BasicAck(1, 2), FLOW, m.BasicAck(1, 5, True), FLOW)


def slots_of_cancelled_consumers(client):
    client.publish(*"123456789")
    client.send(_limit(3), _limit(4, True))
    client.consume("x")
    client.send(m.BasicCancel(1, "x"))
    client.consume("y")
    client.send(m.BasicAck(1, 3, True), FLOW)


def slots_and_gets(client):
    client.publish(*"123456")
    client.get()
    client.send(_limit(2))
    client.consume("x")
    client.send(m.BasicAck(1, 1), FLOW)


def slots_and_recovered_gets(client):
    client.publish(*"123456")
    client.send(_limit(2, True))
    client.gets(2)
    client.send(m.BasicRecover(1, True))
    client.consume("x")
    client.send(FLOW)


def slots_before_commit(client):
    client.publish(*"123456")
    client.send(m.TxSelect(1), _limit(2))
    client.consume("x")
    client.send(m.BasicAck(1, 1), FLOW, m.TxCommit(1))


def returns_to_a_quorum_queue(client):
    client.open(2)
    client.queue("qq", durable=True, arguments={"x-queue-type": "quorum"})
    client.publish(*"123456", queue="qq")
    client.gets(4, "qq")
    client.send(_requeue(3), m.BasicReject(1, 2, True), FLOW)
    client.gets(3, "qq", 2)


def batches_to_a_quorum_queue(client):
    client.open(2)
    client.queue("qq", durable=True, arguments={"x-queue-type": "quorum"})
    client.publish(*"1234", queue="qq")
    client.gets(3, "qq")
    client.send(_requeue(3, multiple=True), FLOW)
    client.gets(4, "qq")
    client.send(m.ChannelClose(1, 200, "", 0, 0))
    client.gets(4, "qq", 2)


def returns_beyond_the_limit(client):
    client.queue("qq", durable=True, arguments={"x-queue-type": "quorum", "x-delivery-limit": 2})
    for give_back in (lambda tag: m.BasicReject(1, tag, True), _requeue):
        client.publish("1", queue="qq")
        for _ in range(4):
            delivery = client.get("qq")
            if delivery is not None:
                client.send(give_back(delivery[0]), FLOW)
