"""Ways that are right up to a point: one hop too many, an alternate that comes later, keys that begin alike."""

from __future__ import annotations

from reference_broker.message import Message
from reference_broker.mutants.kinds import replaces
from reference_broker.queue import Queue
from reference_broker.routing import Binding, Exchange, Topic
from reference_broker.vhost import VirtualHost

HOPS = 2


@replaces("vhost._walk", "chains.two-hops", "a message passes two bindings between exchanges at most", "ROUTE-010")
def two_hops(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    found: dict[Queue, None] = {}
    seen, todo = {start}, [(start, 0)]
    while todo:
        exchange, hops = todo.pop()
        matched = [hit for key in message.routing_keys() for hit in exchange.matches(key, message.headers)]
        alternate = self.exchanges.get(exchange.alternate) if not matched else None
        for destination in [*matched, *([alternate] if alternate else [])]:
            if isinstance(destination, Queue):
                found[destination] = None
            elif destination not in seen and (hops < HOPS or destination is alternate):
                seen.add(destination)
                todo.append((destination, hops + (destination is not alternate)))
    return list(found)


@replaces(
    "vhost.add_exchange",
    "chains.alternate-comes-too-late",
    "an alternate exchange that is declared later is never used",
    "ROUTE-012",
)
def alternate_comes_too_late(self: VirtualHost, exchange: Exchange) -> None:
    VirtualHost.add_exchange(self, exchange)
    if exchange.alternate not in self.exchanges:
        exchange.alternate = ""


@replaces(
    "vhost.drop_binding",
    "chains.longer-keys-unbound",
    "an unbind from a topic exchange removes all of the queue's keys that go on from there",
    "ROUTE-014",
)
def longer_keys_unbound(self: VirtualHost, binding: Binding) -> None:
    VirtualHost.drop_binding(self, binding)
    for other in list(binding.source.bindings) if isinstance(binding.source, Topic) else ():
        if other.destination is binding.destination and other.key.startswith(f"{binding.key}."):
            VirtualHost.drop_binding(self, other)
