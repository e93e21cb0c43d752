"""FRAME-005, ROUTE-016: what one client sends ends a broker for all.

    python ends_the_broker.py amqp://guest:guest@localhost:5672/%2F ...

Two cases: a body frame behind basic.publish, without the content header between them; and a queue that is bound to a
topic exchange with the key `.`, which is two empty words. Printed is what the broker sends then, and whether it accepts
another connection. Take a broker that nobody else uses. If it is gone, start it again: the script waits for it.
"""

from __future__ import annotations

import time

import wire

QUEUE, EXCHANGE = "findings.ends_the_broker", "findings.ends_the_broker.topic"
PATIENCE = 60


def send_body(connection: wire.Connection) -> None:
    start = wire.method(1, wire.PUBLISH, bytes(2) + wire.short("") + wire.short("findings.nobody") + b"\x00")
    connection.send(start + wire.frame(3, 1, b"body"))


def bind_dot(connection: wire.Connection) -> None:
    connection.exchange(1, EXCHANGE, "topic")
    connection.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(QUEUE) + b"\x02" + bytes(4)))
    connection.wait(wire.DECLARE_OK)
    names = wire.short(QUEUE) + wire.short(EXCHANGE) + wire.short(".")
    connection.send(wire.method(1, (50, 20), bytes(2) + names + b"\x00" + bytes(4)))


def accepts(url: str) -> str:
    time.sleep(1)
    try:
        wire.Connection(url).end()
    except OSError as refusal:
        return f"no other connection: {refusal.strerror}"
    return "another connection"


def comes_back(url: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not accepts(url).startswith("another"):
        pass


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for case, act in (("a body without a header", send_body), ("a binding with the key .", bind_dot)):
            comes_back(url)
            connection = wire.Connection(url)
            connection.open(1)
            act(connection)
            answer = connection.read(3.0)
            closes = answer is not None and answer[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE)
            told = wire.closing(answer) if answer and closes else answer[1] if answer else "nothing"
            connection.end(reset=True)
            print(f"  {case}: it sends {told}, and accepts {accepts(url)}")


if __name__ == "__main__":
    main()
