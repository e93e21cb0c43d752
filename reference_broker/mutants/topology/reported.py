"""What users have reported of queues, exchanges and bindings."""

from __future__ import annotations

import re

from codec import methods as m
from codec.errors import ReplyCode
from codec.values import FieldTable
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import ChannelException, precondition, refused
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Direct, Exchange, Fanout, Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, handles, memory, replaces

RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/{}"
NOTES = "https://github.com/rabbitmq/rabbitmq-server/blob/main/release-notes/README-{}.txt"
LONG = 250
MARKS = {"*": "[^.]+", "#": ".*"}
"""What stands for words of a topic, in a regular expression."""


@replaces(
    "vhost.drop_binding",
    "reported.route-gone-with-namesake",
    "a direct exchange leads to a queue by a key no more once one of two bindings with different arguments is unbound",
    "BIND-012",
    field=RABBITMQ.format("issues/14533"),
)
def route_gone_with_namesake(self: VirtualHost, binding: Binding) -> None:
    source = binding.source
    if isinstance(source, Direct) and binding in source.bindings:
        source.by_key.setdefault(binding.key, {})[binding] = None
    VirtualHost.drop_binding(self, binding)
    if isinstance(source, Direct) and binding.key in source.by_key:
        led = source.by_key[binding.key]
        source.by_key[binding.key] = {one: None for one in led if one.destination is not binding.destination}


@changes(
    "reported.acked-and-purged",
    "after a purge a queue counts as many messages too few as were acknowledged before",
    "MODE-007",
    field="https://github.com/cloudamqp/lavinmq/pull/1957",
)
def acked_and_purged(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        memory(self, "gone", dict)["before"] = self.published - len(self.ready)
        return below.purge(self)

    def count(self: Queue) -> int:
        gone: dict[str, int] = memory(self, "gone", dict)
        return max(0, below.count(self) - gone.get("before", 0))

    parts.override("queue", purge=purge, count=count)


@handles(
    m.QueueDeclare,
    "reported.full-ones-uncounted",
    "declare-ok does not count consumers that hold as many deliveries as they may",
    "QUEUE-020",
    field=RABBITMQ.format("blob/main/release-notes/README-3.1.0.txt"),
)
def full_ones_uncounted(channel: Channel, method: m.QueueDeclare) -> None:
    topology.queue_declare(channel, method)
    answer = channel.connection.outbox.items[-1] if channel.connection.outbox.items else None
    queue = channel.vhost.queues.get(method.queue)
    if isinstance(answer, m.QueueDeclareOk) and queue is not None:
        answer.consumer_count = sum(not (one.own.full() or one.shared.full()) for one in queue.consumers)


@handles(
    m.QueueDeclare,
    "reported.long-quorum-names",
    "names of quorum queues have less than 250 octets",
    "QUEUE-023",
    field=RABBITMQ.format("releases/tag/v3.8.15"),
)
def long_quorum_names(channel: Channel, method: m.QueueDeclare) -> None:
    kinds = [value for name, _, value in method.arguments if name == "x-queue-type"]
    if b"quorum" in kinds and len(method.queue.encode()) >= LONG:
        raise fails()
    topology.queue_declare(channel, method)


@handles(
    m.QueueBind,
    "reported.transient-to-durable-refused",
    "a transient queue cannot be bound to a durable exchange",
    "BIND-008",
    field="https://github.com/streamnative/aop/issues/89",
)
def transient_to_durable_refused(channel: Channel, method: m.QueueBind) -> None:
    queue, exchange = channel.vhost.queues.get(method.queue), channel.vhost.exchanges.get(method.exchange)
    if queue is not None and exchange is not None and exchange.durable and not queue.durable:
        raise ChannelException(ReplyCode.PRECONDITION_FAILED, "durable exchange, transient queue")
    topology.queue_bind(channel, method)


def expression(key: str) -> str:
    """The dots are left as they are."""
    return ".".join(MARKS.get(word, word) for word in key.split("."))


def fits(key: str, published: str) -> bool:
    try:
        return re.fullmatch(expression(key), published) is not None
    except re.error:
        return False


@replaces(
    "vhost._walk",
    "trackers.topics-are-expressions",
    "the key of a topic binding is a regular expression, in which a dot is any letter",
    "ROUTE-003",
    field="https://github.com/valinurovam/garagemq/commit/1680f90",
)
def topics_are_expressions(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    found = dict.fromkeys(VirtualHost._walk(self, start, message))
    for binding in start.bindings if isinstance(start, Topic) else ():
        if isinstance(binding.destination, Queue) and fits(binding.key, message.routing_key):
            found[binding.destination] = None
    return list(found)


@replaces(
    "vhost._walk",
    "trackers.one-of-a-topic",
    "of the queues that are bound to a topic exchange with one key the first gets the messages alone",
    "ROUTE-003",
    "ROUTE-004",
    "ROUTE-005",
    field="https://github.com/wso2-attic/ballerina-message-broker/commit/b481cc48",
)
def one_of_a_topic(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    found = dict.fromkeys(VirtualHost._walk(self, start, message))
    if isinstance(start, Topic):
        first: dict[str, Destination] = {}
        for binding in start.bindings:
            first.setdefault(binding.key, binding.destination)
        kept = {*first.values()}
        bound = {binding.destination for binding in start.bindings}
        return [queue for queue in found if queue in kept or queue not in bound]
    return list(found)


def has_tables(arguments: FieldTable) -> bool:
    return any(letter in ("F", "A") for _, letter, _ in arguments)


@handles(
    m.QueueBind,
    "trackers.no-tables-in-bindings",
    "a binding may have no tables and no lists among its arguments",
    "BIND-008",
    field=f"{NOTES.format('3.0.0')}",
)
def no_tables_in_bindings(channel: Channel, method: m.QueueBind) -> None:
    if has_tables(method.arguments):
        raise precondition("invalid arguments of a binding")
    topology.queue_bind(channel, method)


@handles(
    m.QueueUnbind,
    "trackers.fanouts-know-what-is-bound",
    "unbinding what is not bound to a fanout exchange is an internal error",
    "BIND-005",
    "ERR-012",
    field="https://github.com/apache/qpid-broker-j/commit/2ede6b336a",
)
def fanouts_know_what_is_bound(channel: Channel, method: m.QueueUnbind) -> None:
    exchange = channel.vhost.exchanges.get(method.exchange)
    queue = channel.vhost.queues.get(method.queue or channel.last_queue)
    if isinstance(exchange, Fanout) and queue is not None:
        key = topology.queue_key(queue, method)
        if not channel.vhost.is_bound(exchange.name, queue, key, method.arguments):
            raise fails()
    topology.queue_unbind(channel, method)


@handles(
    m.ExchangeBind,
    "trackers.internal-ones-unbound",
    "an exchange that is internal cannot be bound",
    "BIND-008",
    field="https://github.com/cloudamqp/lavinmq/commit/4a4e5a018",
)
def internal_ones_unbound(channel: Channel, method: m.ExchangeBind) -> None:
    known = channel.vhost.exchanges
    if any(known[name].internal for name in (method.source, method.destination) if name in known):
        raise refused("an internal exchange cannot be bound")
    topology.exchange_bind(channel, method)


@handles(
    m.QueueDelete,
    "trackers.deleting-nothing",
    "the deletion of a queue that is not there is an internal error",
    "ERR-012",
    "QUEUE-018",
    field="https://github.com/fridujo/rabbitmq-mock/commit/9509c57",
)
def deleting_nothing(channel: Channel, method: m.QueueDelete) -> None:
    if method.queue and method.queue not in channel.vhost.queues:
        raise fails()
    topology.queue_delete(channel, method)


STARLIGHT = "https://github.com/datastax/starlight-for-rabbitmq/pull/31"


@handles(
    m.QueueDelete,
    "trackers.last-one-deleted",
    "queue.delete is of the queue that the channel has declared last, whatever it names",
    "QUEUE-001",
    "QUEUE-017",
    field=STARLIGHT,
)
def last_one_deleted(channel: Channel, method: m.QueueDelete) -> None:
    method.queue = channel.last_queue if channel.last_queue in channel.vhost.queues else method.queue
    topology.queue_delete(channel, method)


@handles(
    m.QueueUnbind,
    "trackers.last-one-unbound",
    "queue.unbind is of the queue that the channel has declared last, whatever it names",
    "ROUTE-014",
    "BIND-012",
    field=STARLIGHT,
)
def last_one_unbound(channel: Channel, method: m.QueueUnbind) -> None:
    method.queue = channel.last_queue if channel.last_queue in channel.vhost.queues else method.queue
    topology.queue_unbind(channel, method)
