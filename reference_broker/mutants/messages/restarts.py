"""Wrong restarts, of what is declared: what is durable is lost or is another thing, and what is not comes back."""

from __future__ import annotations

from collections.abc import Callable

from codec.values import FieldTable
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import PREDECLARED, Binding, Destination, Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import Mutant, changes, enter, memory, replaces

Change = Callable[[VirtualHost], None]


def afterwards(name: str, says: str, *rules: str) -> Callable[[Change], Change]:
    """The decorated function spoils what a restart has left."""

    def add(spoil: Change) -> Change:
        def restart(self: VirtualHost) -> None:
            VirtualHost.restart(self)
            spoil(self)

        def apply(parts: Parts) -> None:
            parts.override("vhost", restart=restart)

        enter(spoil, Mutant(name, says, rules, apply))
        return spoil

    return add


def own(vhost: VirtualHost) -> list[Exchange]:
    """Exchanges that clients have declared."""
    return [exchange for name, exchange in vhost.exchanges.items() if name not in PREDECLARED]


@afterwards("restarts.empty-queues-lost", "durable queues without messages are gone after a restart", "DUR-001")
def empty_queues_lost(vhost: VirtualHost) -> None:
    for queue in list(vhost.queues.values()):
        if not queue.ready:
            vhost.delete_queue(queue)


@afterwards("restarts.auto-delete-lost", "durable queues that are auto-delete are gone after a restart", "DUR-001")
def auto_delete_lost(vhost: VirtualHost) -> None:
    for queue in list(vhost.queues.values()):
        if queue.auto_delete:
            vhost.delete_queue(queue)


@afterwards("restarts.arguments-lost", "a restart leaves queues the type, and no other argument", "DUR-002")
def arguments_lost(vhost: VirtualHost) -> None:
    for queue in vhost.queues.values():
        queue.table = [field for field in queue.table if field[0] == "x-queue-type"]


@afterwards("restarts.auto-delete-forgotten", "after a restart no queue is auto-delete", "DUR-002")
def auto_delete_forgotten(vhost: VirtualHost) -> None:
    for queue in vhost.queues.values():
        queue.auto_delete = False


@afterwards("restarts.exchanges-lost", "durable exchanges are gone after a restart", "DUR-003")
def exchanges_lost(vhost: VirtualHost) -> None:
    for exchange in own(vhost):
        vhost.delete_exchange(exchange)


@afterwards("restarts.unbound-exchanges-lost", "durable exchanges without bindings are gone after a restart", "DUR-003")
def unbound_exchanges_lost(vhost: VirtualHost) -> None:
    for exchange in own(vhost):
        if not exchange.bindings:
            vhost.delete_exchange(exchange)


@afterwards("restarts.internal-forgotten", "after a restart no exchange is internal", "DUR-004")
def internal_forgotten(vhost: VirtualHost) -> None:
    for exchange in vhost.exchanges.values():
        exchange.internal = False


@afterwards("restarts.exchange-arguments-lost", "after a restart exchanges have no arguments", "DUR-004")
def exchange_arguments_lost(vhost: VirtualHost) -> None:
    for exchange in own(vhost):
        exchange.arguments = []


@afterwards("restarts.alternate-lost", "after a restart exchanges have no alternate exchange", "DUR-007")
def alternate_lost(vhost: VirtualHost) -> None:
    for exchange in vhost.exchanges.values():
        exchange.alternate = ""


@afterwards("restarts.bindings-lost", "a restart leaves no bindings", "DUR-005", "DUR-006")
def bindings_lost(vhost: VirtualHost) -> None:
    for exchange in own(vhost):
        for binding in list(exchange.bindings):
            vhost.drop_binding(binding)


@afterwards("restarts.bindings-with-arguments-lost", "a restart leaves no bindings with arguments", "DUR-005")
def bindings_with_arguments_lost(vhost: VirtualHost) -> None:
    for exchange in own(vhost):
        for binding, arguments in list(exchange.bindings.items()):
            if arguments:
                vhost.drop_binding(binding)


@afterwards("restarts.one-binding-each", "a restart leaves each queue the binding that it had first", "DUR-005")
def one_binding_each(vhost: VirtualHost) -> None:
    for bindings in list(vhost.bound_to.values()):
        for binding in list(bindings)[1:]:
            vhost.drop_binding(binding)


@afterwards("restarts.between-exchanges-lost", "a restart leaves no bindings between exchanges", "DUR-006")
def between_exchanges_lost(vhost: VirtualHost) -> None:
    for exchange in own(vhost):
        vhost.unbind_all(exchange)


@afterwards("restarts.own-exchanges-lost", "after a restart the exchanges amq.* are gone", "DUR-012")
def own_exchanges_lost(vhost: VirtualHost) -> None:
    for name in PREDECLARED:
        vhost.delete_exchange(vhost.exchanges[name])


@replaces("vhost.restart", "restarts.transient-queues-kept", "transient queues are there after a restart", "DUR-008")
def transient_queues_kept(self: VirtualHost) -> None:
    for queue in self.queues.values():
        queue.restart()


@replaces(
    "vhost.outlives", "restarts.transient-exchanges-kept", "transient exchanges are there after a restart", "DUR-010"
)
def transient_exchanges_kept(self: VirtualHost, exchange: Exchange) -> bool:
    return True


# -- what was gone before, and comes back


@changes("restarts.exclusive-kept", "durable queues that were exclusive are there after a restart", "DUR-009")
def exclusive_kept(parts: Parts) -> None:
    _deleted_come_back(parts, lambda queue: queue.owner is not None and queue.durable)


@changes("restarts.deleted-queues-back", "a restart brings durable queues back that had been deleted", "DUR-011")
def deleted_queues_back(parts: Parts) -> None:
    _deleted_come_back(parts, lambda queue: queue.owner is None and queue.durable)


def _deleted_come_back(parts: Parts, which: Callable[[Queue], bool]) -> None:
    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        if which(queue):
            memory(self, "deleted", dict)[queue.name] = queue
        return VirtualHost.delete_queue(self, queue)

    def restart(self: VirtualHost) -> None:
        VirtualHost.restart(self)
        for name, queue in memory(self, "deleted", dict).items():
            if name not in self.queues:
                self.add_queue(name, True, queue.auto_delete, None, queue.table, queue.declared)

    parts.override("vhost", delete_queue=delete_queue, restart=restart)


@changes("restarts.deleted-exchanges-back", "a restart brings durable exchanges back that had been deleted", "DUR-011")
def deleted_exchanges_back(parts: Parts) -> None:
    def delete_exchange(self: VirtualHost, exchange: Exchange) -> None:
        VirtualHost.delete_exchange(self, exchange)
        if exchange.durable:
            memory(self, "gone", dict)[exchange.name] = exchange

    def restart(self: VirtualHost) -> None:
        VirtualHost.restart(self)
        for name, exchange in memory(self, "gone", dict).items():
            self.exchanges.setdefault(name, exchange)

    parts.override("vhost", delete_exchange=delete_exchange, restart=restart)


@changes("restarts.removed-bindings-back", "a restart brings bindings back that had been removed", "DUR-011")
def removed_bindings_back(parts: Parts) -> None:
    def unbind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        VirtualHost.unbind(self, source, destination, key, arguments)
        memory(self, "unbound", list).append((source, destination, key, arguments))

    def restart(self: VirtualHost) -> None:
        VirtualHost.restart(self)
        known = [*self.queues.values(), *self.exchanges.values()]
        for source, destination, key, arguments in memory(self, "unbound", list):
            if source in known and destination in known:
                self.bind(source, destination, key, arguments)

    parts.override("vhost", unbind=unbind, restart=restart)


@afterwards("restarts.names-again", "after a restart the names that the broker makes begin anew", "DUR-021")
def names_again(vhost: VirtualHost) -> None:
    prefix, onward = "amq.gen-", vhost.unique
    made = iter([name.removeprefix(prefix) for name in vhost.queues if name.startswith(prefix)])
    vhost.unique = lambda: next(made, None) or onward()


@changes(
    "restarts.stays-behind",
    "an auto-delete exchange that was there before a restart does not go any more",
    *("DUR-004", "EXCH-010"),
)
def stays_behind(parts: Parts) -> None:
    below = parts.vhost

    def restart(self: VirtualHost) -> None:
        below.restart(self)
        for exchange in self.exchanges.values():
            memory(exchange, "old", lambda: True)

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        source, auto_delete = binding.source, binding.source.auto_delete
        source.auto_delete = auto_delete and not memory(source, "old", bool)
        below.drop_binding(self, binding)
        source.auto_delete = auto_delete

    parts.override("vhost", restart=restart, drop_binding=drop_binding)


@changes("restarts.auto-delete-exchanges-lost", "auto-delete exchanges are lost", "DUR-003")
def auto_delete_exchanges_lost(parts: Parts) -> None:
    below = parts.vhost

    def outlives(self: VirtualHost, exchange: Exchange) -> bool:
        return below.outlives(self, exchange) and not exchange.auto_delete

    parts.override("vhost", outlives=outlives)


@changes("restarts.made-twice-back", "a binding that was made twice, and removed, is there again", "DUR-011")
def made_twice_back(parts: Parts) -> None:
    below = parts.vhost

    def bind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        if self.is_bound(source.name, destination, key, arguments):
            memory(self, "twice", list).append((source, destination, key, arguments))
        below.bind(self, source, destination, key, arguments)

    def restart(self: VirtualHost) -> None:
        below.restart(self)
        there = {*self.queues.values(), *self.exchanges.values()}
        for source, destination, key, arguments in memory(self, "twice", list):
            if source in there and destination in there:
                below.bind(self, source, destination, key, arguments)

    parts.override("vhost", bind=bind, restart=restart)


@changes("restarts.once-durable", "a transient queue stays whose name a durable one had before", "DUR-008")
def once_durable(parts: Parts) -> None:
    below = parts.vhost

    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        memory(self, "durable", set).update([queue.name] if queue.durable else [])
        return below.delete_queue(self, queue)

    def restart(self: VirtualHost) -> None:
        known = memory(self, "durable", set)
        liars = [one for one in self.queues.values() if not one.durable and one.owner is None and one.name in known]
        for durable in (True, False):
            for one in liars:
                one.durable = durable
            if durable:
                below.restart(self)

    parts.override("vhost", delete_queue=delete_queue, restart=restart)


@changes("restarts.exchange-once-durable", "a transient exchange stays whose name a durable one had", "DUR-010")
def exchange_once_durable(parts: Parts) -> None:
    below = parts.vhost

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        memory(self, "durable exchanges", set).update([exchange.name] if exchange.durable else [])
        below.add_exchange(self, exchange)

    def outlives(self: VirtualHost, exchange: Exchange) -> bool:
        return below.outlives(self, exchange) or exchange.name in memory(self, "durable exchanges", set)

    parts.override("vhost", add_exchange=add_exchange, outlives=outlives)


@changes("restarts.second-loses-bindings", "the second restart loses all bindings", "DUR-005")
def second_loses_bindings(parts: Parts) -> None:
    below = parts.vhost

    def restart(self: VirtualHost) -> None:
        below.restart(self)
        restarts = memory(self, "restarts", list)
        restarts.append(self)
        for exchange in list(self.exchanges.values()) if len(restarts) > 1 else ():
            for binding in list(exchange.bindings):
                self.drop_binding(binding)

    parts.override("vhost", restart=restart)


@changes("restarts.not-to-its-own-exchanges", "bindings to exchanges of the broker's own are lost", "DUR-006")
def not_to_its_own_exchanges(parts: Parts) -> None:
    below = parts.vhost

    def restart(self: VirtualHost) -> None:
        below.restart(self)
        for exchange in list(self.exchanges.values()):
            for binding in [one for one in exchange.bindings if one.destination.name in PREDECLARED]:
                self.drop_binding(binding)

    parts.override("vhost", restart=restart)


@changes("restarts.first-host-alone", "only the queues of the default virtual host are kept", "DUR-001")
def first_host_alone(parts: Parts) -> None:
    below = parts.vhost

    def restart(self: VirtualHost) -> None:
        below.restart(self)
        for queue in list(self.queues.values()) if self.name != "/" else ():
            self.delete_queue(queue)

    parts.override("vhost", restart=restart)
