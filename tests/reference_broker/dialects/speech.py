"""What the tests of dialects have in common: the dialects of real brokers, oldest first, and what is in an answer."""

from __future__ import annotations

from codec import methods as m

REAL = ["rabbitmq-3.8", "rabbitmq-3.10", "rabbitmq-4.0", "rabbitmq-4.3"]


def bodies(frames):
    return [frame for frame in frames if isinstance(frame, m.BasicDeliver)]


def closes(frames):
    return [frame for frame in frames if isinstance(frame, m.ChannelClose | m.ConnectionClose)]


def classic(speaking, dialect, *messages):
    client = speaking(dialect)
    client.queue("cq")
    client.publish(*messages, queue="cq")
    return client
