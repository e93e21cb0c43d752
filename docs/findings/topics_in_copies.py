"""AUTH-031: are rights for topics held against the keys in CC and BCC?

    python topics_in_copies.py amqp://guest:guest@localhost:5672/%2F=http://guest:guest@localhost:15672 ...

A user may publish to a topic exchange with keys that begin with w alone. It publishes messages, by a routing key and
with one more key in CC or BCC. The answer is printed, and whether the queue that is bound by `#` has the message. The
user, the exchange and the queue are removed in the end.
"""

from __future__ import annotations

import struct
import sys
import uuid
from urllib.parse import quote, urlsplit

import wire
from management import ask

VHOST = quote("/", safe="")
KEYS = (("w.a", "", ""), ("r.a", "", ""), ("w.a", "CC", "w.b"), ("w.a", "CC", "r.b"), ("w.a", "BCC", "r.b"))
HEADERS = 0x2000


def change(admin: str, verb: str, path: str, content: object = None) -> None:
    """What must be done, for without it nothing is shown."""
    status, says = ask(admin, verb, path, content)
    if status >= 300:
        sys.exit(f"{verb} {path} is refused: {status} {says}")


def publish(exchange: str, key: str, name: str, more: str) -> bytes:
    """A message of one octet, with one key in this header."""
    text = b"S" + struct.pack(">I", len(more)) + more.encode()
    entry = wire.short(name) + b"A" + struct.pack(">I", len(text)) + text if name else b""
    header = struct.pack(">HHQH", 60, 0, 1, HEADERS) + struct.pack(">I", len(entry)) + entry
    start = wire.method(1, wire.PUBLISH, bytes(2) + wire.short(exchange) + wire.short(key) + bytes(1))
    return start + wire.frame(2, 1, header) + wire.frame(3, 1, b"m")


def outcome(url: str, user: str, sent: bytes) -> str:
    """What the user hears of it."""
    parts = urlsplit(url)
    line = wire.Connection(f"amqp://{user}:pw@{parts.hostname}:{parts.port}/%2F")
    line.open(1)
    line.send(wire.method(1, wire.CONFIRM, bytes(1)))
    line.wait(wire.CONFIRM_OK)
    line.send(sent)
    try:
        line.wait(wire.ACK)
        return "confirmed"
    except ConnectionError as error:
        return f"channel.close {error}"
    finally:
        line.end()


def show(url: str, admin: str) -> None:
    name = f"finding-{uuid.uuid4().hex[:12]}"
    keeper = wire.Connection(url)
    print(keeper.broker)
    keeper.open(1)
    keeper.exchange(1, name, "topic")
    keeper.declare(1, name, "classic")
    keeper.bind(1, name, name, "#")
    change(admin, "PUT", f"/api/users/{name}", {"password": "pw", "tags": ""})
    change(admin, "PUT", f"/api/permissions/{VHOST}/{name}", dict.fromkeys(("configure", "write", "read"), ".*"))
    topics = {"exchange": name, "write": "^w", "read": ".*"}
    change(admin, "PUT", f"/api/topic-permissions/{VHOST}/{name}", topics)
    for key, header, more in KEYS:
        said = outcome(url, name, publish(name, key, header, more))
        there = "in the queue" if keeper.take(1, name, no_ack=True) else "not in the queue"
        print(f"  {key} {header or '-':3} {more or '-':3}: {said[:34]}, {there}")
    change(admin, "DELETE", f"/api/users/{name}")
    keeper.delete(1, name)
    keeper.drop(1, name)


if __name__ == "__main__":
    for both in sys.argv[1:]:
        show(*both.split("=", 1))
