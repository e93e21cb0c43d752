"""Wrong restarts that show only where something else is at work: deaths, and times to live.

Queues and messages are there again; what messages have gone through, or how long they may live, is forgotten.
"""

from __future__ import annotations

from reference_broker.message import Entry
from reference_broker.mutants.messages.remains import leaves, remade


@leaves("restarts.deaths-forgotten", "a restart leaves no x-death", "DLX-006", "DLX-012")
def deaths_forgotten(left: list[Entry]) -> list[Entry]:
    for entry in left:
        told = entry.message
        headers = [one for one in told.headers if one[0] != "x-death"]
        if len(headers) < len(told.headers):
            remade(entry, told.copy(told.exchange, told.routing_key, headers=headers))
    return left


@leaves("restarts.never-expires", "what has waited over a restart does not expire", "TTL-001", "TTL-002")
def never_expires(left: list[Entry]) -> list[Entry]:
    for entry in left:
        entry.expires = None
    return left
