"""What else users have complained of: bindings without x-match, and exchanges with several kinds of bindings."""

from __future__ import annotations

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Exchange, Headers
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes
from reference_broker.mutants.topology.exchanges import matches, rightly


@changes(
    "heard.led-to-and-stays",
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
    "heard.everything-without-a-form",
    "a binding without x-match matches everything",
    "ROUTE-006",
    field="https://github.com/NeowayLabs/wabbit/commit/c4bffc9",
)
def everything_without_a_form(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return not any(name == "x-match" for name, _, _ in arguments) or rightly(exchange, binding, arguments, message)


@changes(
    "heard.form-wanted",
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
