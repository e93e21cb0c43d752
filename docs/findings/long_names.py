"""QUEUE-023, QUEUE-035: what becomes of queues whose names are long?

    python long_names.py amqp://guest:guest@localhost:5672/%2F ...

A name of 255 octets, of ASCII or with letters that are more than one octet, is looked for by a passive declaration,
where there is no such queue; then it is declared, as a classic and as a quorum queue.
"""

from __future__ import annotations

import uuid

import wire

ENDINGS = {"of ASCII": "", "with other letters": "\u00fc\u00df\u6f22" * 5}
PASSIVE, DURABLE = b"\x01", b"\x02"


def named(ending: str) -> str:
    """A name of 255 octets that nobody has."""
    begin = f"finding-{uuid.uuid4().hex[:12]}{ending}"
    return begin + "n" * (255 - len(begin.encode()))


def outcome(url: str, queue: str, flags: bytes, queue_type: str) -> str:
    """What a declaration brings, on a connection of its own."""
    connection = wire.Connection(url)
    connection.open(1)
    options = wire.table(x_queue_type=queue_type) if queue_type else wire.table()
    connection.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(queue) + flags + options))
    found = connection.read(5)
    if found is not None and found[1] == wire.DECLARE_OK:
        connection.delete(1, queue)
    connection.end()
    if found is None:
        return "nothing"
    kinds = {wire.CHANNEL_CLOSE: "channel.close", wire.CONNECTION_CLOSE: "connection.close"}
    return f"{kinds[found[1]]} {wire.reason(found[2]).split(' ')[0]}" if found[1] in kinds else "declare-ok"


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        for words, ending in ENDINGS.items():
            print(f"  looked for, {words}: {outcome(url, named(ending), PASSIVE, '')}")
        for queue_type in ("classic", "quorum"):
            for words, ending in ENDINGS.items():
                print(f"  declared, {queue_type}, {words}: {outcome(url, named(ending), DURABLE, queue_type)}")


if __name__ == "__main__":
    main()
