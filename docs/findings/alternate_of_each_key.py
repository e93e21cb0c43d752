"""ROUTE-018: does the alternate exchange get a message for which one of several keys has found a way?

    python alternate_of_each_key.py amqp://guest:guest@localhost:5672/%2F ...

`first` is a direct exchange with two queues, bound with the keys `known` and `also`; its alternate is `last`, a fanout
with another queue. It is itself the alternate of `outer`, a direct exchange without bindings. A message is published to
`first` or `outer` with the routing key and the header CC as shown. Which queues get it?
"""

from __future__ import annotations

import itertools
import struct
import sys
import uuid

import wire

HEADERS_AND_MODE = 0x3000
KEYS: list[tuple[str, list[str]]] = [
    ("known", []),
    ("known", ["other"]),
    ("other", ["known"]),
    ("other", ["another"]),
    ("known", ["also"]),
]


def publish(exchange: str, key: str, more: list[str]) -> bytes:
    """A persistent message of one octet, with these keys in CC."""
    texts = b"".join(b"S" + struct.pack(">I", len(one)) + one.encode() for one in more)
    entry = wire.short("CC") + b"A" + struct.pack(">I", len(texts)) + texts
    header = struct.pack(">HHQH", 60, 0, 1, HEADERS_AND_MODE) + struct.pack(">I", len(entry)) + entry + b"\x02"
    start = wire.method(1, wire.PUBLISH, bytes(2) + wire.short(exchange) + wire.short(key) + bytes(1))
    return start + wire.frame(2, 1, header) + wire.frame(3, 1, b"m")


def show(url: str) -> None:
    name = f"findings.{uuid.uuid4().hex[:8]}"
    line = wire.Connection(url)
    print(line.broker)
    line.open(1)
    outer, first, last = (f"{name}.{part}" for part in ("outer", "first", "last"))
    known, also, rest = (f"{name}.{part}" for part in ("known", "also", "rest"))
    line.exchange(1, last, "fanout")
    line.exchange(1, first, "direct", alternate_exchange=last)
    line.exchange(1, outer, "direct", alternate_exchange=first)
    for queue, exchange, key in ((known, first, "known"), (also, first, "also"), (rest, last, "")):
        line.declare(1, queue, "classic")
        line.bind(1, queue, exchange, key)
    line.send(wire.method(1, wire.CONFIRM, bytes(1)))
    line.wait(wire.CONFIRM_OK)
    for exchange, (key, more) in itertools.product((first, outer), KEYS):
        line.send(publish(exchange, key, more))
        line.wait(wire.ACK)
        places = ("queue", known), ("second queue", also), ("alternate", rest)
        got = [what for what, queue in places if line.take(1, queue, no_ack=True)]
        print(f"  to {exchange.rpartition('.')[2]} by {key:5} CC {', '.join(more) or '-':7}: {' and '.join(got)}")
    for queue in (known, also, rest):
        line.delete(1, queue)
    line.drop(1, outer, first, last)
    line.end()


def main() -> None:
    for url in sys.argv[1:]:
        show(url)


if __name__ == "__main__":
    main()
