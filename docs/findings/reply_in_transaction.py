"""DRT-005: does a reply come that is published in a transaction, once that is committed?

    python reply_in_transaction.py amqp://guest:guest@localhost:5672/%2F ...

A requester consumes from amq.rabbitmq.reply-to, and asks. Another connection publishes the reply in a transaction, and
commits, twice. Each commit should be answered, and each reply should come to the requester, as method, header and body.
"""

from __future__ import annotations

import wire
from replies import ASKED, address, requester

TX_SELECT, TX_SELECT_OK, TX_COMMIT, TX_COMMIT_OK = (90, 10), (90, 11), (90, 20), (90, 21)


def show(url: str) -> str:
    """How each commit is answered, and what comes to the requester."""
    asker, answerer = requester(url, "a"), wire.Connection(url)
    to = address(asker, ASKED)
    answerer.open(1)
    answerer.send(wire.method(1, TX_SELECT))
    answerer.wait(TX_SELECT_OK)
    said = [commit(answerer, asker, to) for _ in range(2)]
    asker.end()
    return "; ".join(said)


def commit(answerer: wire.Connection, asker: wire.Connection, to: str) -> str:
    """One reply in a transaction: how the commit is answered, and which frames come to the requester."""
    answerer.send(wire.publish(1, to, "reply"), wire.method(1, TX_COMMIT))
    try:
        answerer.wait(TX_COMMIT_OK)
    except (ConnectionError, OSError) as error:
        return " ".join(str(error).split())
    frames = [asker.read(2.0) for _ in ("method", "header", "body")]
    came = [name for name, frame in zip(("method", "header", "body"), frames, strict=True) if frame is not None]
    return f"commit-ok, the requester gets {', '.join(came) or 'nothing'}"


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        print(f"  {show(url)}")


if __name__ == "__main__":
    main()
