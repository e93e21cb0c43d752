"""Policies that a virtual host has before a run begins: what they do to our queues no declaration tells.

Where one fits the names that a run gives, and limits queues or sends messages elsewhere, a right broker would look as
if it lost messages. So no run begins beside one. Without a management API nobody can know of them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.drive.drivers.admin import Admin, AdminRefused
from conformance.session.exits import WRONG_USE, Refused

NAMES = "amqpconf.0123abcd.main.1", "amqpconf.0123abcd.gw0.1"
"""Such names have queues and exchanges of a run."""
CHANGES = frozenset(
    {
        "alternate-exchange",
        "consumer-timeout",
        "dead-letter-exchange",
        "dead-letter-routing-key",
        "delivery-limit",
        "expires",
        "max-in-memory-bytes",
        "max-in-memory-length",
        "max-length",
        "max-length-bytes",
        "message-ttl",
        "overflow",
    }
)
"""What a policy may define that a client notices. What is for copies of queues on other nodes is not."""
ELSEWHERE = ("streams",)
"""What no queue of a run is."""


def check(admin: Admin, vhost: str) -> None:
    """Raises Refused if a policy of the virtual host changes what our queues and exchanges do."""
    for kind, name, pattern, keys in _found(admin, vhost):
        raise Refused(
            WRONG_USE,
            f"the {kind} {name!r} of the virtual host {vhost!r} sets {' and '.join(keys)} for every name that fits "
            f"{pattern!r}, and ours do ({NAMES[0]}). So a right broker would seem to lose messages, or to be late. "
            "Name a virtual host without such a policy in the URL, or let the pattern pass over names with amqpconf.",
        )


def _found(admin: Admin, vhost: str) -> Iterator[tuple[str, str, str, list[str]]]:
    for kind, operator in (("policy", False), ("operator policy", True)):
        policies: Mapping[str, Mapping[str, Any]] = {}
        with contextlib.suppress(AdminRefused):
            policies = admin.policies(vhost, operator=operator)
        for name, policy in policies.items():
            keys = sorted(CHANGES.intersection(policy.get("definition") or ()))
            pattern = str(policy.get("pattern") or "")
            if keys and policy.get("apply-to") not in ELSEWHERE and _fits(pattern):
                yield kind, name, pattern, keys


def _fits(pattern: str) -> bool:
    """Of a pattern that only the broker can read nobody knows."""
    with contextlib.suppress(re.error):
        return any(re.search(pattern, name) for name in NAMES)
    return False
