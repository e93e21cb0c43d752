"""What happens to the broker itself during a run, told in words: pure, from the events of a history.

An incident is no finding: it breaks no rule by itself, and it is said before all rules. That the broker answers nobody
any more, that it has ended, that it closes connections for a reason of its own, that it will not have a client which
introduces itself in an odd way, that it blocks publishers, that it has become slow, or was late once. Each names the
scene, and what went before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from conformance.drive import deeds
from conformance.drive.patience import kind_of
from conformance.history import events
from conformance.history.events import TO_BROKER, TO_CLIENT, Event
from conformance.outcome.ledger import Incident

WEDGED, GONE, MOVED, SPARED = "wedged", "gone", "moved", "spared"
CLOSED, REFUSED, BLOCKED, SLOW, LATE = "closed", "refused", "blocked", "slow", "late"
GRAVE = (WEDGED, GONE)
"""After these the broker cannot be examined any more."""
OWN = frozenset({200, 320, 506, 541})
"""Reply codes that speak of the broker, and never of a mistake of the client."""
FORCED, FAILURE = 320, 541
LAST = 4


def breakdown(what: str, where: str, scene: str, queue_type: str, history: Iterable[Event]) -> Incident:
    """The broker answers nobody any more: `what` it does instead; `where`: the vhost, in words."""
    said = deeds.list_deeds(history)
    after = tuple(said[-LAST:])
    kind = GONE if "connection" in what else WEDGED
    where = f"{where} " if kind == WEDGED else "the broker "
    since = f"since {_weightiest(said)}, " if after else f"since the scene {scene}, " if scene else "from the start, "
    return Incident(kind, f"{since}{where}{what}", scene, queue_type, after)


def moved(where: str, scene: str, queue_type: str) -> Incident:
    """A vhost was wedged, and there was another one."""
    return Incident(MOVED, f"then the run continued in {where}", scene, queue_type)


def spared(why: str, scene: str, queue_type: str) -> Incident:
    """Something was not done, since it is known to break the broker down."""
    return Incident(SPARED, f"{why}: the suite does not send it any more", scene, queue_type)


def closes(history: Sequence[Event], scene: str, queue_type: str) -> Iterator[Incident]:
    """Closes by the broker that no mistake of a client explains."""
    for place, event in enumerate(history):
        if event.direction != TO_CLIENT or event.method not in ("connection.close", "channel.close"):
            continue
        code = int(event.args.get("reply_code", 0))
        before = [one for one in history[:place] if one.connection == event.connection]
        excused = code == FORCED and (_banished(history[:place]) or _logging_in(before))
        if code in OWN and not (excused or (code != FAILURE and _fell_silent(before, event))):
            after = last_methods(before)
            text = str(event.args.get("reply_text", ""))
            yield Incident(
                CLOSED,
                f"{event.method} {code} {text!r} after {after[-1] if after else 'nothing'}",
                scene,
                queue_type,
                after,
            )


def _banished(history: Iterable[Event]) -> bool:
    """Has a user been deleted, whose connections the broker then closes?"""
    return any(one.kind == events.RIGHTS and one.args.get("gone") for one in history)


def _logging_in(connection: Iterable[Event]) -> bool:
    """Was the login the last that the client said? Who is not let in is refused, whatever the code."""
    said = [one.method for one in connection if one.direction == TO_BROKER and one.method]
    return bool(said) and said[-1] in ("connection.start-ok", "connection.secure-ok")


def _fell_silent(connection: Sequence[Event], close: Event) -> bool:
    """Had the client agreed to heartbeats, and said nothing for longer than their interval? Some brokers say so before
    they end such a connection, with whichever code."""
    said = [one for one in connection if one.direction == TO_BROKER]
    agreed = [int(one.args.get("heartbeat", 0)) for one in said if one.method == "connection.tune-ok"]
    return bool(agreed and agreed[-1]) and close.time_ns - said[-1].time_ns > agreed[-1] * 10**9


def late(history: Sequence[Event], scene: str, queue_type: str) -> Iterator[Incident]:
    """What came later than the deadline, while the broker, or the machine, was slow: no silence, and no finding."""
    for event in history:
        if event.kind == events.LATE:
            what, seconds = kind_of(str(event.args.get("what"))), event.args.get("waited_ms", 0) / 1000
            yield Incident(LATE, f"{what} came late, after {seconds:.0f} s", scene, queue_type)


def blocked(history: Sequence[Event], scene: str, queue_type: str) -> Iterator[Incident]:
    """The broker is short of something by itself, and lets publishers wait. Where we bring that about it is none."""
    if any(event.kind == events.ALARM for event in history):
        return
    for event in history:
        if event.method == "connection.blocked":
            yield Incident(BLOCKED, f"the broker blocks publishers: {event.args.get('reason')!r}", scene, queue_type)


def refusal(message: str, scene: str, queue_type: str) -> Incident:
    """A connection of this scene was not let in, while others are."""
    return Incident(REFUSED, f"a connection of this scene is refused: {message}", scene, queue_type)


def slowness(seconds: float, scene: str, queue_type: str) -> Incident:
    """The broker answers later and later."""
    return Incident(SLOW, f"the broker takes {seconds:.1f} s to declare and delete a queue", scene, queue_type)


def last_methods(history: Iterable[Event]) -> tuple[str, ...]:
    """What the client sent last, the same in a row once; a deletion says whether the queue had consumers."""
    return tuple(deeds.list_deeds(history)[-LAST:])


def _weightiest(said: Sequence[str]) -> str:
    """Of the methods of the last history, the one to look at first: what took a queue from its consumers, else what
    deleted something, else the last."""
    for sign in (deeds.TAKES, ".delete", ""):
        fitting = [words for words in said if sign in words]
        if fitting:
            return fitting[-1]
    return ""


def merged(incidents: Iterable[Incident]) -> tuple[Incident, ...]:
    """Those of one kind and in the same words are one, which happened so many times; the gravest first."""
    order = (*GRAVE, MOVED, SPARED, CLOSED, REFUSED, BLOCKED, SLOW, LATE)
    found: dict[tuple[str, str], list[Incident]] = {}
    for one in incidents:
        found.setdefault((one.kind, one.what), []).append(one)
    each = [_sum(alike) for alike in found.values()]
    return tuple(sorted(each, key=lambda one: (order.index(one.kind), -one.times, one.scene, one.what)))


def _sum(alike: Sequence[Incident]) -> Incident:
    first = min(alike, key=lambda one: (one.scene, one.queue_type))
    return Incident(first.kind, first.what, first.scene, first.queue_type, first.after, sum(one.times for one in alike))
