"""Dead letters that are due: a queue is found empty, and one must have been in it for a good while.

`_due` is the time by which a message has certainly died as often as its way asks for, counted from what the broker has
confirmed; 0 where any step has a time that nobody knows. One may be missing only where nobody else takes messages, and
where the queue at the end of the way loses none by itself. An empty queue is also the proof that something did not
come: of what was acknowledged, and of what would go round for ever.
"""

from __future__ import annotations

from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import FoundEmpty
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.messages.deadletters.deaths import (
    ACKED,
    EXPIRED,
    GIVEN_UP,
    HELD,
    LENGTH,
    LEVELS,
    MAXLEN,
    MILLISECOND,
    OCTETS,
    PLAIN,
    PUSHED,
    REJECTED,
    TTL,
    WAITING,
    DeadLettering,
    DeathStep,
    DeclaredQueue,
    TrackedMessage,
    after,
    words,
)
from conformance.oracle.monitors.messages.dlx import COPIES, ENDLESS, OF_REASON, ON_AND_ON, SETTLED
from conformance.oracle.monitors.messages.ttl import Lives
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import DEAD_LETTERS, too_late
from conformance.oracle.monitors.table import judges

LOSSY = frozenset({LENGTH, OCTETS, "x-single-active-consumer"})
"""In such queues messages may be lost, or gets find nothing."""
PROMPT = 1_000 * MILLISECOND
"""After this a dead letter has usually arrived."""


@judges(FoundEmpty, *OF_REASON.values(), COPIES, ENDLESS, ON_AND_ON, SETTLED)
def missing(fact: FoundEmpty, notes: Notes) -> None:
    """A queue is empty: is there a dead letter that must be in it?"""
    lettering, queue, event = notes.memory(DeadLettering), fact.queue, fact.event
    if lettering.messages and queue.declared and not (queue.purged or queue.deleted) and queue.kind == "classic":
        _no_room(fact, lettering, notes)
    if not lettering.messages or queue.losers or queue.purged or queue.deleted or not queue.declared:
        return
    if not queue.others(queue.declared, fact.receiver) and not queue.sweepers:
        lettering.swept(queue.name, fact.since)
    for message, tracked in lettering.messages.items():
        if tracked is None or tracked.over or tracked.connection != event.connection:
            continue
        if queue.others(tracked.sent, fact.receiver):
            continue
        _absent(fact, message, tracked, lettering, notes)


def _no_room(fact: FoundEmpty, lettering: DeadLettering, notes: Notes) -> None:
    """What was to come back to a queue with a limit, and is not there, was pushed out."""
    queue, event = fact.queue, fact.event
    for tracked in lettering.given_back(queue.name, notes.memory(Lives).asked(fact.since)):
        alone = tracked.connection == event.connection and queue.losers <= {event.connection}
        if alone and not queue.others(tracked.returned, fact.receiver):
            tracked.fate, tracked.died_ns = PUSHED, event.time_ns


def _absent(fact: FoundEmpty, message: str, tracked: TrackedMessage, lettering: DeadLettering, notes: Notes) -> None:
    name = fact.queue.name
    asked, final = notes.memory(Lives).asked(fact.since), lettering.places.get(name)
    if final is None or not (LOSSY.isdisjoint(final.arguments) and PLAIN.issuperset(final.arguments)):
        return
    if tracked.fate == ACKED and 0 < tracked.died_ns < asked - PROMPT and _could_bury(tracked, name, lettering):
        tracked.over = True
        notes.exercise(SETTLED)
        return
    if lettering.by_copy(tracked, name):
        died = 0 < tracked.died_ns < asked - PROMPT and final.number(TTL) is None
        if died and too_late(asked, tracked.died_ns, DEAD_LETTERS, notes):
            tracked.over = True
            allowed = f"{message} in {name}, by a key in CC"
            notes.find(
                COPIES, fact.event, allowed, "the queue is empty", tracked.sent, unless=(*LOSING, *tracked.settling)
            )
        return
    steps = lettering.way(tracked, name) if tracked.fate in (WAITING, GIVEN_UP, PUSHED) else None
    due = _due(tracked, steps, lettering) if steps else 0
    if not steps or not due or asked < due + PROMPT:
        return
    round_again = name == tracked.queue or any(step.queue == name for step in steps) or name in tracked.seen
    if round_again and all(reason != REJECTED for _, reason, _ in after(tracked.deaths, steps)):
        notes.exercise(*([] if tracked.missed else [ENDLESS]))
        tracked.missed = True  # and if it goes round all the same, it may be elsewhere just now
    elif final.number(TTL) is None and too_late(asked, due, DEAD_LETTERS, notes):
        tracked.over = True
        rule = ON_AND_ON if name in tracked.seen else OF_REASON[steps[-1].reason]
        deaths = words(after(tracked.deaths, steps))
        allowed = f"{message} in {name}, {deaths}"
        others = (*LOSING, *tracked.settling) if steps[0].reason == REJECTED else LOSING
        notes.find(rule, fact.event, allowed, "the queue is empty", tracked.sent, unless=others)


def _could_bury(tracked: TrackedMessage, name: str, lettering: DeadLettering) -> bool:
    place = lettering.places.get(tracked.queue)
    return place is not None and place.exchange is not None and lettering.target(place, tracked.key) == name


def _due(tracked: TrackedMessage, steps: list[DeathStep], lettering: DeadLettering) -> int:
    """By when it has certainly died so often; 0: that is not known."""
    time = 0
    for step in steps:
        place = lettering.places[step.queue]
        if step.reason == REJECTED:
            time = tracked.died_ns
        elif step.reason == EXPIRED:
            later = (place.number(TTL) or 0) * MILLISECOND
            ranked = LEVELS in place.arguments  # one that outranks it may stand in its way
            time = _expired(tracked, place, lettering) if step is steps[0] else 0 if ranked else time + later
        elif step.reason == MAXLEN and tracked.fate == PUSHED and step is steps[0]:
            time = tracked.died_ns
        elif step.reason == MAXLEN:
            time = _pushed(tracked, place, lettering) if step is steps[0] and not tracked.deaths else 0
        else:
            time = tracked.died_ns
        if not time:
            return 0
    return time


def _expired(tracked: TrackedMessage, place: DeclaredQueue, lettering: DeadLettering) -> int:
    """In its first queue, where nobody has taken it, or who has it has given it back; and none stands in its way: those
    there live equally long, or have been acknowledged, or a client holds them. Among priorities all live equally long,
    and have gone when the latest of them has."""
    others, ranked = [lettering.messages.get(one) for one in place.came], LEVELS in place.arguments
    back = tracked.died_ns if tracked.fate == WAITING and tracked.seen == {tracked.queue} else 0
    if tracked.seen and (ranked or not back or tracked.deaths):
        return 0
    free = latest = tracked.certain_ns
    for one in others:
        if one is None or (ranked and not (one.certain_ns and one.expiration == tracked.expiration)):
            return 0
        gone = one.died_ns if one.fate == ACKED else one.seen_ns if _held(one, tracked.queue, place) else 0
        if one.expiration != tracked.expiration and not gone:
            return 0
        if one.expiration != tracked.expiration:
            free = max(free, gone)
        elif ranked or (back and not gone):
            latest = max(latest, one.certain_ns)  # where it stands after all have come back, nobody knows
    own = tracked.expiration or ""
    lives = [place.number(TTL), int(own) if own.isdecimal() else None]
    known = [life for life in lives if life is not None]
    return max(latest + min(known) * MILLISECOND, free, back) if tracked.certain_ns and known else 0


def _held(one: TrackedMessage, queue: str, place: DeclaredQueue) -> bool:
    """Does a client of this classic queue certainly have it now?"""
    classic = place.arguments.get("x-queue-type", "classic") == "classic"
    holder = one.holder if one.fate == HELD and one.queue == queue else None
    return classic and holder is not None and holder.state == OPEN and not (holder.indeterminate or holder.timed)


def _pushed(tracked: TrackedMessage, place: DeclaredQueue, lettering: DeadLettering) -> int:
    """When so many had come behind it that there was no room for it any more."""
    most, others = place.number(LENGTH), [lettering.messages.get(one) for one in place.came]
    if (
        most is None
        or LEVELS in place.arguments
        or any(one is None or one.seen or not one.certain_ns for one in others)
    ):
        return 0
    behind = sorted(one.certain_ns for one in others if one is not None and one.sent > tracked.sent)
    return behind[most - 1] if 0 < most <= len(behind) else 0
