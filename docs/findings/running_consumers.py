"""QOS-004: what does basic.qos without global do to a consumer that is already running?

    python running_consumers.py amqp://guest:guest@localhost:5672/%2F ...

It concerns consumers started later. A queue holds more messages than any limit allows; what is printed is the number
of deliveries to each consumer after each step, until nothing has come for a second. The last line but one looks like
a slot that goes to the wrong consumer (QOS-013); the last one, with equal limits, shows that it is not.
"""

from __future__ import annotations

import uuid

import wire

QUIET = 1.0
Step = tuple[str, str | int]  # "qos" and a limit, "consume" and a tag, "ack" and a tag up to which

CASES: list[list[Step]] = [
    [("qos", 2), ("consume", "a"), ("qos", 5)],
    [("qos", 5), ("consume", "a"), ("qos", 2), ("ack", 1)],
    [("qos", 2), ("consume", "a"), ("qos", 0), ("ack", 2)],
    [("qos", 4), ("consume", "a"), ("qos", 2), ("consume", "b"), ("ack", 6)],
    [("qos", 3), ("consume", "a"), ("consume", "b"), ("ack", 6)],
]


def steps(url: str, case: list[Step]) -> str:
    """Each step of the case with the deliveries that followed it."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    receiver.open(1)
    keeper.declare(1, queue, "classic")
    try:
        keeper.fill(1, queue, [str(number) for number in range(20)])
        return ", ".join(_taken(receiver, queue, *step) for step in case)
    finally:
        receiver.end()
        keeper.delete(1, queue)
        keeper.end()


def _taken(receiver: wire.Connection, queue: str, what: str, value: str | int) -> str:
    if what == "qos":
        receiver.send(wire.qos(1, int(value)))
    elif what == "consume":
        receiver.send(wire.consume(1, queue, str(value)))
    else:
        receiver.send(wire.ack(1, int(value), multiple=True))
    seen: dict[str, int] = {}
    while (found := receiver.read(QUIET)) is not None:
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            return f"{what} {value}: {wire.closing(found)}"
        if found[1] == wire.DELIVER:
            tag = found[2][1 : 1 + found[2][0]].decode()
            seen[tag] = seen.get(tag, 0) + 1
    return f"{what} {value}: " + (" and ".join(f"{count} to {tag}" for tag, count in seen.items()) or "none")


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for case in CASES:
            print(f"  {steps(url, case)}")


if __name__ == "__main__":
    main()
