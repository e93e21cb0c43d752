"""Lawful variations of how soon something goes by itself: with its last consumer, last binding, or connection; and how
soon a queue knows that a consumer has gone, or a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codec import methods as m
from reference_broker.core.errors import precondition
from reference_broker.nondeterminism.kinds import TICKS, Free, variation

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel
    from reference_broker.core.channels.prefetch import Consumer
    from reference_broker.core.connections.connection import Connection
    from reference_broker.core.queues.queue import Queue
    from reference_broker.core.routing import Binding
    from reference_broker.core.vhost import VirtualHost


@variation(
    "names.go-late",
    "delete queues and exchanges that go by themselves a moment after that is told",
    'AMQP 0-9-1 XML: exchange.declare, auto-delete, rule 02: a server "SHOULD allow for a reasonable delay between the '
    'point when it determines that an exchange is not being used" and its deletion; when a queue goes is not said '
    'anywhere. Guide Queues: "a natural race condition" between the deletion of exclusive queues and who declares them '
    "anew",
    share=(0.1, 0.5, 1.0),
    ticks=TICKS,
)
def go_late(free: Free) -> None:
    hosts, queues, connections = free.parts.vhost, free.parts.queue, free.parts.connection

    def remove(queue: Queue) -> None:
        if not queue.deleted:
            queue.vhost.delete_queue(queue)

    def leave(self: Queue, consumer: Consumer) -> None:
        late = self.auto_delete and free.luck()
        self.auto_delete = self.auto_delete and not late
        queues.leave(self, consumer)
        self.auto_delete = self.auto_delete or late
        if late and not self.consumers:
            free.put_off(lambda: None if self.consumers else remove(self))

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        source = binding.source
        late = source.auto_delete and binding in source.bindings and free.luck()
        source.auto_delete = source.auto_delete and not late
        hosts.drop_binding(self, binding)
        source.auto_delete = source.auto_delete or late
        if late:
            free.put_off(lambda: idle(self, binding))

    def idle(host: VirtualHost, binding: Binding) -> None:
        source = binding.source
        if not source.bindings and host.exchanges.get(source.name) is source:
            host.delete_exchange(source)

    def end_channels(self: Connection) -> None:
        late = {queue: None for queue in self.exclusive if free.luck()}
        for queue in late:
            del self.exclusive[queue]
        connections.end_channels(self)
        for queue in late:
            free.put_off(lambda queue=queue: remove(queue))  # type: ignore[misc]

    free.parts.override("queue", leave=leave)
    free.parts.override("vhost", drop_binding=drop_binding)
    free.parts.override("connection", end_channels=end_channels)


@variation(
    "consumers.missed-late",
    "take a queue for used, or for exclusively used, for a moment after its consumer has ended",
    "AMQP 0-9-1 XML: basic.consume, field exclusive, queue.delete, field if-unused, and basic.cancel-ok: the answer "
    '"confirms that the cancellation was completed"; when the queue knows of it, for what comes on other channels, is '
    "not said, nor how soon after the end of a channel",
    share=(0.1, 0.5),
    ticks=TICKS,
)
def missed_late(free: Free) -> None:
    queues, delete = free.parts.queue, free.parts.handlers[m.QueueDelete]

    def missed(queue: Queue) -> list[bool]:
        """Of those that are missed soon: were they exclusive?"""
        found: list[bool] = vars(queue).setdefault("missed", [])
        return found

    def leave(self: Queue, consumer: Consumer) -> None:
        exclusive = self.exclusive_consumer
        queues.leave(self, consumer)
        if not self.deleted and free.luck():
            missed(self).append(exclusive)
            free.put_off(lambda: missed(self).remove(exclusive))

    def excludes(self: Queue, exclusive: bool) -> bool:
        former = missed(self)
        return any(former) or (exclusive and bool(former)) or queues.excludes(self, exclusive)

    def queue_delete(channel: Channel, method: m.QueueDelete) -> None:
        queue = channel.vhost.queues.get(method.queue or channel.last_queue)
        if queue is not None and method.if_unused and missed(queue):
            raise precondition(f"queue '{queue.name}' in vhost '/' in use")
        delete(channel, method)

    free.parts.override("queue", leave=leave, excludes=excludes)
    free.parts.handlers[m.QueueDelete] = queue_delete


@variation(
    "conditions.out-is-filled",
    "spare a queue with if-empty while clients hold messages of it",
    'AMQP 0-9-1 XML: queue.delete, field if-empty: the server will "only delete the queue if it has no messages"; that '
    "those do not count which wait for an acknowledgement is said of message-count alone",
    share=(0.5, 1.0),
)
def out_is_filled(free: Free) -> None:
    delete = free.parts.handlers[m.QueueDelete]

    def queue_delete(channel: Channel, method: m.QueueDelete) -> None:
        queue = channel.vhost.queues.get(method.queue or channel.last_queue)
        if queue is not None and method.if_empty and _lends(channel, queue) and free.luck():
            raise precondition(f"queue '{queue.name}' in vhost '/' not empty")
        delete(channel, method)

    free.parts.handlers[m.QueueDelete] = queue_delete


def _lends(channel: Channel, queue: Queue) -> bool:
    """Is a message of it out with any client?"""
    channels = [one for connection in channel.connection.broker.connections for one in connection.channels.values()]
    return any(held.queue is queue for one in channels for held in one.unacked.by_tag.values())
