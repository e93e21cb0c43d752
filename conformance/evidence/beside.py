"""The state beside each step of an exchange: what the model believes of queues and channels at that moment.

Nobody outside can see what the broker has. This is what it must have if it is right: messages that wait, and deliveries
and publishes that are open. The state is shown where it changes:

    m1, m2, +4 in q1; c1.1 unacked 3 m3, 4 m4; c1.1 unconfirmed 1, 2
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from conformance.catalogue.profiles import Profile
from conformance.history.events import DEADLINE, Event
from conformance.oracle.monitors import Judge

MOST = 6
"""Messages, deliveries or publishes that are named; of more than these it is told how many there are."""
_PLAIN = re.compile(r"[\w.:@-]{1,12}")


def states(events: Sequence[Event], profile: Profile) -> dict[int, str]:
    """By seq: the state after this event, for events that change it."""
    judge, found, before = Judge(profile), dict[int, str](), ""
    queues = list(dict.fromkeys(event.queue for event in events if event.queue))
    channels = sorted({(event.connection, event.channel) for event in events if event.channel})
    for event in events:
        judge.step(event)
        if event.kind == DEADLINE:  # from here on the model expects nothing any more
            continue
        state = "; ".join([*_waiting(judge, queues), *_open(judge, channels)])
        if state != before:
            found[event.seq], before = state or "nothing waits, nothing is open", state
    return found


def _waiting(judge: Judge, queues: Sequence[str]) -> Iterator[str]:
    for queue in queues:
        waiting = [_name(message) for message in judge.waiting(queue)]
        if waiting:
            yield f"{_listed(waiting)} in {queue if len(queue) < 16 else '…' + queue[-8:].lstrip('.')}"


def _open(judge: Judge, channels: Sequence[tuple[str, int]]) -> Iterator[str]:
    for name, number in channels:
        connection = judge.connection(name)
        view = connection.channel(number) if connection else None
        if view is not None and view.unacked:
            out = [f"{tag} {_name(view.unacked[tag].message)}" for tag in sorted(view.unacked)]
            yield f"{name}.{number} unacked {_listed(out)}"
        if view is not None and view.unconfirmed:
            yield f"{name}.{number} unconfirmed {_listed([str(number) for number in sorted(view.unconfirmed)])}"


def _name(message: str) -> str:
    """As short as a box that holds it."""
    return message if _PLAIN.fullmatch(message) else "?" if not message else f"…{''.join(_PLAIN.findall(message))[-6:]}"


def _listed(items: Sequence[str]) -> str:
    return ", ".join([*items[:MOST], *([f"+{len(items) - MOST}"] if len(items) > MOST else [])])
