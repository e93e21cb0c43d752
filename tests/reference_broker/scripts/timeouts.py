"""Consumer timeouts: who sets them, who is hit, what settling does afterwards."""

from codec import methods as m
from codec import values
from reference_broker.core.settings import Policy

FLOW = m.ChannelFlow(1, True)


def _eat(client, tag, queue, timeout=None, channel=1):
    arguments = [] if timeout is None else values.table({"x-consumer-timeout": timeout})
    client.consume(tag, queue, channel, arguments=arguments)


def _wait(client, seconds):
    """Time passes in steps, and what is said meanwhile is read after each."""
    for _ in range(round(seconds * 10)):
        client.core.move_to(client.core.clock.now + 0.1)
        client.read()
        client.send(FLOW)


def timeout_levels(client):
    settings = client.core.vhost.settings
    for name, level in (("u", 2000), ("v", 3000)):
        settings.policies[name] = Policy(name, f"^{name}$", {"consumer-timeout": level})
    settings.policies["q"] = Policy("q", "^q$", {"consumer-timeout": 500})
    client.open(2)
    for name, argument in (("t", 1000), ("u", 3000), ("v", 2000)):
        client.quorum(name, consumer_timeout=argument)
    client.quorum("w")
    client.quorum("x", consumer_timeout=4000)
    settings.consumer_timeout = 1500
    for name in "tuvwxq":
        client.publish("1", queue=name)
    for tag, queue, timeout in (("a", "t", 1700), ("b", "u", None), ("c", "v", None), ("d", "w", None), ("e", "x", 0)):
        _eat(client, tag, queue, timeout, 2)
    _eat(client, "f", "q", None, 2)
    _wait(client, 3.5)


def timeout_default(client):
    client.quorum("t")
    client.publish("1", queue="t")
    _eat(client, "a", "t")
    _wait(client, 2)
    client.core.move_to(client.core.clock.now + 1800)
    client.read()
    client.send(FLOW)


def _timed_out(client, *settle):
    """Two consumers and three deliveries, of which two time out one after the other; then this is done."""
    client.quorum("t")
    client.quorum("u")
    client.publish("a", queue="u")
    client.send(m.BasicQos(1, prefetch_count=2))
    _eat(client, "y", "u", 60000)
    _eat(client, "x", "t", 1000)
    _wait(client, 0.3)
    client.publish("1", queue="t")
    _wait(client, 0.5)
    client.publish("2", "3", "4", queue="t")
    _eat(client, "z", "t", 60000)
    _wait(client, 2)
    client.send(*settle, FLOW)
    _wait(client, 1.5)


def timeout_settled(client):
    _timed_out(client, m.BasicAck(1, 2), FLOW, m.BasicAck(1, 3), FLOW)


def timeout_settled_again(client):
    _timed_out(client, m.BasicAck(1, 2), FLOW, m.BasicAck(1, 2), FLOW)


def timeout_settled_late(client):
    _timed_out(client, m.BasicAck(1, 1), m.BasicAck(1, 4), FLOW, m.BasicNack(1, 2), m.BasicAck(1, 3))


def timeout_alone(client):
    """One consumer, one message, which goes back again and again."""
    client.quorum("t")
    client.publish("1", "2", "3", queue="t")
    client.send(m.BasicQos(1, prefetch_count=1))
    _eat(client, "x", "t", 0)
    for number in range(1, 24):
        _wait(client, 0.1)
        client.send(m.BasicAck(1, number), FLOW)


def timeout_in_time(client):
    client.quorum("t")
    client.publish("1", queue="t")
    _eat(client, "x", "t", 500)
    client.send(m.BasicAck(1, 1), FLOW)
    _wait(client, 1)


def timeout_of_two(client):
    """One of two is settled in time."""
    client.quorum("t")
    client.publish("1", "2", queue="t")
    _eat(client, "x", "t", 1000)
    _wait(client, 0.6)
    client.send(m.BasicAck(1, 1), FLOW)
    _wait(client, 0.6)


def timeout_needless(client):
    client.quorum("t")
    client.publish("1", queue="t")
    client.consume("x", "t", no_ack=True, arguments=values.table({"x-consumer-timeout": 500}))
    _wait(client, 1)


def timeout_negative(client):
    client.quorum("t")
    _eat(client, "x", "t", -1)
    client.send(FLOW)


def timeout_agreed(client):
    client.quorum("t")
    client.publish("1", "2", queue="t")
    client.send(m.BasicQos(1, prefetch_count=1))
    _eat(client, "x", "t", 500)
    _wait(client, 1)
    client.send(m.BasicCancelOk(1, "x"), FLOW)
    _eat(client, "x", "t", 60000)
    client.send(m.BasicAck(1, 1), FLOW, m.ChannelClose(1, 200), m.ChannelOpen(1))
    client.drain("t")


def timeout_unannounced(client):
    """A client that can be notified and one that cannot share a queue."""
    client.quorum("t")
    client.publish("1", "2", queue="t")
    client.send(m.BasicQos(1, prefetch_count=1))
    _eat(client, "x", "t", 500)
    other = type(client)(client.core, {}).open()
    other.send(m.BasicQos(1, prefetch_count=1))
    _eat(other, "y", "t", 500)
    _wait(client, 1)
    other.read()
    other.send(m.ChannelCloseOk(1), m.ChannelOpen(1))
    client.log += other.log


def timeout_by_tick(client):
    client.speaking("rabbitmq-4.0")
    client.queue("t", arguments={"x-consumer-timeout": 1000})
    client.publish("1", queue="t")
    client.consume("x", "t")
    client.core.move_to(client.core.clock.now + 61)
    client.read()
    client.send(FLOW)
