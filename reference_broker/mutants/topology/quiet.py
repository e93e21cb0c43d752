"""What is declared, looked for, bound or unbound without an answer or without a name."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory
from reference_broker.mutants.topology.binding import Handle, handling


@handling(
    (m.QueueDeclare,),
    "quiet.last-queue-forgotten",
    "a queue that is there and is declared with nowait is not the last one of the channel",
    "QUEUE-015",
)
def last_queue_forgotten(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    last, there = channel.last_queue, method.queue in channel.vhost.queues
    below(channel, method)
    if there and method.no_wait:
        channel.last_queue = last


@handling(
    (m.QueueBind,),
    "quiet.no-key",
    "a topic exchange takes the empty key where neither queue nor key is named",
    "ROUTE-003",
    "QUEUE-015",
)
def no_key(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    exchange = channel.vhost.exchanges.get(method.exchange)
    if exchange is not None and exchange.TYPE == "topic":
        method.queue = method.queue or channel.last_queue
    below(channel, method)


@handling(
    (m.QueueDeclare,),
    "quiet.other-arguments",
    "a queue may be declared with other arguments where no answer is wanted",
    "QUEUE-005",
    "NOWAIT-006",
)
def other_arguments(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and method.no_wait:
        method.arguments = queue.table
    below(channel, method)


@changes("quiet.exclusive", "a queue that is declared as exclusive with nowait is everybody's", "QUEUE-007")
def exclusive(parts: Parts) -> None:
    below = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        new = method.queue not in channel.vhost.queues
        below(channel, method)
        queue = channel.vhost.queues.get(method.queue)
        if new and queue is not None and method.no_wait and queue.owner is not None:
            channel.connection.exclusive.pop(queue, None)
            queue.owner = None

    parts.handlers[m.QueueDeclare] = declare


@changes("quiet.auto-delete", "a queue that is declared with nowait is not auto-delete", "QUEUE-024")
def auto_delete(parts: Parts) -> None:
    below = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        method.auto_delete = method.auto_delete and not method.no_wait
        below(channel, method)

    parts.handlers[m.QueueDeclare] = declare


@changes("quiet.fourth-declaration-empties", "the fourth declaration of a queue empties it", "RQ-011", "QUEUE-003")
def fourth_declaration_empties(parts: Parts) -> None:
    below = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        queue = channel.vhost.queues.get(method.queue)
        if queue is not None and not method.passive:
            memory(queue, "declared", list).append(method)
            if len(memory(queue, "declared", list)) == 3:
                queue.purge()
        below(channel, method)

    parts.handlers[m.QueueDeclare] = declare


@changes(
    "quiet.failure-unlocks",
    "the exclusive queues of a connection are no more its own when one of its channels has failed",
    "QUEUE-007",
)
def failure_unlocks(parts: Parts) -> None:
    below = parts.channel

    def fail(self: Channel) -> None:
        below.fail(self)
        for queue in self.connection.exclusive:
            queue.owner = None
        self.connection.exclusive.clear()

    parts.override("channel", fail=fail)


@handling(
    (m.ExchangeDeclare,),
    "quiet.look-finds-all",
    "who looks with nowait for an exchange that is not there is told nothing",
    "NOWAIT-006",
    "EXCH-001",
)
def look_finds_all(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if not (method.passive and method.no_wait):
        below(channel, method)


@handling(
    (m.ExchangeUnbind,),
    "quiet.exchange-stays-bound",
    "a binding between exchanges stays when it is removed with nowait",
    "NOWAIT-001",
    "BIND-013",
)
def exchange_stays_bound(channel: Channel, method: m.ExchangeUnbind, below: Handle) -> None:
    if not method.no_wait:
        below(channel, method)


@handling(
    (m.BasicConsume,),
    "quiet.consumed-from-is-last",
    "the empty name stands for the queue that the channel consumes from",
    "QUEUE-015",
)
def consumed_from_is_last(channel: Channel, method: m.BasicConsume, below: Handle) -> None:
    below(channel, method)
    channel.last_queue = method.queue or channel.last_queue


@changes("quiet.purge-takes-all", "a purge with nowait removes what is unacknowledged as well", "QUEUE-019")
def purge_takes_all(parts: Parts) -> None:
    below, queues = parts.handlers[m.QueuePurge], parts.queue

    def purge(channel: Channel, method: m.QueuePurge) -> None:
        below(channel, method)
        held = [one for each in channel.connection.broker.connections for one in each.channels.values()]
        for delivery in [one for each in held for one in each.unacked.by_tag.values()] if method.no_wait else ():
            if delivery.queue.name == method.queue:
                memory(delivery.queue, "purged", list).append(delivery.entry)

    def put_back(self: Queue, entry: Entry) -> None:
        if all(one is not entry for one in memory(self, "purged", list)):
            queues.put_back(self, entry)

    parts.handlers[m.QueuePurge] = purge
    parts.override("queue", put_back=put_back)
