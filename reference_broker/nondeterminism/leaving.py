"""Lawful variations of how soon something goes by itself: with its last consumer, last binding, or connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.nondeterminism.kinds import TICKS, Free, variation

if TYPE_CHECKING:
    from reference_broker.connection import Connection
    from reference_broker.prefetch import Consumer
    from reference_broker.queue import Queue
    from reference_broker.routing import Binding
    from reference_broker.vhost import VirtualHost


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
        late = source.auto_delete and free.luck()
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
