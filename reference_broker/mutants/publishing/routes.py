"""Wrong answers to publishes because of where they go: unroutable, refused, in several queues, or not publishable."""

from __future__ import annotations

from functools import partial

import codec
from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import AmqpException, ChannelException, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message, addressed
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, handles, replaces
from reference_broker.mutants.publishing.confirms import unanswered


def nowhere(channel: Channel, method: m.BasicPublish) -> bool:
    """Does a publish like this reach no queue? Looks at address alone."""
    exchange = channel.vhost.exchanges.get(method.exchange)
    if exchange is None:
        return method.routing_key not in channel.vhost.queues
    return not list(exchange.matches(method.routing_key, []))


# -- unroutable


@changes("routes.unroutable-unanswered", "what goes nowhere is never confirmed", "CNF-008", "CNF-004")
def unroutable_unanswered(parts: Parts) -> None:
    unanswered(parts, lambda channel, method, body: nowhere(channel, method))


@changes("routes.returned-unanswered", "what is returned is never confirmed", "CNF-009")
def returned_unanswered(parts: Parts) -> None:
    unanswered(parts, lambda channel, method, body: method.mandatory and nowhere(channel, method))


@replaces("vhost.publish", "routes.unroutable-refused", "what goes nowhere is refused", "CNF-008")
def unroutable_refused(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    routed, accepted = VirtualHost.publish(self, exchange, message)
    return routed, accepted and routed


@handles(m.BasicPublish, "routes.confirm-before-return", "a publish is confirmed before it is returned", "CNF-009")
def confirm_before_return(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    message = addressed(method.exchange, method.routing_key, header, body)
    known = not method.exchange or method.exchange in channel.vhost.exchanges
    late = channel.confirms is not None and method.mandatory and known
    late = late and not list(channel.vhost.route(method.exchange, message))
    method.mandatory = method.mandatory and not late
    basic.publish(channel, method, header, body)
    if late:
        channel.flush()
        channel.give_back(method.exchange, message)


@replaces("channel.give_back", "routes.return-without-content", "a return has no content", "CNF-009")
def return_without_content(self: Channel, exchange: str, message: Message) -> None:
    Channel.give_back(self, exchange, Message(exchange, message.routing_key, codec.header(0, 0), b""))


@replaces(
    "channel.give_back", "routes.return-with-code-313", "an unroutable message is returned as not consumed", "CNF-009"
)
def return_with_code_313(self: Channel, exchange: str, message: Message) -> None:
    self.connection.send_content(
        m.BasicReturn(self.number, 313, "NO_CONSUMERS", exchange, message.routing_key), message
    )


@replaces(
    "channel.publish",
    "routes.returned-without-consumers",
    "a mandatory message is returned when its queue has no consumer",
    "CNF-025",
)
def returned_without_consumers(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    queues = [found for found in self.vhost.route(exchange, message) if isinstance(found, Queue)]
    accepted = Channel.publish(self, exchange, message, mandatory)
    if mandatory and queues and not any(queue.consumers for queue in queues):
        self.give_back(exchange, message)
    return accepted


@replaces(
    "vhost.publish",
    "routes.default-leads-nowhere",
    "the default exchange leads to no queue that is not bound to it",
    "CNF-025",
    field="https://github.com/arempe93/bunny-mock/issues/24",
)
def default_leads_nowhere(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    return VirtualHost.publish(self, exchange, message) if exchange else (False, True)


@replaces(
    "channel.publish",
    "routes.returned-when-full",
    "a mandatory message that a full queue rejects is returned as not routed",
    "CNF-025",
)
def returned_when_full(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    routed = bool(list(self.vhost.route(exchange, message)))
    accepted = Channel.publish(self, exchange, message, mandatory)
    if mandatory and routed and not accepted:
        self.give_back(exchange, message)
    return accepted


# -- several queues, and full ones


@replaces(
    "vhost.publish",
    "routes.confirmed-with-the-first",
    "a publish is confirmed when the first of its queues has it, and the others get it later",
    "CNF-010",
)
def confirmed_with_the_first(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    queues = list(self.route(exchange, message))
    for queue in queues[1:]:
        self.clock.at(self.clock.now + 0.3, partial(put, queue, message))
    return bool(queues), not queues or queues[0].publish(message)


def put(queue: Queue | ReplyTo, message: Message) -> None:
    queue.publish(message)


@replaces("vhost.publish", "routes.rejected-confirmed", "what a full queue rejects is confirmed", "CNF-011", "CNF-012")
def rejected_confirmed(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    return VirtualHost.publish(self, exchange, message)[0], True


@replaces(
    "vhost.publish",
    "routes.one-acceptance-will-do",
    "a publish is confirmed if any of its queues accepts it",
    "CNF-012",
)
def one_acceptance_will_do(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    answers = [queue.publish(message) for queue in self.route(exchange, message)]
    return bool(answers), any(answers) or not answers


@replaces("channel.publish", "routes.rejection-closes", "a publish that a queue rejects closes the channel", "CNF-011")
def rejection_closes(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    if not Channel.publish(self, exchange, message, mandatory):
        raise precondition("queue is full")
    return True


@replaces(
    "queue.publish", "routes.refused-and-kept", "a full queue refuses a message and keeps it all the same", "CNF-021"
)
def refused_and_kept(self: Queue, message: Message) -> bool:
    accepted = Queue.publish(self, message)
    if not accepted:
        self.published += 1
        self.ready.push(self.entry(self.published, message, None))
    return accepted


# -- publishes that fail


@handles(
    m.BasicPublish,
    "routes.failed-publish-refused",
    "a publish that should close the channel is refused instead",
    "CNF-019",
)
def failed_publish_refused(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    try:
        basic.publish(channel, method, header, body)
    except ChannelException:
        if channel.confirms is None:
            raise
        channel.confirms.refuse(channel.confirms.next())
        channel.connection.confirm(channel)


@replaces(
    "connection.close_channel",
    "routes.failed-publish-confirmed",
    "a publish is confirmed after it closed its channel",
    "CNF-019",
)
def failed_publish_confirmed(
    self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]
) -> None:
    Connection.close_channel(self, channel, error, offender)
    if channel.confirms is not None:
        self.send(m.BasicAck(channel.number, channel.confirms.published + 1))


@replaces(
    "vhost.publish",
    "routes.refused-copies-confirmed",
    "a publish is confirmed although a queue has refused it to which a key in CC leads",
    "CNF-012",
)
def refused_copies_confirmed(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    own = Message(exchange, message.routing_key, message.header, message.body)
    first = list(self.route(exchange, own))
    taken = {queue: queue.publish(message) for queue in self.route(exchange, message)}
    return bool(taken), all(kept for queue, kept in taken.items() if queue in first)


@changes(
    "routes.alternates-after-the-commit",
    "what a transaction has published, and an alternate exchange finds a way for, is returned",
    "CNF-025",
)
def alternates_after_the_commit(parts: Parts) -> None:
    below = parts.channel

    def found_its_way(self: Channel, exchange: str, message: Message, routed: bool) -> bool:
        found = self.vhost.exchanges.get(exchange)
        keys = message.routing_keys() if self.transaction is not None and found is not None else ()
        strange = found is not None and not any(list(found.matches(key, message.headers)) for key in keys)
        return below.found_its_way(self, exchange, message, routed and not (keys and strange))

    parts.override("channel", found_its_way=found_its_way)


@changes("routes.alternate-gone", "nothing is returned where an exchange has an alternate that is not there", "CNF-009")
def alternate_gone(parts: Parts) -> None:
    below = parts.channel

    def found_its_way(self: Channel, exchange: str, message: Message, routed: bool) -> bool:
        start = self.vhost.exchanges.get(exchange)
        gone = start is not None and start.alternate and start.alternate not in self.vhost.exchanges
        return bool(gone) or below.found_its_way(self, exchange, message, routed)

    parts.override("channel", found_its_way=found_its_way)


@changes(
    "routes.returned-without-time",
    "a mandatory message without any time comes back from a queue that nobody consumes",
    "CNF-025",
)
def returned_without_time(parts: Parts) -> None:
    below = parts.channel

    def found_its_way(self: Channel, exchange: str, message: Message, routed: bool) -> bool:
        if message.header.expiration != "0" or not routed:
            return below.found_its_way(self, exchange, message, routed)
        return any(isinstance(one, ReplyTo) or one.consumers for one in self.vhost.route(exchange, message))

    parts.override("channel", found_its_way=found_its_way)
