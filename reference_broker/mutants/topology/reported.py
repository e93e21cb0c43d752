"""What users have reported of queues, exchanges and bindings."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import ChannelException
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Direct
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, handles, memory, replaces

RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/{}"
LONG = 250


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
