"""Routes, right as long as nobody does what is seldom done: an alternate exchange that is internal, a queue with
hundreds of bindings."""

from __future__ import annotations

from codec.values import FieldTable
from reference_broker.message import Message
from reference_broker.mutants.kinds import changes
from reference_broker.parts import Parts
from reference_broker.queue import Queue
from reference_broker.routing import Destination, Exchange
from reference_broker.vhost import VirtualHost

MOST = 255


@changes("seldom.inner-alternate", "an alternate exchange that is internal gets nothing", "ROUTE-012")
def inner_alternate(parts: Parts) -> None:
    below = parts.vhost

    def walk(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        named = {one.alternate for one in self.exchanges.values()}
        hidden = {name: one for name, one in self.exchanges.items() if one.internal and name in named}
        known, self.exchanges = self.exchanges, {n: one for n, one in self.exchanges.items() if n not in hidden}
        try:
            return below._walk(self, start, message)
        finally:
            self.exchanges = known

    parts.override("vhost", _walk=walk)


@changes("seldom.one-octet-bindings", f"bindings beyond {MOST} of a queue do not lead on", "CNF-025", "BIND-009")
def one_octet_bindings(parts: Parts) -> None:
    below = parts.vhost

    def bind(self: VirtualHost, source: Exchange, to: Destination, key: str, arguments: FieldTable) -> None:
        if len(self.bound_to.get(to, ())) < MOST:
            below.bind(self, source, to, key, arguments)

    parts.override("vhost", bind=bind)
