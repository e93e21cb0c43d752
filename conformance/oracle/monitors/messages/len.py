"""LEN: queues that hold so many messages, or so many octets, and no more.

The model claims nothing of what a full queue drops. This family follows a queue for as long as all that happens to it
is certain (`lengths`). Then it is known which messages are there. They are compared when gets have taken all, so a
message that comes late is not missed. A count that the broker tells is never evidence. Of a quorum queue it is claimed
only that it holds no more, and not the oldest. Whatever else happens ends the claim for good. Other rules speak of
losses while the limit is out of reach, and of what a refusal means (RQ-011, CNF-011, CNF-021).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.circumstances.ranking import PRIORITY
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Answered, Confirmed, Passed, Policed
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.messages.lengths import Bounded, Limits, Publish, Purge
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

COUNT, OLDEST, NO_MORE, READY = "LEN-001", "LEN-002", "LEN-003", "LEN-004"
OCTETS, EITHER, NEWEST, BACK = "LEN-005", "LEN-006", "LEN-007", "LEN-008"
ROOM, HEAD, REPLICATED, BODIES = "LEN-009", "LEN-010", "LEN-011", "LEN-014"
BESIDE = "LEN-015"
ALL = (COUNT, OLDEST, NO_MORE, READY, OCTETS, EITHER, NEWEST, BACK, ROOM, HEAD, REPLICATED, BODIES, BESIDE)
MOST, MOST_OCTETS, OVERFLOW, KIND = "x-max-length", "x-max-length-bytes", "x-overflow", "x-queue-type"
SINGLE = "x-single-active-consumer"
LEVELS, EXCHANGE, KEY = "x-max-priority", "x-dead-letter-exchange", "x-dead-letter-routing-key"
DROPS, REFUSES = "drop-head", ("reject-publish", "reject-publish-dlx")
CLASSIC, QUORUM = "classic", "quorum"
QUEUES = 64
REFUSALS = 8
"""A broker may refuse a publish for reasons of its own; hardly so many one after another."""
OVERHEAD, ALL_BESIDE = 8, 1024
"""Octets beside the body that a broker would count for each message at least, if it counted any, and at most."""


def _limit(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


@follows("queue.declare")
def declared(fact: Passed, notes: Notes) -> None:
    """A queue with a limit, and nothing else about it that takes messages away or brings some."""
    event, limits = fact.event, notes.memory(Limits)
    if event.direction != TO_BROKER or event.has("passive"):
        return
    name, arguments = event.queue or "", event.args.get("arguments") or {}
    known, there = limits.by_queue.get(name), fact.topology.queue(fact.connection.vhost, name)
    found = _bounded(event.connection, arguments)
    if known is not None and there is not None and there.gone is None and found is not None and found.alike(known):
        return  # it is there, and declared just as it was
    if known is not None:
        known.disturb()
    if EXCHANGE in arguments:
        _feed(limits, arguments)
    ended = there is None or (there.gone is not None and there.gone.known > 0)
    anew = name and (name in limits.deleted if known is not None else there is None) and ended
    fed = not limits.fed.isdisjoint(("", name))
    if found is None or fact.topology.policies or fed or not anew or event.has("auto_delete"):
        return
    limits.deleted.discard(name)
    limits.by_queue[name] = found
    if len(limits.by_queue) > QUEUES:
        limits.by_queue.popitem(last=False)


def _feed(limits: Limits, arguments: Mapping[str, Any]) -> None:
    """Its dead letters come into one queue, or into any."""
    heir = arguments.get(KEY) if arguments[EXCHANGE] == "" else None
    if not isinstance(heir, str):
        limits.fed.add("")
        limits.doubt()
        return
    limits.fed.add(heir)
    if heir in limits.by_queue:
        limits.by_queue[heir].disturb()


def _bounded(connection: str, arguments: Mapping[str, Any]) -> Bounded | None:
    """A queue with these arguments, if it has a limit of which a rule speaks."""
    kind, how = arguments.get(KIND, CLASSIC), arguments.get(OVERFLOW, DROPS)
    most, octets = _limit(arguments.get(MOST)), _limit(arguments.get(MOST_OCTETS))
    levels, refuses = _limit(arguments.get(LEVELS, 0)), how in REFUSES
    if (most is None and octets is None) or levels is None or how not in (DROPS, *REFUSES):
        return None
    any_kind = {MOST, OVERFLOW, KIND, EXCHANGE, KEY}
    allowed = {CLASSIC: any_kind | {MOST_OCTETS, LEVELS, SINGLE}, QUORUM: set() if refuses else any_kind}
    plain = set(arguments) <= allowed.get(str(kind), set())
    return Bounded(connection, str(kind), most, octets, refuses, levels) if plain else None


@judges(Policed)
def ruled(fact: Policed, notes: Notes) -> None:
    """Any of them may have another limit by policy."""
    notes.memory(Limits).doubt()


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """One more comes, unless it is turned away."""
    event, limits = fact.event, notes.memory(Limits)
    if not limits.by_queue:
        return
    if '"CC"' in event.arguments or '"BCC"' in event.arguments:
        limits.doubt()
    queue = limits.by_queue.get(event.routing_key or "") if not event.exchange else None
    if queue is None:
        return
    channel = fact.connection.channels.get(event.channel)
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    mine = event.connection == queue.connection and queue.publisher in (0, event.channel)
    confirms = channel is not None and (channel.confirm or (channel.transactional and not queue.refuses))
    rank = PRIORITY.search(event.arguments)
    plain = "expiration" not in event.arguments and (queue.kind == CLASSIC or rank is None)
    if queue.asking or not _in_order(queue):
        queue.unsure = True
    queue.restless = 0
    if not (sound and mine and confirms and event.message):
        queue.disturb()
        return
    if not plain:
        queue.disturb(foreign=False)
    del queue.ready[: len(queue.taken)]
    queue.taken, queue.publisher = [], event.channel
    level = min(int(rank[1]), queue.levels) if rank is not None else 0
    queue.pending.append(Publish(event.message or "", event.body_size or 0, level))
    queue.sizes[event.message or ""] = event.body_size or 0


def _in_order(queue: Bounded) -> bool:
    """Is it certain what is left behind the messages that were taken? Of several priorities, if all were taken."""
    first = [one.message for one in queue.ready[: len(queue.taken)]]
    if queue.levels and queue.taken:
        return len(queue.taken) == len(queue.ready) and {*queue.taken} == {*first}
    return queue.taken == first


@follows("tx.commit", "tx.rollback")
def decided(fact: Passed, notes: Notes) -> None:
    """What a transaction has published comes, or does not."""
    event = fact.event
    for queue in notes.memory(Limits).of(event.connection) if event.direction == TO_BROKER else ():
        if queue.publisher == event.channel and event.method == "tx.commit":
            queue.commit(event.seq)
        elif queue.publisher == event.channel:
            queue.pending = [one for one in queue.pending if one.commit]


@judges(Answered)
def committed(fact: Answered, notes: Notes) -> None:
    """It has come: with commit-ok all of it is there."""
    for queue in notes.memory(Limits).of(fact.event.connection) if fact.request.method == "tx.commit" else ():
        if queue.publisher == fact.event.channel:
            queue.committed(fact.request.seq)


@judges(Confirmed, ROOM, OLDEST)
def confirmed(fact: Confirmed, notes: Notes) -> None:
    """It is in, or it was refused."""
    event, limits = fact.event, notes.memory(Limits)
    for publication in fact.resolved if limits.by_queue else ():
        queue = limits.by_queue.get(publication.routing_key) if not publication.exchange else None
        for one in queue.pending if queue is not None else ():
            if one.message == publication.message:
                one.kept = event.method == "basic.ack"
        if queue is not None:
            queue.enter()
            if len(queue.denied) >= REFUSALS and (queue.refuses or queue.kind == CLASSIC):
                there = f"has at most {len(queue.ready)} messages, and has room for {queue.most}"
                why = f"{publication.routing_key} {there if queue.refuses else 'is to drop its oldest messages'}"
                allowed, rule = f"basic.ack for one of {_list(queue.denied)}: {why}", ROOM if queue.refuses else OLDEST
                notes.find(rule, event, allowed, f"basic.nack for all {len(queue.denied)}", publication.seq)
                queue.denied.clear()


@follows("basic.nack", "basic.reject")
def given_back(fact: Passed, notes: Notes) -> None:
    """Some are there again."""
    event = fact.event
    if event.direction != TO_BROKER:
        return
    channel = fact.connection.channels.get(event.channel)
    plain = channel is not None and channel.state == OPEN and not channel.transactional and not channel.indeterminate
    for queue in notes.memory(Limits).of(event.connection):
        if not event.has("requeue") or not plain:
            if queue.settle(event.channel, event.delivery_tag or 0, multiple=bool(event.multiple)):
                queue.disturb(foreign=not plain)
            continue
        queue.give_back(event.channel, event.delivery_tag or 0, multiple=bool(event.multiple))


@follows("basic.ack")
def settled(fact: Passed, notes: Notes) -> None:
    """These do not come back."""
    event = fact.event
    if event.direction == TO_BROKER:
        for queue in notes.memory(Limits).of(event.connection):
            channel, tag = fact.connection.channels.get(event.channel), event.delivery_tag or 0
            done = queue.settle(event.channel, tag, multiple=bool(event.multiple))
            if done and (channel is None or channel.transactional or channel.indeterminate):
                queue.disturb()


@follows("basic.consume", "basic.cancel-ok", "basic.deliver")
def consumed(fact: Passed, notes: Notes) -> None:
    """A consumer comes, gets something, or leaves."""
    event, tag = fact.event, fact.event.consumer_tag or ""
    for name, queue in notes.memory(Limits).by_queue.items():
        if event.method == "basic.consume":
            if event.queue == name and event.connection == queue.connection:
                queue.join(event.channel, tag, automatic=event.has("no_ack"))
            elif event.queue in (name, "", None):
                queue.disturb()
        elif event.connection == queue.connection and (event.channel, tag) in queue.consumers:
            if event.method == "basic.deliver":
                queue.brought += 1
                if (event.channel, tag) not in queue.automatic:
                    queue.held.setdefault(event.channel, set()).add(event.delivery_tag or 0)
            elif event.direction != TO_BROKER:
                queue.part(event.channel, tag)


@follows("basic.recover", "basic.recover-async", "channel.close")
def disturbed(fact: Passed, notes: Notes) -> None:
    """From now on others may have some, or some may be back."""
    event, limits = fact.event, notes.memory(Limits)
    for queue in limits.of(event.connection):
        recovers = event.method == "basic.recover" and event.has("requeue") and queue.kind == CLASSIC
        if recovers and not queue.asking and not any(channel == event.channel for channel, _ in queue.consumers):
            if queue.settle(event.channel, 0, multiple=True):
                queue.returning.add(event.channel)
                queue.disturb(foreign=False)
            continue
        closes = event.method == "channel.close"
        holds = queue.held.get(event.channel) or any(channel == event.channel for channel, _ in queue.consumers)
        if holds or (closes and event.channel == queue.publisher):
            queue.disturb()


@follows("queue.bind", "queue.delete")
def rearranged(fact: Passed, notes: Notes) -> None:
    """Other messages may come, or all may go. The empty name stands for any of them. A queue that nobody uses when it
    is deleted may be declared anew."""
    event, limits = fact.event, notes.memory(Limits)
    queue = limits.by_queue.get(event.queue or "")
    if event.method == "queue.delete" and queue is not None and queue.idle() and not event.has("no_wait"):
        limits.deleted.add(event.queue or "")
    for name, queue in limits.by_queue.items():
        if fact.event.queue in (name, "", None):
            queue.disturb()


@follows("queue.purge", "queue.purge-ok")
def purged(fact: Passed, notes: Notes) -> None:
    """All goes that is there some time before the answer."""
    event, limits = fact.event, notes.memory(Limits)
    place, name = (event.connection, event.channel), event.queue or ""
    if event.direction != TO_BROKER:
        waiting = limits.purged.get(place)
        purge = waiting.pop(0) if waiting else None
        queue = limits.by_queue.get(purge.queue) if purge is not None else None
        if queue is not None and purge is not None:
            queue.asking -= 1
            queue.found_purged(purge)
        return
    queue = limits.by_queue.get(name)
    limits.purged.setdefault(place, []).append(Purge(name, queue.came, queue.closed) if queue else Purge(name))
    if not name:
        limits.doubt()
    elif queue is not None:
        queue.asking += 1
        queue.disturb(foreign=event.has("no_wait") or event.connection != queue.connection)


@follows("basic.get")
def asked(fact: Passed, notes: Notes) -> None:
    """Who asks while publishes are under way learns nothing for certain."""
    event, limits = fact.event, notes.memory(Limits)
    limits.asked.ask(fact)
    if not event.queue:
        limits.doubt()  # it may be any of them
    queue = limits.by_queue.get(event.queue or "")
    if queue is None:
        return
    queue.asking += 1
    queue.unsure = queue.unsure or queue.asking > 1 or bool(queue.pending)
    if event.connection != queue.connection:
        queue.disturb()
    if queue.restless and (queue.asking > 1 or (event.connection, event.channel) != (queue.connection, queue.restless)):
        queue.restless = 0


@follows("basic.get-ok", "basic.get-empty", rules=ALL)
def answered(fact: Passed, notes: Notes) -> None:
    """One more is known; or all are, and can be compared with what must be there."""
    event, limits = fact.event, notes.memory(Limits)
    get = limits.asked.answered(fact)
    queue = limits.by_queue.get(get.queue)
    if queue is None:
        return
    queue.asking -= 1
    if event.method == "basic.get-empty":
        if queue.restless:
            _count(event, queue, notes)
        elif not queue.unsure:
            _compare(event, queue, notes)
        queue.found_empty(event.channel)
        return
    queue.taken.append(event.message or "")
    if queue.beside and event.has("redelivered"):
        queue.restless = 0  # the end of a consumer has given it back
    if not get.no_ack:
        queue.held.setdefault(event.channel, set()).add(event.delivery_tag or 0)


def _count(event: Event, queue: Bounded, notes: Notes) -> None:
    """Some were given back, or a consumer has left, and its channel has taken all that was there then."""
    found, most = queue.taken, queue.most
    rule = REPLICATED if queue.kind == QUORUM else BESIDE if queue.beside else BACK
    if queue.refuses or (most is not None and queue.octets is not None):
        return
    if most is None:
        octets = sum(queue.sizes.get(one, 0) for one in found)
        if octets > (queue.octets or 0):
            notes.find(rule, event, f"at most {queue.octets} octets", f"{octets} octets: {_list(found)}")
    elif len(found) > most:
        notes.find(rule, event, f"at most {most} messages", f"{len(found)} messages: {_list(found)}")
    elif len(found) == most < queue.more:
        notes.exercise(rule)
    few, most = len(found) < queue.more and not queue.beside, most if most is not None else queue.octets
    all_of_it = len(queue.sizes) if queue.most is not None else sum(queue.sizes.values())
    if few and most is not None and all_of_it <= most and queue.kind == CLASSIC:
        wanted = f"{queue.more} messages: never has more than the limit come"
        seen = f"{len(found)} messages: {_list(found)}"
        notes.find(NO_MORE if queue.octets is None else BODIES, event, wanted, seen, unless=LOSING)


def _compare(event: Event, queue: Bounded, notes: Notes) -> None:
    """All that was there has been taken: is it what the limit leaves?"""
    there, found = [one.message for one in queue.ready], queue.taken
    limit = EITHER if None not in (queue.most, queue.octets) else COUNT if queue.octets is None else OCTETS
    end, few = NEWEST if queue.refuses else OLDEST, READY if queue.crowded else NO_MORE
    if len(queue.ranks) > 1:
        end, there, found = NEWEST if queue.refuses else HEAD, sorted(there), sorted(found)
    if queue.kind == QUORUM:
        limit = end = REPLICATED
    wanted = f"{len(there)} messages: {_list(there)}"
    seen = f"{len(found)} messages: {_list(found)}"
    lost, more = set(there) - set(found), set(found) - set(there)
    reached = queue.most is not None and queue.octets is None and queue.came > queue.most
    bodies = queue.most is None and not queue.refuses and _near(queue, ALL_BESIDE)
    if more and lost and more <= queue.gone:
        notes.find(end, event, wanted, seen, unless=LOSING)
    elif more and more <= queue.gone and not queue.refuses:
        notes.find(limit, event, wanted, seen)
    elif lost and not more and reached and not queue.refuses and queue.kind == CLASSIC:
        notes.find(few, event, wanted, seen, unless=LOSING)
    elif lost and not more and bodies:
        notes.find(BODIES, event, f"{wanted}, in bodies of {queue.size()} octets", seen, unless=LOSING)
    elif found == there:
        _exercise(queue, limit, end, reached, notes)
        return
    queue.unsure = True


def _near(queue: Bounded, beside: int) -> bool:
    """Would all that is there be too much, if so many octets counted beside each body?"""
    return queue.octets is not None and queue.size() + beside * len(queue.ready) > queue.octets


def _exercise(queue: Bounded, limit: str, end: str, reached: bool, notes: Notes) -> None:
    """Just what must be there is there: what could a wrong broker have done otherwise?"""
    if queue.gone and queue.ready:
        notes.exercise(end)
    if queue.most is None and not queue.refuses and _near(queue, OVERHEAD):
        notes.exercise(BODIES)
    if queue.gone and not queue.refuses and queue.kind == CLASSIC:
        notes.exercise(limit, *((NO_MORE,) if reached else ()))
    if queue.crowded and reached and not queue.refuses and queue.kind == CLASSIC:
        notes.exercise(READY)
    if queue.reopened and queue.ready:
        notes.exercise(ROOM)


def _list(messages: list[str]) -> str:
    shown = messages if len(messages) <= 6 else [*messages[:3], "...", *messages[-3:]]
    return ", ".join(shown) or "none"
