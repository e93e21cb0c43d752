"""MODE-007, MODE-008: how many messages does a queue say it has?

    python message_counts.py amqp://guest:guest@localhost:5672/%2F ...

Publishes 1 to 5, each confirmed, and asks. Gets two without settling them, and asks; returns one of them, and asks, at
once and a second later. Then purges, acknowledges the other, publishes three, gets one and deletes the queue. Each pair
is a method and the message-count of its answer; what is ready, and waits for no acknowledgement, is in brackets.
"""

from __future__ import annotations

import struct
import time
import uuid

import wire

PURGE, PURGE_OK = (50, 30), (50, 31)


class Counts:
    """One queue that is asked for its count."""

    def __init__(self, url: str, queue_type: str) -> None:
        self.name, self.said = f"finding-{uuid.uuid4().hex[:12]}", list[str]()
        self.wire = wire.Connection(url)
        self.wire.open(1)
        self.wire.declare(1, self.name, queue_type)

    def _note(self, what: str, count: int, ready: int) -> None:
        self.said.append(f"{what} {count} [{ready}]")

    def passive(self, ready: int, what: str = "declare") -> None:
        self.wire.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(self.name) + b"\x01" + wire.table()))
        arguments = self.wire.wait(wire.DECLARE_OK)[2]
        self._note(what, struct.unpack(">II", arguments[1 + arguments[0] :])[0], ready)

    def get(self, ready: int) -> None:
        self.wire.send(wire.method(1, wire.GET, bytes(2) + wire.short(self.name) + b"\0"))
        self._note("get", struct.unpack(">I", self.wire.wait(wire.GET_OK)[2][-4:])[0], ready)

    def purge(self, ready: int) -> None:
        self.wire.send(wire.method(1, PURGE, bytes(2) + wire.short(self.name) + b"\0"))
        self._note("purge", struct.unpack(">I", self.wire.wait(PURGE_OK)[2])[0], ready)

    def delete(self, ready: int) -> None:
        self.wire.send(wire.method(1, wire.DELETE, bytes(2) + wire.short(self.name) + b"\0"))
        self._note("delete", struct.unpack(">I", self.wire.wait(wire.DELETE_OK)[2])[0], ready)

    def play(self) -> str:
        self.wire.fill(1, self.name, list("12345"))
        self.passive(5)
        self.get(4)
        self.get(3)
        self.passive(3)
        self.wire.send(wire.nack(1, 1))
        self.passive(4, "declare at once")
        time.sleep(1.0)
        self.passive(4, "declare later")
        self.purge(4)
        self.passive(0)
        self.wire.send(wire.ack(1, 2))
        self.wire.fill(1, self.name, list("678"))
        self.get(2)
        self.delete(2)
        self.wire.end()
        return ", ".join(self.said)


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            try:
                print(f"  {queue_type}: {Counts(url, queue_type).play()}")
            except Exception as trouble:
                print(f"  {queue_type}: {trouble!r}")


if __name__ == "__main__":
    main()
