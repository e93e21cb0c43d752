"""CNF-009: what comes back of a mandatory publish that a full queue refuses?

    python return_of_a_refused_publish.py amqp://guest:guest@localhost:5672/%2F ...

The queue has room for one message and refuses the rest (x-overflow reject-publish). Its route exists, so basic.return
312 (no route) is wrong: in confirm mode basic.nack says what happened. In a transaction there is no nack.
"""

from __future__ import annotations

import uuid

import wire

NAMES = {wire.ACK: "ack", wire.NACK: "nack", wire.TX_COMMIT_OK: "commit-ok"}


def answers(url: str, mandatory: bool, transaction: bool) -> str:
    """What the broker says of one publish to the full queue, and how many messages are in it then."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, client = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    client.open(1)
    full = {"x_max_length": 1, "x_overflow": "reject-publish"}
    keeper.declare(1, queue, "classic", **full)
    try:
        keeper.fill(1, queue, ["1"])
        client.send(wire.method(1, wire.TX_SELECT) if transaction else wire.method(1, wire.CONFIRM, bytes(1)))
        client.wait(wire.TX_SELECT_OK, wire.CONFIRM_OK)
        commit = wire.method(1, wire.TX_COMMIT) if transaction else b""
        client.send(wire.publish(1, queue, "2", mandatory=mandatory), commit)
        seen = ", ".join(_said(client)) or "nothing"
        return f"{seen}; {keeper.declare(1, queue, 'classic', **full)} in the queue"
    finally:
        client.end()
        keeper.delete(1, queue)
        keeper.end()


def _said(client: wire.Connection) -> list[str]:
    seen: list[str] = []
    while (found := client.read(1.0)) is not None:
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            return [*seen, wire.closing(found)]
        if found[1] == wire.RETURN:
            seen.append(f"return {wire.reason(found[2])}")
        elif found[1] in NAMES:
            seen.append(NAMES[found[1]])
    return seen


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for transaction in (False, True):
            for mandatory in (False, True):
                where = "in a transaction" if transaction else "in confirm mode"
                print(f"  {where}, {'mandatory' if mandatory else 'plain'}: {answers(url, mandatory, transaction)}")


if __name__ == "__main__":
    main()
