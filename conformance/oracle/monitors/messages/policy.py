"""POLICY: what policies set for queues, seen in how many messages these keep, and which they refuse.

A queue is followed for as long as all that happens to it is certain: one channel in confirm mode fills it, gets of the
same connection empty it, and no policy changes while a publish is under way. Then what policies and arguments leave is
known, and is compared when gets have taken all. Which rule that speaks for follows from the policies that there are:
those that fit, those that would but for one thing, and those that have been removed. A broker has a second to heed a
change that it shows; what comes in before is not judged, nor are policies of which two may hold. Whoever finds
something that no limit at all explains says nothing: other families speak of that.
"""

from __future__ import annotations

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Confirmed, Passed, Policed
from conformance.oracle.monitors.fate import LOSING, TAKING
from conformance.oracle.monitors.messages.kept import KEPT, Kept, fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.policed import (
    KNOWN,
    LONG,
    MOST,
    OCTETS,
    OVERFLOW,
    REFUSED,
    TAKEN,
    PolicedQueue,
    PolicedQueues,
    heed,
)
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.policies import PolicyHistory, fits, number
from conformance.oracle.topology.state import NamedQueue

LIMITS, LATER, PATTERN, HIGHEST, KIND = "POLICY-001", "POLICY-002", "POLICY-003", "POLICY-004", "POLICY-005"
VHOST, SMALLER, WAITING, REMOVED, OPERATOR = "POLICY-006", "POLICY-007", "POLICY-008", "POLICY-009", "POLICY-010"
REFUSES, TURNED, FIRST = "POLICY-018", "POLICY-019", "POLICY-020"
OUTLIVES = "DUR-022"
OF_FULL = REFUSES, TURNED, FIRST
ALL = (LIMITS, LATER, PATTERN, HIGHEST, KIND, VHOST, SMALLER, WAITING, REMOVED, OPERATOR, OUTLIVES, *OF_FULL)
ARGUMENT, IN_OCTETS, DOES, TYPE = "x-max-length", "x-max-length-bytes", "x-overflow", "x-queue-type"
DEAD = "dead-letter-exchange"
TIMES = "x-message-ttl", "x-expires"
BESIDE = "x-max-priority", "x-single-active-consumer", *TIMES
"""Arguments that say nothing of how much there may be: of messages without priority, which gets take."""
PRIORITY = '"priority"'
SHELVES = 64
REFUSALS = 8
"""A broker may refuse a publish for reasons of its own; hardly so many one after another."""


@follows("queue.declare")
def declared(fact: Passed, notes: Notes) -> None:
    """A classic queue with no argument but perhaps a length, what it does when it is full, and what has nothing to do
    with that."""
    event, policed = fact.event, notes.memory(PolicedQueues)
    if event.direction != TO_BROKER or event.has("passive"):
        return
    name, arguments = event.queue or "", event.args.get("arguments") or {}
    known = policed.by_queue.pop(name, None)
    if known is not None and _again(known, fact):
        policed.by_queue[name] = known
        return
    if "x-dead-letter-exchange" in arguments:
        for one in policed.by_queue.values():
            one.spoiled = True
    plain = {*arguments} <= {ARGUMENT, IN_OCTETS, DOES, TYPE, *BESIDE} and arguments.get(TYPE, "classic") == "classic"
    plain = plain and all((number(arguments[one]) or 0) >= LONG for one in TIMES if one in arguments)
    plain = plain and arguments.get(DOES) in (None, *KNOWN)
    limited = all(number(arguments[one]) is not None for one in (ARGUMENT, IN_OCTETS) if one in arguments)
    if not (name and plain and limited) or event.has("auto_delete"):
        return
    vhost, most, octets = fact.connection.vhost, number(arguments.get(ARGUMENT)), number(arguments.get(IN_OCTETS))
    present = fact.topology.queue(vhost, name)
    if (present is None and known is None) or _deleted(known, present, fact):
        kept, before = notes.memory(Kept), notes.memory(Kept).queues.get((vhost, name))
        outlived = kept.started and before is not None and fate(before) == KEPT
        entry = PolicedQueue(event.connection, vhost, name, most, octets, arguments.get(DOES), event.seq, outlived)
        policed.by_queue[name] = entry
    if len(policed.by_queue) > SHELVES:
        policed.by_queue.popitem(last=False)


def _again(known: PolicedQueue, fact: Passed) -> bool:
    """Is it there, and declared just as it was? Then nothing changes."""
    arguments, there = fact.event.args.get("arguments") or {}, fact.topology.queue(known.vhost, known.name)
    limits = number(arguments.get(ARGUMENT)), number(arguments.get(IN_OCTETS)), arguments.get(DOES)
    alike = limits == (known.argument, known.octets, known.overflow)
    return there is not None and there.gone is None and alike and known.vhost == fact.connection.vhost


def _deleted(known: PolicedQueue | None, present: NamedQueue | None, fact: Passed) -> bool:
    """Was it certainly deleted, with all that was in it, and can nothing of that be under way?"""
    gone = present.gone if present is not None and not present.doubtful else None
    if known is None or known.pending or gone is None or not gone.known:
        return False
    return not any("x-dead-letter-exchange" in one.arguments for one in fact.topology.queues.values())


# -- what holds


def seqs(policies: PolicyHistory) -> list[int]:
    return sorted(one.seq for one in policies.by_key.values())


def rule_of(entry: PolicedQueue, policies: PolicyHistory) -> str:
    """What the number of its messages speaks for; empty: no policy has to do with it."""
    own = policies.fitting(entry.vhost, "classic", entry.name)
    operators = policies.fitting(entry.vhost, "classic", entry.name, operator=True)
    if operators and (entry.octets is not None or OCTETS in operators[0].definition):
        return ""
    if operators:
        most = number(operators[0].definition.get(MOST))
        less = entry.argument is not None and most is not None and entry.argument < most
        from_before = entry.outlived and all(one[0].seq < entry.declared for one in (operators, own) if one)
        return "" if less else OUTLIVES if from_before else OPERATOR  # of that the guides say different things
    if not own:
        return _missing(entry, policies)
    if entry.waited or entry.turned:
        return WAITING if entry.waited else TURNED
    if len(own) > 1:
        return HIGHEST
    if entry.outlived and own[0].seq < entry.declared:
        return OUTLIVES
    if OVERFLOW in own[0].definition and (entry.refuses or entry.overflow):
        return FIRST if entry.overflow else REFUSES
    both = (entry.argument, MOST), (entry.octets, OCTETS)
    if any(argument is not None and key in own[0].definition for argument, key in both):
        return SMALLER
    if own[0].seq < entry.declared:
        return LATER
    return LIMITS if own[0].pattern.startswith("^") else PATTERN


def rule_of_full(entry: PolicedQueue, policies: PolicyHistory) -> str:
    """What the answer of a full queue speaks for; empty: the limit itself is in question, or no policy says it."""
    own = policies.fitting(entry.vhost, "classic", entry.name)
    if len(own) > 1 or policies.fitting(entry.vhost, "classic", entry.name, operator=True):
        return ""
    if entry.waited or entry.turned:
        return WAITING if entry.waited else TURNED
    if not own or OVERFLOW not in own[0].definition:
        return ""
    return FIRST if entry.overflow else REFUSES


def _missing(entry: PolicedQueue, policies: PolicyHistory) -> str:
    """Why does none fit?"""
    gone, elsewhere, otherwise, unlike = False, False, False, False
    for one in policies.by_key.values():
        fitting, kin = fits(one.pattern, entry.name), one.applies("classic")
        here = one.vhost == entry.vhost
        gone = gone or (one.gone and here and fitting and kin)
        elsewhere = elsewhere or (not one.gone and not here and fitting and kin)
        otherwise = otherwise or (not one.gone and here and fitting and not kin)
        unlike = unlike or (not one.gone and here and not fitting and kin)
    return REMOVED if gone else VHOST if elsewhere else KIND if otherwise else PATTERN if unlike else ""


@judges(Policed)
def changed(fact: Policed, notes: Notes) -> None:
    """A policy changes: what waits in a queue that it fits is under the new ones from now on."""
    policed, policies = notes.memory(PolicedQueues), fact.topology.policies
    if fact.event.args.get("state") in ("setting", "clearing"):
        for entry in policed.by_queue.values():
            entry.unsure = entry.unsure or bool(entry.pending) or entry.asking > 0
        return
    for entry in policed.by_queue.values():
        most, refuses = entry.most, entry.refuses
        sure = heed(entry, policies)
        if entry.ready:
            entry.unsure = entry.unsure or not sure or bool(entry.taken)
            entry.waited = entry.waited or most != entry.most
            entry.turned = entry.turned or refuses != entry.refuses
            entry.trim()


# -- what comes in


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """One more, under policies that have been in force for a while."""
    event, policed = fact.event, notes.memory(PolicedQueues)
    if not policed.by_queue:
        return
    if '"CC"' in event.arguments or '"BCC"' in event.arguments:
        for one in policed.by_queue.values():
            one.spoiled = True
    entry = policed.by_queue.get(event.routing_key or "") if not event.exchange else None
    if entry is None:
        return
    channel = fact.connection.channels.get(event.channel)
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    mine = event.connection == entry.connection and entry.publisher in (0, event.channel)
    plain = (
        channel is not None and channel.confirm and not channel.transactional and "expiration" not in event.arguments
    )
    plain = plain and PRIORITY not in event.arguments
    if not (sound and mine and plain) or not event.message or event.message in entry.pending:
        entry.spoiled = True
        return
    entry.weigh(event.body_size or 0)
    sure = heed(entry, fact.topology.policies)
    if entry.taken or entry.asking or not sure or not fact.topology.policies.settled(event.time_ns):
        entry.unsure, entry.denied = True, 0
    entry.speaks, entry.told = rule_of_full(entry, fact.topology.policies), seqs(fact.topology.policies)
    entry.publisher = event.channel
    entry.pending[event.message] = ""


@judges(Confirmed, *OF_FULL)
def confirmed(fact: Confirmed, notes: Notes) -> None:
    """It is in, or it was refused: rightly, where it has found a full queue?"""
    by_queue, event = notes.memory(PolicedQueues).by_queue, fact.event
    for publication in fact.resolved if by_queue else ():
        entry = by_queue.get(publication.routing_key) if not publication.exchange else None
        if entry is None or publication.message not in entry.pending:
            continue
        entry.pending[publication.message] = event.method or ""
        for answer, expected in entry.enter():
            _answered(event, entry, answer, expected, notes)


def _answered(event: Event, entry: PolicedQueue, answer: str, expected: str, notes: Notes) -> None:
    """A full queue takes a message or not: as it must?"""
    certain = bool(entry.speaks) and not entry.spoiled and (entry.denied > 0 or not entry.unsure)
    wrong = answer != expected
    entry.unsure = entry.unsure or wrong
    entry.denied = entry.denied + 1 if certain and wrong and answer == REFUSED else 0
    if certain and wrong and (answer == TAKEN or entry.denied == REFUSALS):
        does = "refuses what comes" if entry.refuses else "drops its oldest message"
        allowed = f"{expected}: {entry.name} has {entry.most} messages, and {does}"
        notes.find(entry.speaks, event, allowed, answer, *entry.told, unless=TAKING if answer == TAKEN else ())
    elif certain and not wrong and answer == REFUSED and entry.speaks in OF_FULL:
        notes.exercise(entry.speaks)


# -- what comes out


@follows("basic.consume", "basic.nack", "basic.reject", "basic.recover", "channel.close")
def disturbed(fact: Passed, notes: Notes) -> None:
    """From now on others may have some, or some may be back."""
    event, policed = fact.event, notes.memory(PolicedQueues)
    if event.method == "basic.consume":
        entry = policed.by_queue.get(event.queue or "")
        if entry is not None:
            entry.spoiled = True
        return
    for entry in (
        policed.of(event.connection) if event.direction == TO_BROKER or event.method == "channel.close" else ()
    ):
        entry.spoiled = entry.spoiled or event.channel in entry.held or event.channel == entry.publisher


@follows("queue.bind", "queue.purge", "queue.delete")
def rearranged(fact: Passed, notes: Notes) -> None:
    """Other messages may come, or all may go. The empty name stands for any of them."""
    for name, entry in notes.memory(PolicedQueues).by_queue.items():
        entry.spoiled = entry.spoiled or fact.event.queue in (name, "", None)


@follows("basic.get")
def asked(fact: Passed, notes: Notes) -> None:
    """Who asks while publishes are under way learns nothing for certain."""
    event, policed = fact.event, notes.memory(PolicedQueues)
    policed.asked.ask(fact)
    entry = policed.by_queue.get(event.queue or "")
    if entry is None:
        return
    entry.asking += 1
    entry.spoiled = entry.spoiled or event.connection != entry.connection
    calm = fact.topology.policies.settled(event.time_ns)
    entry.unsure = entry.unsure or entry.asking > 1 or bool(entry.pending) or not calm


@follows("basic.get-ok", "basic.get-empty", rules=ALL)
def answered(fact: Passed, notes: Notes) -> None:
    """One more is known; or all are, and can be compared with what must be there."""
    event, policed = fact.event, notes.memory(PolicedQueues)
    get = policed.asked.answered(fact)
    entry = policed.by_queue.get(get.queue)
    if entry is None:
        return
    entry.asking -= 1
    if event.method == "basic.get-ok":
        entry.taken.append(event.message or "")
        if not get.no_ack:
            entry.held.add(event.channel)
        return
    if not (entry.unsure or entry.spoiled) and entry.came:
        _compare(event, entry, fact.topology.policies, notes)
    entry.empty()


def _compare(event: Event, entry: PolicedQueue, policies: PolicyHistory, notes: Notes) -> None:
    """All that was there has been taken: is it what policies and arguments leave?"""
    rule = rule_of(entry, policies)
    if not rule or any(DEAD in one.definition for one in policies.by_key.values()):
        return
    found = [one.definition for one in policies.by_key.values()]
    limits = [number(one.get(MOST)) for one in found] + [entry.room(one.get(OCTETS)) for one in found]
    least = min((one for one in limits if one is not None), default=len(entry.came))
    if entry.taken == entry.ready:
        if len(entry.came) > least:
            notes.exercise(rule)
    elif entry.taken == entry.came[len(entry.came) - len(entry.taken) :]:
        said = "no limit" if entry.most is None else f"a limit of {entry.most}"
        allowed = f"the last {len(entry.ready)} of {len(entry.came)} messages, by {said}"
        lost = LOSING if len(entry.taken) < len(entry.ready) else ()
        notes.find(rule, event, allowed, f"the last {len(entry.taken)} of them", *seqs(policies), unless=lost)
    else:
        entry.spoiled = True
