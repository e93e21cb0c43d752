"""POLICY-020: a full queue with x-overflow, and a policy that sets another overflow.

    python overflow_by_policy.py amqp://guest:guest@localhost:5672/%2F=http://guest:guest@localhost:15672 ...

A classic queue is declared with x-overflow. A policy gives it room for three messages, and the other overflow. Then
five messages, 1 to 5, come in confirm mode, one after the other. What they are answered is printed, and what the queue
has in the end.
"""

from __future__ import annotations

import sys
import time
from urllib.parse import quote

import wire
from management import ask

QUEUE, POLICY = "findings.overflow_by_policy", "findings-overflow-by-policy"
VHOST = quote("/", safe="")
OVERFLOWS = ("drop-head", "reject-publish")


def set_policy(admin: str, overflow: str) -> None:
    """Sets it, and waits until the queue says that it has it."""
    definition = {"pattern": f"^{QUEUE}$", "definition": {"max-length": 3, "overflow": overflow}, "apply-to": "queues"}
    status, says = ask(admin, "PUT", f"/api/policies/{VHOST}/{POLICY}", definition)
    if status >= 300:
        sys.exit(f"the policy is refused: {status} {says}")
    until = time.monotonic() + 10
    while POLICY not in ask(admin, "GET", f"/api/queues/{VHOST}/{QUEUE}")[1]:
        if time.monotonic() > until:
            sys.exit("the queue does not get its policy within 10 s")
        time.sleep(0.1)


def show(url: str, admin: str, argument: str, policy: str) -> None:
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, QUEUE, "classic", x_overflow=argument)
    set_policy(admin, policy)
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    answers = []
    for number in range(1, 6):
        connection.send(wire.publish(1, QUEUE, str(number)))
        answers.append("ack" if connection.wait(wire.ACK, wire.NACK)[1] == wire.ACK else "nack")
    held = [body for body in iter(lambda: connection.take(1, QUEUE, no_ack=True), None) if body is not None]
    print(f"  x-overflow {argument}, by policy {policy}: {', '.join(answers)}; in the queue {' '.join(held)}")
    ask(admin, "DELETE", f"/api/policies/{VHOST}/{POLICY}")
    connection.delete(1, QUEUE)
    connection.end()


def main() -> None:
    for given in sys.argv[1:]:
        url, _, admin = given.partition("=")
        print(wire.Connection(url).broker)
        for argument, policy in (OVERFLOWS, OVERFLOWS[::-1]):
            show(url, admin, argument, policy)


if __name__ == "__main__":
    main()
