"""TMO-001, TMO-024, TMO-027: what does a timeout of the queue do where somebody looks about once a minute?

    python once_a_minute.py amqp://guest:guest@localhost:5672/%2F ...

Each case has a queue of two messages with x-consumer-timeout 500, and a client of its own that announces
consumer_cancel_notify and settles nothing: a consumer; a get; a consumer whose queue has no timeout, but that has an
argument x-consumer-timeout itself; one that needs no acknowledgements. The last holds a message of a queue without a
timeout, then one of a queue that has it. All begin together; what came within ninety seconds, when, and what is in the
queue then. A refusal at the beginning is told as well.
"""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import wire

WAIT, SOON = 90, 1
TIMED = {"x_consumer_timeout": 500}
CASES = ("a consumer", "a get", "an argument of the consumer", "no acknowledgements", "the second of two queues")


def outcome(url: str, queue_type: str, case: str) -> str:
    """What the broker does to the client, and how many messages are ready at the end."""
    first, second = (f"finding-{uuid.uuid4().hex[:12]}" for _ in range(2))
    keeper, client = wire.Connection(url), wire.Connection(url, wire.NOTIFY)
    keeper.open(1)
    keeper.open(2)
    client.open(1)
    untimed = case in CASES[2:3] + CASES[4:]
    try:
        keeper.declare(1, first, queue_type, **({} if untimed else TIMED))
        keeper.declare(1, second, queue_type, **TIMED)
        keeper.fill(1, first, ["1", "2"])
        keeper.fill(2, second, ["3", "4"])
        _begin(client, case, first, second)
        began = time.monotonic()
        said = _watch(client, began)
        time.sleep(SOON)
        ready = _ready(url, first), _ready(url, second)
        return f"{said}; ready then: {ready[0]}" + (f" and {ready[1]}" if case == CASES[4] else "")
    except ConnectionError as refused:
        return f"refused: {refused}"
    finally:
        client.end()
        keeper.end()
        _remove(url, first, second)


def _begin(client: wire.Connection, case: str, first: str, second: str) -> None:
    client.send(wire.qos(1, 1))
    client.wait(wire.QOS_OK)
    if case == "a get":
        client.take(1, first)
        return
    options = wire.table(**TIMED) if case == CASES[2] else wire.table()
    no_ack = case == CASES[3]
    for number, queue in enumerate((first, second) if case == CASES[4] else (first,)):
        tag = wire.short(f"c{number}")
        client.send(wire.method(1, wire.CONSUME, bytes(2) + wire.short(queue) + tag + bytes([2 * no_ack]) + options))
        client.wait(wire.DELIVER)


def _watch(client: wire.Connection, began: float) -> str:
    """Everything that is no delivery."""
    while (left := began + WAIT - time.monotonic()) > 0:
        frame = client.read(left)
        if frame is None:
            break
        if frame[1] == wire.CHANNEL_CLOSE:
            client.send(wire.method(1, wire.CHANNEL_CLOSE_OK))
        if frame[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            return f"{wire.closing(frame)}, after {time.monotonic() - began:.0f} s"
        if frame[1] == wire.CANCEL:
            return f"basic.cancel, after {time.monotonic() - began:.1f} s"
    return f"nothing within {WAIT} s"


def _ready(url: str, queue: str) -> int:
    """How many messages are ready."""
    keeper = wire.Connection(url)
    keeper.open(1)
    keeper.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(queue) + b"\x01" + bytes(4)))
    answer = keeper.wait(wire.DECLARE_OK)[2]
    keeper.end()
    return int.from_bytes(answer[1 + answer[0] : 5 + answer[0]], "big")


def _remove(url: str, *queues: str) -> None:
    for queue in queues:
        keeper = wire.Connection(url)
        keeper.open(1)
        keeper.delete(1, queue)
        keeper.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        cases = [(queue_type, case) for queue_type in ("classic", "quorum") for case in CASES]
        with ThreadPoolExecutor(len(cases)) as together:
            said = together.map(outcome, [url] * len(cases), *zip(*cases, strict=True))
            for (queue_type, case), words in zip(cases, said, strict=True):
                print(f"  {queue_type} queue, {case}: {words}")


if __name__ == "__main__":
    main()
