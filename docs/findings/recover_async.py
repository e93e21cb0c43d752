"""RQ-014: does basic.recover return everything that is out, and basic.recover-async the same without an answer?

    python recover_async.py amqp://guest:guest@localhost:5672/%2F ...

Two messages are out on a channel, by get or with a consumer that has a limit of two. After the method they should be
in the queue, or come again, with redelivered set and new tags; recover is answered by recover-ok, recover-async is not.
"""

from __future__ import annotations

import uuid

import wire

METHODS = {
    "recover": wire.recover(1),
    "recover-async": wire.method(1, wire.RECOVER_ASYNC, b"\x01"),
}


def outcome(url: str, consumed: bool, sent: bytes) -> str:
    """What follows the method, and how many messages are ready then."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, client = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    client.open(1)
    keeper.declare(1, queue, "classic")
    try:
        keeper.fill(1, queue, ["1", "2"])
        if consumed:
            client.send(wire.qos(1, 2), wire.consume(1, queue))
            client.wait(wire.DELIVER)
            client.wait(wire.DELIVER)
        else:
            client.take(1, queue)
            client.take(1, queue)
        client.send(sent)
        seen = ", ".join(_seen(client)) or "no frame"
        return f"{seen}; {keeper.declare(1, queue, 'classic')} ready"
    finally:
        client.end()
        keeper.delete(1, queue)
        keeper.end()


def _seen(client: wire.Connection) -> list[str]:
    seen: list[str] = []
    while (found := client.read(1.0)) is not None:
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            return [*seen, wire.closing(found)]
        if found[1] == wire.DELIVER:
            at = 1 + found[2][0]
            tag = int.from_bytes(found[2][at : at + 8], "big")
            seen.append(f"delivery {tag}{' redelivered' if found[2][at + 8] else ''}")
        elif found[1] == wire.RECOVER_OK:
            seen.append("recover-ok")
    return seen


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for name, sent in METHODS.items():
            for consumed in (False, True):
                print(f"  {name}, two {'consumed' if consumed else 'got'}: {outcome(url, consumed, sent)}")


if __name__ == "__main__":
    main()
