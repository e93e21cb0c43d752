"""What happens to a consume and a cancel of the same tag that are sent in one TCP write?

    python consume_then_cancel.py amqp://guest:guest@localhost:5672/%2F ...

Nothing forbids it: the broker should answer consume-ok and cancel-ok. Once on a channel without other consumers, once
beside another consumer of the queue.
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

TRIES = 10


def outcome(url: str, queue_type: str, beside: bool) -> str:
    """What the broker answers, in order, up to the answer of a later flow."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, connection = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    connection.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        if beside:
            connection.send(wire.consume(1, queue, "other"))
            connection.wait(wire.CONSUME_OK)
        connection.send(wire.consume(1, queue), wire.cancel(1))
        connection.send(wire.method(1, wire.FLOW, b"\x01"))
        return " ".join(_answers(connection))
    finally:
        keeper.delete(1, queue)
        keeper.end()
        connection.end()


def _answers(connection: wire.Connection) -> list[str]:
    names = {wire.CONSUME_OK: "consume-ok", wire.CANCEL_OK: "cancel-ok"}
    seen: list[str] = []
    flowed = False
    while (found := connection.read(0.5)) is not None:
        if found[1] in (wire.CONNECTION_CLOSE, wire.CHANNEL_CLOSE):
            return [*seen, wire.reason(found[2]).split(" - ")[0]]
        flowed = flowed or found[1] == wire.FLOW_OK
        if found[1] in names:
            seen.append(names[found[1]])
    return seen if flowed else [*seen, "(no flow-ok)"]


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            for beside in (False, True):
                seen = Counter(outcome(url, queue_type, beside) for _ in range(TRIES))
                where = "beside another consumer" if beside else "alone"
                print(f"  {queue_type}, {where}: " + "; ".join(f"{n} x {what}" for what, n in seen.most_common()))


if __name__ == "__main__":
    main()
