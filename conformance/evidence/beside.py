"""What stands beside each step of an exchange: what the model believes of queues and channels then.

Not what the broker has, which nobody outside can see, but what it must have if it is right: messages that wait, and
deliveries and publishes that are open. Beliefs are shown where they change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.events import DEADLINE, Event
from conformance.monitors import Judge
from conformance.profiles import Profile


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
        count = judge.ready(queue)
        if count:
            yield f"{count} in {queue if len(queue) < 16 else '…' + queue[-8:].lstrip('.')}"


def _open(judge: Judge, channels: Sequence[tuple[str, int]]) -> Iterator[str]:
    for name, number in channels:
        connection = judge.connection(name)
        view = connection.channel(number) if connection else None
        if view is not None and view.unacked:
            yield f"{name}.{number} unacked {', '.join(map(str, sorted(view.unacked)))}"
        if view is not None and view.unconfirmed:
            yield f"{name}.{number} unconfirmed {', '.join(map(str, sorted(view.unconfirmed)))}"
