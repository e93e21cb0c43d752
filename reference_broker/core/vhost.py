"""The virtual host: its exchanges, queues and bindings, and what happens to a message in between.

Everything here speaks of names and messages, nothing of frames. Who must hear of a change on the
wire (consumers of a deleted queue) is told through the channels concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from codec.values import FieldTable
from reference_broker.core import policies, routing
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.clock import Clock
from reference_broker.core.errors import not_found
from reference_broker.core.queues.arguments import QueueArguments
from reference_broker.core.queues.deadletter import goes_in_circles
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange
from reference_broker.core.settings import About, Policy, Settings

if TYPE_CHECKING:
    from reference_broker.core.connections.connection import Connection
    from reference_broker.core.parts import Parts


class VirtualHost:
    def __init__(self, parts: Parts, clock: Clock, unique: Callable[[], str], name: str = "/") -> None:
        self.name = name
        self.parts = parts
        self.clock = clock
        self.unique = unique
        self.settings = Settings()
        self.quotas: Mapping[str, int] = {}
        """How many connections and queues there may be at most."""
        self.about = About()
        self.queues: dict[str, Queue] = {}
        self.exchanges: dict[str, Exchange] = {name: kind(name) for name, kind in routing.PREDECLARED.items()}
        self.replies: dict[str, ReplyTo] = {}
        self.bound_to: dict[Destination, dict[Binding, None]] = {}

    # -- looking up

    def queue(self, name: str) -> Queue:
        try:
            return self.queues[name]
        except KeyError:
            raise not_found("queue", name) from None

    def exchange(self, name: str) -> Exchange:
        try:
            return self.exchanges[name]
        except KeyError:
            raise not_found("exchange", name) from None

    def awaits(self, name: str) -> bool:
        """Is this the address of a channel that awaits replies?"""
        return name in self.replies

    def take_apart(self, name: str) -> None:
        """A name that begins like an address need not be one."""

    # -- declaring and deleting

    def add_queue(
        self,
        name: str,
        durable: bool,
        auto_delete: bool,
        owner: Connection | None,
        table: FieldTable,
        settings: QueueArguments,
    ) -> Queue:
        queue = self.parts.queue(self, name, durable, auto_delete, owner, table, settings)
        self.queues[name] = queue
        self.heed_policy(queue)
        self.watch_expiry(queue)
        return queue

    def delete_queue(self, queue: Queue) -> tuple[int, list[Consumer]]:
        """Remove a queue; answers how many messages were ready, and its consumers, to be told."""
        queue.deleted = True
        del self.queues[queue.name]
        if queue.owner is not None:
            queue.owner.exclusive.pop(queue, None)
        self.unbind_all(queue)
        count, consumers = queue.count(), list(queue.consumers)
        for consumer in consumers:
            queue.leave(consumer)
        return count, consumers

    def add_exchange(self, exchange: Exchange) -> None:
        self.exchanges[exchange.name] = exchange
        exchange.heed(self.definition_of(exchange))

    def delete_exchange(self, exchange: Exchange) -> None:
        del self.exchanges[exchange.name]
        for binding in list(exchange.bindings):
            self.drop_binding(binding)
        self.unbind_all(exchange)

    def restart(self) -> None:
        """Only what is durable is left. Nobody is connected."""
        for queue in list(self.queues.values()):
            if queue.durable:
                queue.restart()
            else:
                self.delete_queue(queue)
        for exchange in list(self.exchanges.values()):
            if not self.outlives(exchange) and exchange.name in self.exchanges:
                self.delete_exchange(exchange)

    def outlives(self, exchange: Exchange) -> bool:
        """Is it there after a restart?"""
        return exchange.durable

    def delete_everything(self) -> None:
        for queue in list(self.queues.values()):
            self.delete_queue(queue)
        for exchange in list(self.exchanges.values()):
            if exchange.name in self.exchanges:
                self.delete_exchange(exchange)
        for operator in (False, True):
            for name in list(self.policies(operator)):
                del self.policies(operator)[name]

    def watch_expiry(self, queue: Queue) -> None:
        """Delete a queue that nobody used for as long as its argument or its policy says."""
        life = queue.settings.expires
        if life is None or queue.deleted:
            return
        since = self.clock.now if queue.consumers else queue.used_at
        if since + life <= self.clock.now:
            self.delete_queue(queue)
        else:
            self.clock.at(since + life, self.watch_expiry, queue)

    # -- policies

    def set_policy(self, policy: Policy, operator: bool = False) -> None:
        """It holds from now on, for what is there, too. Raises policies.Invalid."""
        policies.check(policy.pattern, policy.definition, self.parts.edition.policies, operator)
        self.policies(operator)[policy.name] = policy
        self.heed_policies()

    def clear_policy(self, name: str, operator: bool = False) -> None:
        """Raises KeyError where there is none of that name."""
        del self.policies(operator)[name]
        self.heed_policies()

    def policies(self, operator: bool) -> dict[str, Policy]:
        return self.settings.operator_policies if operator else self.settings.policies

    def definition_of(self, thing: Queue | Exchange) -> Mapping[str, Any]:
        """What policies set for it."""
        return self.settings.definition_of(thing)

    def heed_policies(self) -> None:
        """After a change of them."""
        for exchange in self.exchanges.values():
            exchange.heed(self.definition_of(exchange))
        for queue in list(self.queues.values()):
            before = queue.settings
            self.heed_policy(queue)
            if queue.settings != before:
                queue.settle_down()
                if queue.settings.expires not in (None, before.expires):
                    self.watch_expiry(queue)

    def heed_policy(self, queue: Queue) -> None:
        queue.heed(self.definition_of(queue))

    # -- bindings

    def bind(self, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        binding = source.bind(destination, key, arguments)
        self.bound_to.setdefault(destination, {})[binding] = None

    def unbind(self, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        self.drop_binding(Binding(source, destination, key, routing.canonical(arguments)))

    def is_bound(self, source: str, destination: Destination, key: str, arguments: FieldTable) -> bool:
        exchange = self.exchanges.get(source)
        if exchange is None:
            return False
        return Binding(exchange, destination, key, routing.canonical(arguments)) in exchange.bindings

    def drop_binding(self, binding: Binding) -> None:
        source = binding.source
        if not source.unbind(binding):
            return
        bound = self.bound_to[binding.destination]
        del bound[binding]
        if not bound:
            del self.bound_to[binding.destination]
        if source.auto_delete and not source.bindings and source.name in self.exchanges:
            self.delete_exchange(source)

    def unbind_all(self, destination: Destination) -> None:
        for binding in list(self.bound_to.get(destination, ())):
            self.drop_binding(binding)

    # -- messages

    def route(self, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
        """The queues a message goes to, each once."""
        if exchange == "":
            known, addresses = self.queues, self.replies
            if not message.more_keys:
                key = message.routing_key
                only = known.get(key) or addresses.get(key)
                return () if only is None else (only,)
            named = (known.get(key) or addresses.get(key) for key in dict.fromkeys(message.routing_keys()))
            return [found for found in named if found is not None]
        return self._walk(self.exchanges[exchange], message)

    def headers_to_match(self, message: Message) -> FieldTable:
        """What a headers exchange compares with its bindings."""
        return message.headers

    def _walk(self, start: Exchange, message: Message) -> list[Queue]:
        found: dict[Queue, None] = {}
        seen, todo, headers = {start}, [start], self.headers_to_match(message)
        while todo:
            exchange = todo.pop()
            matched = [hit for key in message.routing_keys() for hit in exchange.matches(key, headers)]
            alternate = self.exchanges.get(exchange.alternate) if not matched else None
            for destination in [*matched, *([alternate] if alternate else [])]:
                if isinstance(destination, Queue):
                    found[destination] = None
                elif destination not in seen:
                    seen.add(destination)
                    todo.append(destination)
        return list(found)

    def publish(self, exchange: str, message: Message) -> tuple[bool, bool]:
        """Put a message into its queues: (did it go anywhere, did every queue accept it)."""
        if not exchange and message.routing_key in self.queues and not message.more_keys:
            return True, self.queues[message.routing_key].publish(message)
        routed, accepted = False, True
        for queue in self.route(exchange, message):
            routed = True
            accepted = queue.publish(message) and accepted
        return routed, accepted

    def dead(self, queue: Queue, message: Message, reason: str) -> None:
        """A message left `queue` without being acknowledged: re-publish it if the queue says where."""
        target = queue.settings.dead_letter_exchange
        if target is None or (target and target not in self.exchanges):
            return
        key, dead_letters = queue.settings.dead_letter_routing_key, self.parts.dead_letters()
        dead = dead_letters.letter(message, queue.name, reason, self.clock.now, target, key)
        for destination in self.route(target, dead):
            if reason == "rejected" or not goes_in_circles(dead, destination.name):
                destination.publish(dead)
