"""POLICY-017: queues that go by a policy with expires, and what becomes of that policy meanwhile.

    python lease_taken_away.py amqp://guest:guest@localhost:5672/%2F=http://guest:guest@localhost:15672 ...

Ten queues get a policy with expires, 3 s. 1.3 s later that is removed, or sets an hour, or stays. Nobody uses the
queues. 6 s after the policy was set, how many of them are there? First one policy is for all ten; then each queue has a
policy of its own, and these are changed one after the other. Then one policy is for all ten, which have an x-expires of
two hours as well. At last one policy stays, and another one, which is for no queue, is set every 50 ms.
"""

from __future__ import annotations

import sys
import threading
import time
from urllib.parse import quote

import wire
from management import ask

NAME, TIMES = "findings.lease_taken_away", 10
LEASE, HOUR = 3_000, 3_600_000
OWN = {"x_expires": 2 * HOUR}
POLICIES = f"/api/policies/{quote('/', safe='')}/"
QUEUES = [f"{NAME}.{number}." for number in range(TIMES)]
FATES = ("is removed", "sets an hour", "stays")


def rule(admin: str, beginning: str, expires: int) -> None:
    """A policy for the queues whose names begin so."""
    definition = {"pattern": f"^{beginning}", "definition": {"expires": expires}, "apply-to": "queues"}
    status, says = ask(admin, "PUT", POLICIES + beginning, definition)
    if status >= 300:
        sys.exit(f"the policy is refused: {status} {says}")


def there(url: str, queue: str) -> bool:
    connection = wire.Connection(url)
    connection.open(1)
    connection.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(queue) + b"\x01" + bytes(4)))
    found = connection.read()
    connection.end()
    return found is not None and found[1] == wire.DECLARE_OK


def show(url: str, admin: str, policies: list[str], fate: str, beside: bool = False, own: bool = False) -> None:
    connection = wire.Connection(url)
    connection.open(1)
    for queue in QUEUES:
        connection.declare(1, queue, "classic", **(OWN if own else {}))
    for policy in policies:
        rule(admin, policy, LEASE)
    over = threading.Event()
    noise = threading.Thread(target=change, args=(admin, over if beside else None))
    noise.start()
    time.sleep(1.3)
    for policy in policies if fate != "stays" else ():
        if fate == "is removed":
            ask(admin, "DELETE", POLICIES + policy)
        else:
            rule(admin, policy, HOUR)
    time.sleep(4.7)
    over.set()
    noise.join()
    kept = sum(there(url, queue) for queue in QUEUES)
    whose = ("one of each" if len(policies) > 1 else "one for all") + (", beside x-expires," if own else "")
    print(
        f"  {whose} {fate}{', and another one is set again and again' if beside else ''}: {kept} of {TIMES} are there"
    )
    for policy in policies:
        ask(admin, "DELETE", POLICIES + policy)
    for queue in QUEUES:
        connection.delete(1, queue)
    connection.end()


def change(admin: str, over: threading.Event | None) -> None:
    """Another policy, for queues that are not there, again and again."""
    while over is not None and not over.wait(0.05):
        rule(admin, "findings.nobody", HOUR)
    ask(admin, "DELETE", POLICIES + "findings.nobody")


def main() -> None:
    for given in sys.argv[1:]:
        url, _, admin = given.partition("=")
        print(wire.Connection(url).broker)
        for policies in ([NAME], QUEUES):
            for fate in FATES:
                show(url, admin, policies, fate)
        for fate in FATES:
            show(url, admin, [NAME], fate, own=True)
        show(url, admin, [NAME], "stays", beside=True)


if __name__ == "__main__":
    main()
