"""Histories as an observer on the wire may have them: with parts missing, and said to be missing.

Each function takes the events of one history in the order of seq and a `random.Random`, and gives another history of
the same run and name, numbered anew. What they leave is in the order in which it was; what they take away is marked as
capture and proxy mark it (`conformance/history/events.py`): the mark stands where the first missing event was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from random import Random

from conformance.history import events as ev
from conformance.history.events import Event

History = Sequence[Event]
Mutilation = Callable[[History, Random], list[Event]]


def late(history: History, chance: Random) -> list[Event]:
    """The observer came late: a prefix is missing."""
    at = chance.randrange(len(history) + 1)
    before, after = history[:at], history[at:]
    joined = _alive(before) & {event.connection for event in after}
    marks = [_mark(history, ev.OBSERVED, "", by="capture", others=bool(at), ordered=True)]
    marks += [_mark(history, ev.JOINED, name, reason="the trace begins here") for name in sorted(joined)]
    return numbered([*marks, *after])


def left(history: History, chance: Random) -> list[Event]:
    """The observer left early: a suffix is missing."""
    at = chance.randrange(len(history) + 1)
    marks = [_mark(history, ev.CUT, name, reason="the trace ends here") for name in sorted(_alive(history[:at]))]
    return numbered([*history[:at], *marks])


def gapped(history: History, chance: Random) -> list[Event]:
    """One to four times some octets of one direction of one connection are missing."""
    made = list(history)
    for _ in range(chance.randint(1, 4)):
        made = _gap(made, chance)
    return numbered(made)


def sieved(history: History, chance: Random) -> list[Event]:
    """Frames are missing everywhere."""
    share, made = chance.choice((0.01, 0.05, 0.3)), list[Event]()
    for event in history:
        if event.direction == ev.LOCAL or chance.random() > share:
            made.append(event)
        else:
            made.append(_mark(history, ev.GAP, event.connection, direction=event.direction, octets=len(event.raw)))
    return numbered(made)


def bereft(history: History, chance: Random) -> list[Event]:
    """Some of the connections were never seen."""
    names = sorted({event.connection for event in history if event.connection})
    missing = set(chance.sample(names, chance.randrange(1, len(names)))) if len(names) > 1 else set[str]()
    kept = [event for event in history if event.connection not in missing]
    return numbered([_mark(history, ev.OBSERVED, "", by="capture", others=True, ordered=True), *kept])


def crowded(history: History, chance: Random) -> list[Event]:
    """All was seen, and nobody knows that it was all."""
    return numbered([_mark(history, ev.OBSERVED, "", by="proxy", others=True, ordered=True), *history])


def unordered(history: History, chance: Random) -> list[Event]:
    """Each connection was seen by another clock."""
    lanes = {
        name: [one for one in history if one.connection == name]
        for name in dict.fromkeys(event.connection for event in history)
        if name
    }
    turns = [name for name, lane in lanes.items() for _ in lane]
    chance.shuffle(turns)
    lane_of = {name: iter(lane) for name, lane in lanes.items()}
    mark = _mark(history, ev.OBSERVED, "", by="capture", others=False, ordered=False)
    return numbered([mark, *(next(lane_of[name]) for name in turns)])


def doubled(history: History, chance: Random) -> list[Event]:
    """The same went on beside it, in another virtual host."""
    copy = [_elsewhere(event) for event in history if event.connection]
    here, elsewhere = iter(history), iter(copy)
    turns = [here] * len(history) + [elsewhere] * len(copy)
    chance.shuffle(turns)
    mark = _mark(history, ev.OBSERVED, "", by="capture", others=False, ordered=True)
    return numbered([mark, *map(next, turns)])


def several(history: History, chance: Random) -> list[Event]:
    """All sorts of things went wrong."""
    made: History = history
    for mutilation in chance.sample([late, left, gapped, bereft, unordered], chance.randint(2, 3)):
        made = mutilation(made, chance) if made else made
    return list(made)


ALL: Sequence[Mutilation] = (late, left, gapped, sieved, bereft, crowded, unordered, doubled, several)


def numbered(history: Iterable[Event]) -> list[Event]:
    """Numbered from 1; times never go back."""
    made, now = list[Event](), 0
    for seq, event in enumerate(history, 1):
        now = max(now, event.time_ns)
        made.append(event._replace(seq=seq, time_ns=now))
    return made


def by_history(events: Iterable[Event]) -> dict[tuple[str, str], list[Event]]:
    """The events of each history, in order."""
    found: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        found.setdefault((event.run, event.history), []).append(event)
    for history in found.values():
        history.sort(key=lambda event: event.seq)
    return found


def _gap(history: list[Event], chance: Random) -> list[Event]:
    frames = [at for at, event in enumerate(history) if event.direction != ev.LOCAL]
    if not frames:
        return history
    first = chance.choice(frames)
    lane = history[first].connection, history[first].direction
    same = [at for at in frames if at >= first and (history[at].connection, history[at].direction) == lane]
    lost = same[: chance.choice((1, 1, 2, 3, 8, 40))]
    mark = _mark(history, ev.GAP, lane[0], direction=lane[1], octets=None, reason="lost")
    return [mark if at == first else event for at, event in enumerate(history) if at == first or at not in set(lost)]


def _elsewhere(event: Event) -> Event:
    """It, on a connection of its own to another virtual host."""
    moved = event._replace(connection=f"{event.connection} elsewhere")
    if event.method != "connection.open":
        return moved
    return moved._replace(arguments=json.dumps({**event.args, "virtual_host": "elsewhere"}, sort_keys=True))


def _alive(history: History) -> set[str]:
    """Connections that have begun and not ended."""
    alive = set[str]()
    for event in history:
        if event.kind == ev.END:
            alive.discard(event.connection)
        elif event.connection:
            alive.add(event.connection)
    return alive


def _mark(history: History, kind: str, connection: str, **arguments: object) -> Event:
    """What the observer says of itself."""
    like = history[0]
    text = json.dumps(arguments, sort_keys=True)
    return like._replace(
        connection=connection,
        channel=0,
        seq=0,
        time_ns=0,
        direction=ev.LOCAL,
        kind=kind,
        class_id=0,
        method_id=0,
        method="",
        delivery_tag=None,
        multiple=None,
        consumer_tag=None,
        queue=None,
        exchange=None,
        routing_key=None,
        message_id=None,
        flags="",
        arguments=text,
        body_size=None,
        body_hash=None,
        raw=b"",
    )
