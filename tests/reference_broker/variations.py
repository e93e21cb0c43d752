"""For each variation a script that shows it: one and the same on a broker with the variation, and on one without."""

from __future__ import annotations

from collections.abc import Callable

import codec
from codec import methods as m
from codec import values

FLOW = m.ChannelFlow(1, True)


def confirms(client, *sends):
    client.open()
    client.queue()
    client.send(m.ConfirmSelect(1))
    seen = []
    for bodies in sends:
        client.feed(b"".join(codec.content(m.BasicPublish(1, 0, "", "q"), body) for body in bodies))
        seen += client.tick()
    return [(frame.delivery_tag, frame.multiple) for frame in seen + client.read()]


def consumers_of_one_queue(client):
    client.open(1, 2)
    client.queue()
    client.consume("a")
    client.consume("b", channel=2)
    return [frame.consumer_tag for frame in client.publish(*"123456") if isinstance(frame, m.BasicDeliver)]


def queues_of_one_channel(client):
    client.open()
    client.send(m.BasicQos(1, 0, 1, True))
    for name in "abc":
        client.queue(name)
        client.publish("1", "2", queue=name)
        client.consume(name, name)
    seen = [client.send(m.BasicAck(1, tag)) for tag in range(1, 4)]
    return [frame.consumer_tag for frames in seen for frame in frames if isinstance(frame, m.BasicDeliver)]


def kinds(frames):
    return [type(frame).__name__ for frame in frames if isinstance(frame, codec.Method)]


def publish_beside_a_consumer(client):
    client.open()
    client.queue()
    client.consume()
    return kinds(client.send(codec.content(m.BasicPublish(1, 0, "", "q"), b"1"), FLOW))


def wider_limit(client):
    client.open()
    client.queue()
    client.send(m.BasicQos(1, 0, 1, True))
    client.publish("1", "2")
    client.consume()
    return kinds(client.send(m.BasicQos(1, 0, 2, True), FLOW))


def deleted_under_consumers(client):
    client.open()
    client.queue()
    client.consume("a")
    client.consume("b")
    frames = client.send(m.QueueDelete(1, 0, "q"))
    return [getattr(frame, "consumer_tag", "ok") for frame in frames]


def get_after_publish(client):
    client.open()
    client.quorum("s")
    return kinds(client.send(codec.content(m.BasicPublish(1, 0, "", "s"), b"1"), m.BasicGet(1, 0, "s")))


def slot_after_ack(client):
    client.open()
    client.queue()
    client.send(m.BasicQos(1, 0, 1))
    client.publish("1", "2")
    client.consume()
    return kinds(client.send(m.BasicAck(1, 1), FLOW))


def get_after_close(client):
    client.open(1, 2)
    client.queue()
    client.publish("1")
    client.get()
    return kinds(client.send(m.ChannelClose(1, 200), m.BasicGet(2, 0, "q")))


def body_frames(client):
    client.open()
    client.queue()
    client.publish("x" * 100)
    return [len(frame.payload) for frame in client.send(m.BasicGet(1, 0, "q")) if isinstance(frame, codec.Body)]


def beating(client):
    client.send(
        codec.ProtocolHeader(),
        m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0, 2047, 131072, 60),
        m.ConnectionOpen(0, "/"),
    )
    return [type(frame).__name__ for frame in client.send(m.ChannelOpen(1))]


def told_of_shortages(client):
    asked = {"capabilities": {"connection.blocked": True}}
    client.send(
        codec.ProtocolHeader(),
        m.ConnectionStartOk(0, values.table(asked), "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0, 2047, 131072, 0),
        m.ConnectionOpen(0, "/"),
    )
    return kinds(client.send(m.ChannelOpen(1)) + client.send(FLOW))


def publishes_with_answers(client):
    client.open()
    client.queue()
    client.send(m.ConfirmSelect(1))
    return kinds(client.send(*[codec.content(m.BasicPublish(1, 0, "", "q"), b"1") for _ in range(3)]))


def return_among_confirms(client):
    client.open()
    client.queue()
    client.send(m.ConfirmSelect(1))
    lost = codec.content(m.BasicPublish(1, 0, "", "nowhere", True), b"1")
    return kinds(client.send(lost, codec.content(m.BasicPublish(1, 0, "", "q"), b"2")))


def refused(client):
    """How publishes are answered, and which of them are there."""
    client.open()
    client.queue()
    client.send(m.ConfirmSelect(1))
    answers = [kinds(client.publish(body)) for body in "123456"]
    return answers, client.depth()


def a_window_of_three(client):
    """How many deliveries come in each tick."""
    client.open()
    client.queue()
    client.publish(*"12345")
    client.send(m.BasicQos(1, 0, 3))
    client.feed(m.BasicConsume(1, 0, "q", "c").encode())
    return [kinds(client.tick()).count("BasicDeliver"), kinds(client.read()).count("BasicDeliver")]


def returned_to_a_shared_queue(client):
    """The order in which two come back that a third consumer had, while two others share the queue."""
    client.open(1, 2, 3)
    client.queue()
    client.publish(*"123456")
    client.gets(4)
    for channel in (2, 3):
        client.send(m.BasicQos(channel, 0, 1), m.BasicConsume(channel, 0, "q", "c"))
    client.send(m.BasicNack(1, 3, False, True), m.BasicNack(1, 2, False, True))
    return client.gets(2)


def two_channels(client):
    """The order of the answers, when one channel is asked first, many times."""
    client.open(1, 2)
    return [[frame.channel for frame in client.send(m.ChannelFlow(1, True), m.ChannelFlow(2, True))] for _ in range(20)]


def silences(client):
    """How often an answer did not come, before a second has gone by and after it."""
    client.open()
    client.core.clock.flows = True
    missing = [not client.send(FLOW) for _ in range(200)].count(True)
    client.core.move_to(client.core.clock.now + 2)
    return missing > 0, len(client.read()) == missing


def answers_on_three_channels(client):
    client.open(1, 2, 3)
    return [frame.channel for frame in client.send(*[m.ChannelFlow(channel, True) for channel in (1, 2, 3)])]


def found_after_the_last_cancel(client):
    client.open()
    client.send(m.QueueDeclare(1, queue="q", auto_delete=True))
    client.consume("a")
    return kinds(client.send(m.BasicCancel(1, "a"), m.QueueDeclare(1, queue="q", passive=True)))


def exclusive_after_a_cancel(client):
    client.open(1, 2)
    client.queue()
    client.consume("a")
    return kinds(client.send(m.BasicCancel(1, "a"), m.BasicConsume(2, 0, "q", "b", exclusive=True)))


def deleted_while_a_message_is_out(client):
    client.open()
    client.queue()
    client.publish("1")
    client.get()
    return kinds(client.send(m.QueueDelete(1, 0, "q", if_empty=True)))


def declared_as_another_type(client):
    client.open()
    client.send(m.ExchangeDeclare(1, exchange="x", type="direct"))
    return kinds(client.send(m.ExchangeDeclare(1, exchange="x", type="fanout")))


def sizes(client):
    client.open(1, 2, 3)
    client.send(*[m.ChannelFlow(channel, True) for channel in (1, 2, 3)])
    return [len(piece) for piece in client.pieces]


SCRIPTS: dict[str, Callable] = {
    "blocked.announced": told_of_shortages,
    "flow.restarts": publishes_with_answers,
    "returns.late": return_among_confirms,
    "confirms.each": lambda client: confirms(client, [b"1", b"2", b"3"]),
    "confirms.multiple-of-one": lambda client: confirms(client, [b"1"]),
    "confirms.held-back": lambda client: confirms(client, [b"1"], [b"2"], [b"3"]),
    "confirms.out-of-order": lambda client: confirms(client, [b"1", b"2", b"3"]),
    "dispatch.any-consumer": consumers_of_one_queue,
    "dispatch.any-queue": queues_of_one_channel,
    "dispatch.late": publish_beside_a_consumer,
    "prefetch.late": wider_limit,
    "cancel.any-order": deleted_under_consumers,
    "confirms.refuse": refused,
    "dispatch.one-by-one": a_window_of_three,
    "requeue.closer-to-head": returned_to_a_shared_queue,
    "names.go-late": found_after_the_last_cancel,
    "consumers.missed-late": exclusive_after_a_cancel,
    "conditions.out-is-filled": deleted_while_a_message_is_out,
    "refusals.as-the-text-has-them": declared_as_another_type,
    "channels.late": two_channels,
    "connections.pause": silences,
    "quorum.publish-late": get_after_publish,
    "settle.late": slot_after_ack,
    "close.returns-late": get_after_close,
    "bodies.split": body_frames,
    "heartbeats.interspersed": beating,
    "channels.interleave": answers_on_three_channels,
    "flush.piecemeal": sizes,
    "tcp.segments": sizes,
}
