"""CAN-019: what becomes of a consumer whose user may no longer read its queue?

    python permission_withdrawn.py amqp://guest:guest@localhost:5672/%2F=http://guest:guest@localhost:15672 ...

A user made for the purpose consumes. Its right to read is withdrawn through the management API and a message is
published; then the client sends connection.update-secret, and another message is published. Prints what reaches the
consumer after each step. The user is removed in the end.
"""

from __future__ import annotations

import sys
import uuid
from urllib.parse import quote, urlsplit

import wire
from management import ask

UPDATE_SECRET, UPDATE_SECRET_OK = (10, 70), (10, 71)
NAMES = {wire.DELIVER: "basic.deliver", wire.CANCEL: "basic.cancel", UPDATE_SECRET_OK: "update-secret-ok"}


def change(admin: str, verb: str, path: str, content: object = None) -> None:
    """What must be done, for without it nothing is shown."""
    status, says = ask(admin, verb, path, content)
    if status >= 300:
        sys.exit(f"{verb} {path} is refused: {status} {says}")


def heard(connection: wire.Connection) -> str:
    """What comes until half a second of silence."""
    seen = []
    while (found := connection.read(0.5)) is not None:
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            return ", ".join([*seen, f"close {wire.reason(found[2])}"])
        if found[1] in NAMES:
            seen.append(NAMES[found[1]])
    return ", ".join(seen) or "nothing"


def main() -> None:
    for pair in sys.argv[1:]:
        url, _, admin = pair.partition("=")
        keeper, name = wire.Connection(url), f"finding-{uuid.uuid4().hex[:12]}"
        print(keeper.broker)
        rights = f"/api/permissions/{quote('/', safe='')}/{name}"
        change(admin, "PUT", f"/api/users/{name}", {"password": "first", "tags": ""})
        try:
            change(admin, "PUT", rights, {"configure": "", "write": "", "read": ".*"})
            keeper.open(1)
            keeper.declare(1, name, "classic")
            parts = urlsplit(url)
            reader = wire.Connection(f"amqp://{name}:first@{parts.hostname}:{parts.port}/%2F", wire.NOTIFY)
            reader.open(1)
            reader.send(wire.consume(1, name, no_ack=True))
            reader.wait(wire.CONSUME_OK)
            change(admin, "PUT", rights, {"configure": "", "write": "", "read": "^$"})
            keeper.send(wire.publish(1, name, "1"))
            print(f"  after the right was withdrawn: {heard(reader)}")
            secret = (5).to_bytes(4, "big") + b"first"
            reader.send(wire.method(0, UPDATE_SECRET, secret + wire.short("renewed")))
            print(f"  after connection.update-secret: {heard(reader)}")
            keeper.send(wire.publish(1, name, "2"))
            print(f"  after another publish: {heard(reader)}")
            reader.end()
        finally:
            change(admin, "DELETE", f"/api/users/{name}")
            keeper.delete(1, name)
            keeper.end()


if __name__ == "__main__":
    main()
