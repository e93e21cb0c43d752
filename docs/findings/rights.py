"""AUTH: what becomes of a user that lacks a right, or has just the right that it takes?

    python rights.py amqp://guest:guest@localhost:5672/%2F=http://guest:guest@localhost:15672 ...

For each row a user is made with the rights that are printed; it sends one method, and the answer is printed. The first
name in a pattern is that of the queue or exchange. In the last row the user is deleted while it is connected, and the
script looks for two seconds whether the connection is closed. All users, queues and exchanges are removed in the end.
"""

from __future__ import annotations

import contextlib
import sys
import uuid
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import wire
from management import ask

DECLARE_X, DECLARE_X_OK, DELETE_X, DELETE_X_OK = (40, 10), (40, 11), (40, 20), (40, 21)
NAMES = {wire.DECLARE_OK: "queue.declare-ok", DECLARE_X_OK: "exchange.declare-ok", wire.FLOW_OK: "the publish is taken"}
NONE = "^none$"


def queue(name: str, **arguments: str) -> bytes:
    return wire.method(1, wire.DECLARE, bytes(2) + wire.short(name) + b"\x02" + wire.table(**arguments))


def exchange(name: str, **arguments: str) -> bytes:
    start = bytes(2) + wire.short(name) + wire.short("fanout") + bytes(1)
    return wire.method(1, DECLARE_X, start + wire.table(**arguments))


def change(admin: str, verb: str, path: str, content: object = None) -> None:
    """What must be done, for without it nothing is shown."""
    status, says = ask(admin, verb, path, content)
    if status >= 300:
        sys.exit(f"{verb} {path} is refused: {status} {says}")


class House:
    """One broker, and users that live for one method."""

    def __init__(self, url: str, admin: str) -> None:
        self.url, self.admin = url, admin
        self.keeper = wire.Connection(url)
        self.keeper.open(1)

    def enter(self, user: str, configure: str, write: str, read: str) -> wire.Connection:
        change(self.admin, "PUT", f"/api/users/{user}", {"password": "pw", "tags": ""})
        rights = {"configure": configure, "write": write, "read": read}
        change(self.admin, "PUT", f"/api/permissions/{quote('/', safe='')}/{user}", rights)
        parts = urlsplit(self.url)
        connection = wire.Connection(f"amqp://{user}:pw@{parts.hostname}:{parts.port}/%2F")
        connection.open(1)
        return connection

    def outcome(self, rights: tuple[str, str, str], *sent: bytes) -> str:
        """What a user with these rights hears of this."""
        user = f"finding-{uuid.uuid4().hex[:12]}"
        connection = self.enter(user, *rights)
        connection.send(*sent)
        found = connection.read(3)
        if found is None:
            connection.send(wire.method(2, wire.CHANNEL_OPEN, wire.short("")))
            alive = connection.read(3) is not None
        connection.end()
        change(self.admin, "DELETE", f"/api/users/{user}")
        if found is None:
            return f"nothing, and channel 2 is {'opened then' if alive else 'not opened any more'}"
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            kind = "channel" if found[1] == wire.CHANNEL_CLOSE else "connection"
            return f"{kind}.close {wire.reason(found[2])[:64]}"
        return NAMES.get(found[1], str(found[1]))

    def deletion(self) -> str:
        """Is the connection of a deleted user closed?"""
        user = f"finding-{uuid.uuid4().hex[:12]}"
        connection = self.enter(user, ".*", ".*", ".*")
        change(self.admin, "DELETE", f"/api/users/{user}")
        found = connection.read(2)
        if found is None:
            connection.send(wire.method(1, wire.FLOW, b"\x01"))
            alive = connection.read(2) is not None
            connection.end()
            return "it stays open, and is served" if alive else "it ends without a word"
        return f"connection.close {wire.reason(found[2])[:40]}"

    def remove(self, *names: str) -> None:
        for name in names:
            with contextlib.suppress(ConnectionError):
                self.keeper.delete(1, name)
                self.keeper.send(wire.method(1, DELETE_X, bytes(2) + wire.short(name) + bytes(1)))
                self.keeper.wait(DELETE_X_OK)


def uses(long: str) -> Iterator[tuple[str, bytes]]:
    """Methods that name this queue, or a new one with a name as long; who sends them may read amq.fanout alone."""
    name, fanout = bytes(2) + wire.short(long), wire.short("amq.fanout") + wire.short("k")
    yield "basic.get from", wire.get(1, long)
    yield "basic.consume from", wire.consume(1, long)
    yield "queue.purge of", wire.method(1, (50, 30), name + bytes(1))
    yield "queue.delete of", wire.method(1, wire.DELETE, name + bytes(1))
    yield "queue.bind of", wire.method(1, wire.BIND, name + fanout + bytes(1) + bytes(4))
    yield "queue.unbind of", wire.method(1, (50, 50), name + fanout + bytes(4))
    yield "queue.declare, new, of", queue(long[:-1] + "+")
    yield "queue.declare, with a dead-letter exchange, of", queue(long[:-1] + "+", x_dead_letter_exchange="amq.fanout")


def show(house: House, name: str) -> None:
    """All rows."""
    keeper, heir, new, long = house.keeper, f"{name}-x", f"{name}-new", name + "-" * 200
    keeper.declare(1, name, "classic")
    keeper.declare(1, long, "classic")
    keeper.send(exchange(heir))
    keeper.wait(DECLARE_X_OK)
    flow = wire.method(1, wire.FLOW, b"\x01")
    rows = (
        ("queue.declare, there already, none to configure", (NONE, ".*", ".*"), [queue(name, x_queue_type="classic")]),
        ("queue.declare, new, none to configure", (NONE, ".*", ".*"), [queue(new)]),
        ("exchange.declare, there already, none to configure", (NONE, ".*", ".*"), [exchange(heir)]),
        (
            "alternate-exchange that may not be written",
            (".*", f"^{new}$", ".*"),
            [exchange(new, alternate_exchange=heir)],
        ),
        (
            "dead-letter exchange: configure and read the queue, write the exchange",
            (f"^{new}$", f"^{heir}$", f"^{new}$"),
            [queue(new, x_dead_letter_exchange=heir)],
        ),
        (
            "publish to the default exchange, write amq.default",
            (NONE, r"^amq\.default$", NONE),
            [wire.publish(1, name, "1"), flow],
        ),
        ("basic.get, none to read", (".*", ".*", NONE), [wire.get(1, name)]),
        *(
            (f"{what} a queue with a long name, no right", (NONE, NONE, "^amq[.]fanout$"), [sent])
            for what, sent in uses(long)
        ),
    )
    for what, rights, sent in rows:
        print(f"  {what}: {house.outcome(rights, *sent)}")
        house.remove(new)
    print(f"  the user is deleted: {house.deletion()}")
    house.remove(name, long, long[:-1] + "+", heir)


def main() -> None:
    for pair in sys.argv[1:]:
        url, _, admin = pair.partition("=")
        house = House(url, admin)
        print(house.keeper.broker)
        show(house, f"finding-{uuid.uuid4().hex[:12]}")
        house.keeper.end()


if __name__ == "__main__":
    main()
