"""What users have complained of: queues that are declared again, topic exchanges, and what goes by itself."""

from __future__ import annotations

from typing import Any

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues import arguments
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Exchange, Headers, Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, handles, memory, replaces
from reference_broker.mutants.topology.exchanges import matches, rightly

NOTES = "https://github.com/rabbitmq/rabbitmq-server/blob/main/release-notes/README-{}.txt"
RELEASES = "https://github.com/rabbitmq/rabbitmq-server/releases/tag/{}"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/releases/tag/{}"
LONG = 4
"""Words."""


def widths(table: FieldTable) -> dict[str, str]:
    """The types of the numbers among these arguments."""
    return {name: letter for name, letter, _ in table if letter in arguments.INTEGERS}


@handles(
    m.QueueDeclare,
    "complaints.other-widths",
    "a queue cannot be declared again with a number of another width among its arguments",
    "QUEUE-003",
    field=NOTES.format("2.7.0"),
)
def other_widths(channel: Channel, method: m.QueueDeclare) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and not method.passive:
        known = widths(queue.table)
        for name, letter in widths(method.arguments).items():
            if known.get(name, letter) != letter:
                raise precondition(f"inequivalent arg '{name}' for queue '{method.queue}' in vhost '/'")
    topology.queue_declare(channel, method)


@handles(
    m.QueueDeclare,
    "complaints.unlawful-names",
    "the names that the broker chooses have signs that no name of a queue may have",
    "QUEUE-010",
    field=NOTES.format("2.7.1"),
)
def unlawful_names(channel: Channel, method: m.QueueDeclare) -> None:
    vhost, unique = channel.vhost, channel.vhost.unique
    if not method.queue:
        vhost.unique = lambda: f"{unique()}/=="
    try:
        topology.queue_declare(channel, method)
    finally:
        vhost.unique = unique


@handles(
    m.QueueUnbind,
    "complaints.last-unbinding-crashes",
    "the unbinding with which an auto-delete exchange goes is an internal error",
    "ERR-012",
    "EXCH-010",
    field=NOTES.format("1.8.1"),
)
def last_unbinding_crashes(channel: Channel, method: m.QueueUnbind) -> None:
    exchange = channel.vhost.exchanges.get(method.exchange)
    topology.queue_unbind(channel, method)
    if exchange is not None and exchange.auto_delete and method.exchange not in channel.vhost.exchanges:
        raise fails()


@replaces(
    "vhost._walk",
    "complaints.one-empty-key",
    "what is published to a topic exchange with the empty key goes to what is bound so to any other",
    "ROUTE-015",
    field=RELEASES.format("v4.3.1"),
)
def one_empty_key(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    found = dict.fromkeys(VirtualHost._walk(self, start, message))
    if isinstance(start, Topic) and not message.routing_key:
        bindings = [one for other in self.exchanges.values() if isinstance(other, Topic) for one in other.bindings]
        found.update({one.destination: None for one in bindings if isinstance(one.destination, Queue) and not one.key})
    return list(found)


@replaces(
    "vhost._walk",
    "complaints.first-and-last-word",
    "of a topic key of four words or more the first and the last are compared",
    "ROUTE-003",
    field="https://github.com/streamnative/aop/issues/775",
)
def first_and_last_word(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    found, words = dict.fromkeys(VirtualHost._walk(self, start, message)), message.routing_key.split(".")
    for binding in start.bindings if isinstance(start, Topic) and len(words) >= LONG else ():
        bound = binding.key.split(".")
        alike = len(bound) == len(words) and (bound[0], bound[-1]) == (words[0], words[-1])
        if alike and not {"*", "#"} & {*bound} and isinstance(binding.destination, Queue):
            found[binding.destination] = None
    return list(found)


@changes(
    "complaints.second-binding-stays",
    "of several bindings to one exchange the last stays when their queue is deleted, for the next of its name",
    "BIND-007",
    field=RELEASES.format("v3.8.24"),
)
def second_binding_stays(parts: Parts) -> None:
    below = parts.vhost

    def delete_queue(self: VirtualHost, queue: Queue) -> Any:
        latest = {binding.source: binding for binding in self.bound_to.get(queue, ())}
        firsts = {binding.source: binding for binding in reversed([*self.bound_to.get(queue, ())])}
        kept = [one for source, one in latest.items() if one is not firsts[source]]
        memory(self, "kept", dict)[queue.name] = [(one.source, one.key, one.source.bindings[one]) for one in kept]
        return below.delete_queue(self, queue)

    def add_queue(self: VirtualHost, name: str, *about: Any) -> Queue:
        queue = below.add_queue(self, name, *about)
        for source, key, table in memory(self, "kept", dict).pop(name, ()):
            there = self.exchanges.get(source.name)
            if there is not None and there is source:
                self.bind(there, queue, key, table)
        return queue

    parts.override("vhost", delete_queue=delete_queue, add_queue=add_queue)


@changes(
    "complaints.the-lost-still-consume",
    "declare-ok still counts consumers that went with their connection",
    "QUEUE-020",
    field=LAVINMQ.format("v1.0.0-alpha.24"),
)
def the_lost_still_consume(parts: Parts) -> None:
    below = parts.connection

    def end_channels(self: Connection) -> None:
        gone = [one.queue for channel in self.channels.values() for one in channel.consumers.values()]
        for queue in gone:
            memory(queue, "ghosts", list).append(queue)
        below.end_channels(self)

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        topology.queue_declare(channel, method)
        said = channel.connection.outbox.items[-1:]
        for answer in said:
            if isinstance(answer, m.QueueDeclareOk) and answer.queue in channel.vhost.queues:
                answer.consumer_count += len(memory(channel.vhost.queues[answer.queue], "ghosts", list))

    parts.override("connection", end_channels=end_channels)
    parts.handlers[m.QueueDeclare] = declare


@changes(
    "complaints.led-to-and-stays",
    "an auto-delete exchange to which another one leads stays when its last queue is deleted",
    "EXCH-010",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/1705",
)
def led_to_and_stays(parts: Parts) -> None:
    below = parts.vhost

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        source, destination = binding.source, binding.destination
        led_to = any(one.source is not source for one in self.bound_to.get(source, ()))
        kept = source.auto_delete and led_to and isinstance(destination, Queue) and destination.deleted
        source.auto_delete = source.auto_delete and not kept
        below.drop_binding(self, binding)
        source.auto_delete = source.auto_delete or kept

    parts.override("vhost", drop_binding=drop_binding)


@matches(
    "headers",
    "complaints.everything-without-a-form",
    "a binding without x-match matches everything",
    "ROUTE-006",
    field="https://github.com/NeowayLabs/wabbit/commit/c4bffc9",
)
def everything_without_a_form(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return not any(name == "x-match" for name, _, _ in arguments) or rightly(exchange, binding, arguments, message)


@changes(
    "complaints.form-wanted",
    "a binding to a headers exchange is refused without x-match",
    "ROUTE-006",
    "BIND-008",
    field="https://github.com/rabbitmq/rabbitmq-server/commit/e495b62dff",
)
def form_wanted(parts: Parts) -> None:
    below = parts.handlers[m.QueueBind]

    def bind(channel: Channel, method: m.QueueBind) -> None:
        exchange = channel.vhost.exchanges.get(method.exchange)
        if isinstance(exchange, Headers) and not any(name == "x-match" for name, _, _ in method.arguments):
            raise precondition("no x-match")
        below(channel, method)

    parts.handlers[m.QueueBind] = bind
