"""TAG-007, ACK-010, RQ-001, RQ-008, MODE-005, AUTO-004, ERR-007, CNF-010, CNF-017, CNF-026, CAN-006, CAN-014, QOS-017,
TX-004 in one go: what a broker with many faults does, one line each.

    python one_broker_many_faults.py amqp://guest:guest@localhost:5672/%2F ...

Written for GarageMQ 0.1, which is why no queue is deleted and each case has queues of its own: they are exclusive, and
go with the connection of the case.
"""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Callable

import wire

Case = Callable[[wire.Connection, str], str]


def declare(connection: wire.Connection, channel: int, queue: str, **arguments: str | int) -> int:
    """A durable, exclusive queue without x-queue-type; the number of ready messages in it."""
    options = wire.table(**arguments)
    connection.send(wire.method(channel, wire.DECLARE, bytes(2) + wire.short(queue) + b"\x06" + options))
    answer = connection.wait(wire.DECLARE_OK)[2]
    return int.from_bytes(answer[1 + answer[0] : 5 + answer[0]], "big")


def held(connection: wire.Connection, queue: str, count: int) -> None:
    """So many messages, "1" and so on, all of them got on channel 1."""
    declare(connection, 1, queue)
    connection.send(*(wire.publish(1, queue, str(number + 1)) for number in range(count)))
    for _ in range(count):
        connection.take(1, queue)


def answer(connection: wire.Connection, sent: bytes, channel: int = 1) -> str:
    """How a settlement is taken: a close, or the answer of a flow behind it."""
    connection.send(sent, wire.method(channel, wire.FLOW, b"\x01"))
    while (found := connection.read(3.0)) is not None:
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            if found[1] == wire.CHANNEL_CLOSE:
                connection.send(wire.method(channel, wire.CHANNEL_CLOSE_OK))
            return wire.closing(found)
        if found[1] == wire.FLOW_OK:
            return "accepted"
    return "no answer"


def content(connection: wire.Connection, queue: str) -> list[str]:
    connection.open(9)
    return list(iter(lambda: connection.take(9, queue, no_ack=True), None))


def reopened(connection: wire.Connection, queue: str) -> str:
    held(connection, queue, 2)
    connection.send(wire.close(1))
    connection.wait(wire.CHANNEL_CLOSE_OK)
    connection.open(1)
    connection.send(wire.publish(1, queue, "new"), wire.get(1, queue))
    return f"the first tag is {int.from_bytes(connection.wait(wire.GET_OK)[2][:8], 'big')}"


def unknown_multiple(connection: wire.Connection, queue: str) -> str:
    held(connection, queue, 3)
    return answer(connection, wire.ack(1, 9, multiple=True))


def settled_multiple(connection: wire.Connection, queue: str) -> str:
    held(connection, queue, 3)
    connection.send(wire.ack(1, 2))
    return answer(connection, wire.ack(1, 2, multiple=True))


def place(connection: wire.Connection, queue: str) -> str:
    held(connection, queue, 3)
    connection.send(wire.nack(1, 3), wire.nack(1, 1), wire.nack(1, 2))
    time.sleep(0.5)
    return f"comes out as {content(connection, queue)}"


def flag(connection: wire.Connection, queue: str) -> str:
    held(connection, queue, 1)
    connection.send(wire.nack(1, 1), wire.get(1, queue))
    return f"redelivered is {bool(connection.wait(wire.GET_OK)[2][8])}"


def dead_letter(connection: wire.Connection, queue: str) -> str:
    declare(connection, 1, queue + "-dead")
    declare(connection, 1, queue, x_dead_letter_exchange="", x_dead_letter_routing_key=queue + "-dead")
    connection.send(wire.publish(1, queue, "1"))
    connection.take(1, queue)
    connection.send(wire.reject(1, 1, requeue=False))
    time.sleep(0.5)
    return f"{declare(connection, 1, queue + '-dead')} dead letters"


def after_exception(connection: wire.Connection, queue: str) -> str:
    held(connection, queue, 3)
    closed = answer(connection, wire.get(1, "finding-no-such-queue"))
    time.sleep(0.5)
    return f"{closed}; in the queue then: {content(connection, queue)}"


def consumer_of_before(connection: wire.Connection, queue: str) -> str:
    """Delivered to whom? A consumer, an error that closes its channel, the channel opened again, a publish."""
    declare(connection, 1, queue)
    connection.send(wire.consume(1, queue, "of before"))
    connection.wait(wire.CONSUME_OK)
    closed = answer(connection, wire.ack(1, 9))
    connection.open(1)
    connection.send(wire.publish(1, queue, "1"))
    found = connection.read(1.0)
    served = found is not None and found[1] == wire.DELIVER
    return f"{closed}; then {'a delivery to the consumer of before' if served else 'no frame'}"


def mode_of_before(connection: wire.Connection, queue: str) -> str:
    """Confirm mode, the channel closed and opened again, a publish: is it confirmed?"""
    declare(connection, 1, queue)
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    connection.send(wire.close(1))
    connection.wait(wire.CHANNEL_CLOSE_OK)
    connection.open(1)
    connection.send(wire.publish(1, queue, "1"))
    found = connection.read(1.0)
    return "confirmed" if found is not None and found[1] == wire.ACK else "no frame"


def consumed_first(connection: wire.Connection, queue: str) -> str:
    """Five persistent messages to a queue whose consumer needs no ack: how many are confirmed?"""
    declare(connection, 1, queue)
    connection.open(2)
    connection.send(wire.consume(2, queue, no_ack=True))
    connection.wait(wire.CONSUME_OK)
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    connection.send(*(wire.publish(1, queue, str(number)) for number in range(5)))
    delivered = confirmed = 0
    while (found := connection.read(2.0)) is not None:
        delivered += found[1] == wire.DELIVER
        if found[1] == wire.ACK:
            confirmed = max(confirmed, struct.unpack_from(">Q", found[2])[0])
    return f"{delivered} delivered, the highest confirm is {confirmed}"


def confirms(connection: wire.Connection, queue: str, routes: int, body: str) -> str:
    queues = [f"{queue}-{number}" for number in range(routes)]
    connection.send(wire.method(1, (40, 10), bytes(2) + wire.short(queue) + wire.short("fanout") + b"\x00" + bytes(4)))
    connection.wait((40, 11))
    for name in queues:
        declare(connection, 1, name)
        binding = bytes(2) + wire.short(name) + wire.short(queue) + wire.short("") + bytes(5)
        connection.send(wire.method(1, (50, 20), binding))
        connection.wait((50, 21))
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    connection.send(wire.publish(1, "", body, exchange=queue))
    seen = []
    while (found := connection.read(1.0)) is not None:
        if found[1] in (wire.ACK, wire.NACK):
            seen.append(struct.unpack_from(">Q", found[2])[0])
    connection.send(wire.method(1, (40, 20), bytes(2) + wire.short(queue) + bytes(1)))
    return f"confirms {seen}"


def two_queues(connection: wire.Connection, queue: str) -> str:
    return confirms(connection, queue, 2, "1")


def without_body(connection: wire.Connection, queue: str) -> str:
    return confirms(connection, queue, 1, "")


def unknown_cancel(connection: wire.Connection, queue: str) -> str:
    connection.send(wire.cancel(1, "nobody"))
    found = connection.read(3.0)
    if found is None:
        return "no answer"
    return "cancel-ok" if found[1] == wire.CANCEL_OK else wire.closing(found)


def silent_cancel(connection: wire.Connection, queue: str) -> str:
    declare(connection, 1, queue)
    connection.send(wire.consume(1, queue))
    connection.wait(wire.CONSUME_OK)
    connection.send(wire.method(1, wire.CANCEL, wire.short("c") + b"\x01"))
    found = connection.read(1.0)
    return "cancel-ok" if found and found[1] == wire.CANCEL_OK else "no frame"


def beyond_the_limit(connection: wire.Connection, queue: str) -> str:
    declare(connection, 1, queue)
    connection.send(wire.qos(1, 1, shared=True))
    connection.wait(wire.QOS_OK)
    connection.send(wire.consume(1, queue, "a"))
    connection.wait(wire.CONSUME_OK)
    connection.send(wire.consume(1, queue, "b", no_ack=True))
    connection.wait(wire.CONSUME_OK)
    connection.send(*(wire.publish(1, queue, str(number)) for number in range(6)))
    tags = []
    while (found := connection.read(1.0)) is not None:
        if found[1] == wire.DELIVER:
            tags.append(found[2][1 : 1 + found[2][0]].decode())
    return f"{tags.count('a')} to the manual consumer, {tags.count('b')} to the other"


def transaction(connection: wire.Connection, queue: str) -> str:
    connection.send(wire.method(1, wire.TX_SELECT))
    found = connection.read(3.0)
    return "no answer" if found is None else "select-ok" if found[1] == wire.TX_SELECT_OK else wire.closing(found)


CASES: dict[str, tuple[str, Case]] = {
    "TAG-007": ("two got, the channel closed and opened again, a get", reopened),
    "ACK-010": ("three got, ack 9 multiple", unknown_multiple),
    "ACK-010, too": ("three got, ack 2, ack 2 multiple", settled_multiple),
    "RQ-001": ("1 2 3 got, returned as 3 1 2", place),
    "RQ-008": ("a message returned and got again", flag),
    "MODE-005": ("a message rejected from a queue with a dead letter exchange", dead_letter),
    "AUTO-004": ("1 2 3 got, then an error that closes the channel", after_exception),
    "ERR-007": ("a consumer, an error that closes its channel, opened again, a publish", consumer_of_before),
    "ERR-007, too": ("confirm mode, the channel closed and opened again, a publish", mode_of_before),
    "CNF-017": ("five persistent publishes to a consumer that needs no ack", consumed_first),
    "CNF-010": ("one publish, routed to two queues", two_queues),
    "CNF-026": ("one publish with an empty body", without_body),
    "CAN-006": ("cancel of a tag that nobody has", unknown_cancel),
    "CAN-014": ("cancel with nowait", silent_cancel),
    "QOS-017": ("channel limit 1, a manual and an automatic consumer, six messages", beyond_the_limit),
    "TX-004": ("tx.select", transaction),
}


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for rule, (what, case) in CASES.items():
            connection = wire.Connection(url)
            connection.open(1)
            try:
                said = case(connection, f"finding-{uuid.uuid4().hex[:12]}")
            except ConnectionError as ended:
                said = f"(ended: {ended})"
            print(f"  {rule}: {what}: {said}")
            connection.end()


if __name__ == "__main__":
    main()
