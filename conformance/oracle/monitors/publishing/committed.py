"""TX: what a transaction holds back, what it makes certain, and what it has nothing to do with.

The model knows what each channel has settled and published since its transaction began, and moves it with the commit.
Facts about messages come before the model learns from them, so a message that is seen too early is still where the
transaction keeps it. What has passed is in a memory: which channels of a connection have committed, what was rolled
back, and which deliveries were not settled when it was.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import islice

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.consumers import windows
from conformance.oracle.model.facts import (
    Accepted,
    Answered,
    ClosedUnasked,
    Delivered,
    Faulted,
    FoundEmpty,
    Overlooked,
    Passed,
    Returned,
    Unanswered,
)
from conformance.oracle.model.owed import CLOSE
from conformance.oracle.model.records import OUT, PROVISIONAL, PUBLISHED, WAITING, ClientError, Copy, Publication
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import grants
from conformance.oracle.monitors.requeueing.order import WINDOW
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import Asked

SETTLED, THERE, ORDER, RETURNS = "TX-009", "TX-010", "TX-011", "TX-012"
OWN, DECLARED, MISTAKEN, UNSETTLED = "TX-013", "TX-014", "TX-015", "TX-016"
UNDONE = "TX-002"
"""Who breaks this returns what a rollback makes outstanding again: it is nobody's when the next transaction ends."""
COMMIT, ROLLBACK = "tx.commit", "tx.rollback"
NOT_FOUND, UNKNOWN_TAG = 404, 406
MOST = 256


@dataclass(slots=True)
class Transactions:
    """What has become of the transactions of this history."""

    commits: OrderedDict[str | int, list[tuple[int, int]]] = field(default_factory=OrderedDict)
    """By connection, and by number: which channels have committed, by the seq of their opening, and when they were
    asked to."""
    answered: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """Commits, by when they were asked for, and when they were answered."""
    undone: OrderedDict[tuple[int, str], tuple[int, int]] = field(default_factory=OrderedDict)
    """Publishes that were rolled back, by channel and message: when they were made, and when undone."""
    waited: OrderedDict[int, None] = field(default_factory=OrderedDict)
    """Publishes that go nowhere, which the broker had certainly handled while they were not committed."""
    kept: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """Deliveries that were outstanding when their channel was rolled back, and when."""

    def committed_beside(self, copy: Copy, until: int) -> int:
        """When another channel of its connection, or of its number, was committed after this was published; 0: none
        was."""
        channel = copy.publisher
        if channel is None:
            return 0
        commits = [*self.commits.get(channel.connection.name, ()), *self.commits.get(channel.number, ())]
        return next((at for by, at in commits if by != channel.opened and copy.published < at < until), 0)


def _remember(known: OrderedDict[int, int], seq: int, at: int) -> None:
    known[seq] = at
    if len(known) > MOST:
        known.popitem(last=False)


@follows(ROLLBACK)
def rolled_back(fact: Passed, notes: Notes) -> None:
    """What was published is forgotten, and what is outstanding stays so."""
    event = fact.event
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or channel is None or channel.state != OPEN or not channel.transactional:
        return
    memory = notes.memory(Transactions)
    for publication in channel.unpublished:
        if publication.message:
            memory.undone[channel.opened, publication.message] = publication.seq, event.seq
    while len(memory.undone) > MOST:
        memory.undone.popitem(last=False)
    if not channel.indeterminate:
        for delivery in channel.unacked.values():
            _remember(memory.kept, delivery.seq, event.seq)


@judges(Answered)
def ended(fact: Answered, notes: Notes) -> None:
    """A channel is committed; or it shows that the broker has handled what was sent before, and is not committed."""
    channel, request = fact.channel, fact.request
    if request.method == COMMIT and not request.ignored:
        memory = notes.memory(Transactions)
        for known in (channel.connection.name, channel.number):
            commits = memory.commits.setdefault(known, [])
            commits.append((channel.opened, request.seq))
            del commits[:-MOST]
        _remember(memory.answered, request.seq, fact.event.seq)
    elif channel.transactional:
        waited = notes.memory(Transactions).waited
        for publication in channel.unpublished:
            if publication.mandatory and publication.routed is False and publication.seq < request.seq:
                waited[publication.seq] = None
        while len(waited) > MOST:
            waited.popitem(last=False)


# -- settlements


@judges(FoundEmpty, SETTLED)
def not_back_yet(fact: FoundEmpty, notes: Notes) -> None:
    """A return that is not committed has brought nothing back."""
    for copy in fact.queue.copies.values() if fact.queue.held else ():
        held = copy.holder
        if copy.place != OUT or copy.indeterminate or held is None or held.settlement is None:
            continue
        settlement = held.settlement
        if settlement.requeue and held.channel.transactional and 0 < settlement.accepted < fact.since:
            notes.exercise(SETTLED)
            return


@judges(Delivered, UNSETTLED, again=True)
def sent_again(fact: Delivered, notes: Notes) -> None:
    """A rollback is no reason to deliver anything again."""
    copy, held = fact.copy, fact.copy.holder
    if copy.place != OUT or copy.indeterminate or held is None or held.settlement is not None:
        return
    at = notes.memory(Transactions).kept.get(held.seq)
    if at is not None:
        allowed = f"{copy.id} stays with channel {held.channel.number}: a rollback returns nothing"
        seen, others = f"{copy.id} is delivered a second time", (UNDONE,) if held.restored else ()
        notes.find(UNSETTLED, fact.event, allowed, seen, held.seq, at, unless=others)


@judges(Accepted, UNSETTLED)
def settled_after(fact: Accepted, notes: Notes) -> None:
    """It is still outstanding under its tag."""
    kept, settlement = notes.memory(Transactions).kept, fact.settlement
    if not settlement.refusal and any(kept.get(one.seq, settlement.seq) < settlement.seq for one in settlement.covered):
        notes.exercise(UNSETTLED)


@judges(ClosedUnasked, UNSETTLED)
def unknown_after(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker does not know its tag any more."""
    kept, suspect = notes.memory(Transactions).kept, fact.suspect
    if suspect is None or suspect.refusal or fact.event.args.get("reply_code") != UNKNOWN_TAG:
        return
    ats = [kept[one.seq] for one in suspect.covered if one.seq in kept]
    if ats and len(ats) == len(suspect.covered):
        allowed = f"{suspect} is accepted: a rollback leaves alone what is not settled"
        seen, others = closing(fact.event.args), fate.refuses_any(suspect, UNSETTLED)
        notes.find(UNSETTLED, fact.event, allowed, seen, ats[0], suspect.seq, unless=others)


# -- publishes


def _committed(copy: Copy) -> Publication | None:
    """The publish that brought it here, if that was committed, and nothing has happened to it since."""
    publication = copy.publication
    fresh = copy.place == WAITING and copy.entry == PUBLISHED and not (copy.seen or copy.ambiguous)
    return publication if fresh and publication is not None and publication.committed else None


def _answered(copy: Copy, before: int, notes: Notes) -> int:
    """When the commit that brought it was answered, if that was before; else 0."""
    publication = _committed(copy)
    at = notes.memory(Transactions).answered.get(publication.committed, 0) if publication is not None else 0
    return at if at < before else 0


@judges(Delivered, THERE)
def there(fact: Delivered, notes: Notes) -> None:
    """What was committed is there when the commit is answered."""
    if fact.delivery.consumer_tag is None and _answered(fact.copy, fact.since, notes):
        notes.exercise(THERE)


@judges(FoundEmpty, THERE)
def not_there(fact: FoundEmpty, notes: Notes) -> None:
    """Who asks after commit-ok finds nothing, and nobody else can have taken it."""
    queue = fact.queue
    if not queue.declared or queue.crowded(fact.receiver) or windows.may_bind_gets(fact.channel):
        return
    for copy in islice(queue.fresh.values(), WINDOW):
        at = _answered(copy, fact.since, notes)
        if at and not queue.others(copy.entered, fact.receiver) and copy.publication is not None:
            allowed = f"get-ok: {copy.id} is in {queue.name}, its transaction is committed"
            notes.find(THERE, fact.event, allowed, "get-empty", copy.publication.seq, at, unless=fate.LOSING)
            return


@judges(Delivered, ORDER)
def in_order(fact: Delivered, notes: Notes) -> None:
    """Of two messages of one transaction the first comes first."""
    copy, queue = fact.copy, fact.queue
    mine = _committed(copy)
    if mine is None or copy.indeterminate or copy.unowed or queue.unordered or queue.crowded(fact.receiver):
        return
    for other in islice(queue.fresh.values(), WINDOW):
        its = _committed(other) if other is not copy and other.publisher is copy.publisher else None
        if its is None or its.committed != mine.committed or queue.others(other.entered, fact.receiver):
            continue
        if its.seq < mine.seq:
            allowed = f"{other.id} before {copy.id}: its transaction has published it first"
            observed = f"{copy.id} is delivered, {other.id} not yet"
            notes.suspect(other, ORDER, fact.event, allowed, observed, its.seq, mine.seq)
        else:
            notes.exercise(ORDER)
        return


@judges(Delivered, OWN, again=True)
def by_another(fact: Delivered, notes: Notes) -> None:
    """It is seen, and another channel was committed."""
    copy = fact.copy
    at = notes.memory(Transactions).committed_beside(copy, fact.event.seq) if copy.place == PROVISIONAL else 0
    if at and not copy.ambiguous:
        allowed = f"no delivery of {copy.id}: its own channel was not committed"
        notes.find(OWN, fact.event, allowed, f"{fact.event.method} of it", copy.published, at)


@judges(FoundEmpty, OWN)
def not_by_another(fact: FoundEmpty, notes: Notes) -> None:
    """The commit of another channel has brought nothing."""
    memory = notes.memory(Transactions)
    if not fact.queue.announced or not memory.commits:
        return
    for copy in fact.queue.copies.values():
        if copy.place == PROVISIONAL and memory.committed_beside(copy, fact.since):
            notes.exercise(OWN)
            return


@judges(Returned, RETURNS)
def returned(fact: Returned, notes: Notes) -> None:
    """Not before the commit, and not after a rollback."""
    channel, publication, memory = fact.channel, fact.publication, notes.memory(Transactions)
    message = fact.event.message or ""
    undone = memory.undone.get((channel.opened, message)) if publication is None else None
    if channel.adopted or channel.indeterminate or not channel.transactional:
        return
    if undone is not None and message not in channel.recent:
        allowed = f"no return of {message}: its transaction was rolled back"
        notes.find(RETURNS, fact.event, allowed, "basic.return of it", *undone)
    elif publication is None or publication.immediate or publication.message != message or publication.returned:
        return
    elif publication in channel.unpublished and len(channel.recent.get(message, ())) == 1:
        allowed = f"no return of {publication}: its transaction is not committed"
        notes.find(RETURNS, fact.event, allowed, "basic.return of it", publication.seq)
    elif publication.seq in memory.waited:
        notes.exercise(RETURNS)


# -- mistakes, and what is no part of it


@grants(DECLARED, "queue.declare", "exchange.declare")
def declared_before_a_rollback(asked: Asked) -> bool:
    """It is looked for, and was declared by a channel that has been rolled back since."""
    event, of_queue = asked.event, asked.event.method == "queue.declare"
    thing = asked.queue() if of_queue else asked.exchange()
    there_now = asked.queue_there() if of_queue else asked.exchange_there()
    if thing is None or there_now is not True or not event.has("passive") or event.args.get("arguments"):
        return False
    by = thing.made.by
    plain = not thing.auto_delete and not thing.made.outlasts
    return plain and by is not None and by.transactional and thing.made.sent < by.rolled_back


def _missing(error: ClientError | None) -> bool:
    """Is it a publish to an exchange that does not exist?"""
    return error is not None and error.rule == "CNF-019" and error.code == NOT_FOUND


@judges(Faulted, MISTAKEN)
def at_once(fact: Faulted, notes: Notes) -> None:
    """The channel is closed, and no commit was asked for; or only after the answer to something later."""
    error, commits = fact.error, fact.channel.requests.get((COMMIT, ""))
    if not fact.channel.transactional or not _missing(error):
        return
    if error.answered:
        late = error.answered[0]
        allowed = f"channel.close 404 at once for {error.what}"
        notes.find(MISTAKEN, fact.event, allowed, f"{late.method} was answered first", error.seq, late.seq)
    elif not commits:
        notes.exercise(MISTAKEN)


@judges(Overlooked, MISTAKEN)
def passed_over(fact: Overlooked, notes: Notes) -> None:
    """Something that was sent later is answered."""
    if fact.channel.transactional and _missing(fact.error):
        allowed = f"channel.close 404 at once for {fact.error.what}"
        notes.find(MISTAKEN, fact.event, allowed, fact.event.method, fact.error.seq)


@judges(Unanswered, MISTAKEN)
def never(fact: Unanswered, notes: Notes) -> None:
    """Nothing comes."""
    channel = fact.channel
    error = channel.method_error if channel is not None and channel.transactional else None
    if fact.obligation.kind == CLOSE and error is not None and _missing(error):
        notes.find(MISTAKEN, fact.event, f"channel.close 404 at once for {error.what}", "no channel.close", error.seq)
