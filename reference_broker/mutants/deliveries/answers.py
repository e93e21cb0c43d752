"""Missing answers: what is asked is done, and nobody is told."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel
from reference_broker.mutants.kinds import handles, memory


@handles(m.QueuePurge, "answers.none-to-purge", "queue.purge is not answered", "ERR-014")
def none_to_purge(channel: Channel, method: m.QueuePurge) -> None:
    method.no_wait = True
    topology.queue_purge(channel, method)


@handles(
    m.QueueDelete,
    "answers.none-to-a-deletion-under-consumers",
    "the deletion of a queue with consumers is not answered",
    "ERR-014",
)
def none_to_a_deletion_under_consumers(channel: Channel, method: m.QueueDelete) -> None:
    queue = channel.vhost.queues.get(method.queue)
    method.no_wait = method.no_wait or (queue is not None and bool(queue.consumers))
    topology.queue_delete(channel, method)


@handles(
    m.QueueBind, "answers.none-to-bind", "queue.bind is not answered where the binding is there already", "ERR-014"
)
def none_to_bind(channel: Channel, method: m.QueueBind) -> None:
    known = memory(channel.connection.broker, "bound", set)
    key = method.queue, method.exchange, method.routing_key
    method.no_wait = method.no_wait or key in known
    known.add(key)
    topology.queue_bind(channel, method)
