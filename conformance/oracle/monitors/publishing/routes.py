"""CNF, where the route of a publish matters: returned, refused, or in every queue that it was routed to."""

from __future__ import annotations

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import PUBLISH
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import ClosedUnasked, Confirmed, Delivered, Returned, Unrecovered
from conformance.oracle.model.publishing import confirming
from conformance.oracle.model.records import WAITING, Publication
from conformance.oracle.monitors.contents.content import address, changed
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges
from conformance.oracle.monitors.topology import route

NOT_FOUND = 404
EXCHANGE = 40
"""The class of methods about exchanges."""

NO_ROUTE, NO_CONSUMERS = 312, 313
ADDRESS, CONTENT = "RETURN-005", "RETURN-006"
"""Rules about the form of a return where there are no confirms; elsewhere it is for CNF-009."""
DELIVERED = "RQ-016"
"""Who loses something of a content when it comes has nothing else to give back."""
LARGE, WORDY = "a body of several frames", "headers"


@judges(Returned, "CNF-008", "CNF-009", "CNF-025", "TX-014", ADDRESS, CONTENT)
def returned(fact: Returned, notes: Notes) -> None:
    """Only what is mandatory and reaches no queue is returned: whole, and before its confirm."""
    publication, event = fact.publication, fact.event
    if publication is None or _for_want_of_consumers(publication, event):
        return
    if not publication.mandatory:
        rule = "CNF-025" if publication.routed else "CNF-008"
        notes.find(rule, event, f"no return of {publication}: it is not mandatory", "basic.return", publication.seq)
        return
    there = publication.routed and not any(copy.queue.deleted for copy in publication.copies)
    early = fact.channel.transactional and publication.exchange and not publication.committed
    if there and not notes.accused and not (early or route.hangs_on_match(publication, notes)):
        queues = ", ".join(copy.queue.name for copy in publication.copies)
        allowed = f"no return of {publication}: it is routed to {queues}"
        rule = "TX-014" if publication.exchange and route.was_rolled_back(publication, notes) else "CNF-025"
        unless = tuple(one for one in route.of_ways(publication, notes) if one != rule)
        notes.find(rule, event, allowed, "basic.return", publication.seq, unless=unless)
    if publication.resolved:
        notes.find(
            "CNF-009",
            event,
            f"the return of {publication} before its {publication.verdict}",
            "basic.return after it",
            publication.seq,
            publication.resolved,
        )
    _form(fact, publication, notes)


def _for_want_of_consumers(publication: Publication, event: Event) -> bool:
    """Is it the answer to an immediate publish? No rule speaks of that: what is mandatory has another code."""
    return publication.immediate and event.args.get("reply_code") == NO_CONSUMERS


def _form(fact: Returned, publication: Publication, notes: Notes) -> None:
    """Code, address and content are those of the publish."""
    event = fact.event
    code = int(event.args.get("reply_code", 0))
    of_address, of_content = ("CNF-009", "CNF-009") if publication.number else (ADDRESS, CONTENT)
    if code != NO_ROUTE:
        notes.find(of_address, event, f"basic.return {NO_ROUTE}", f"basic.return {code}", publication.seq)
    elif event.message != publication.message:
        notes.find("CNF-009", event, f"the return of {publication}", f"the return of {event.message}", publication.seq)
    elif change := address(publication, event):
        notes.find(of_address, event, f"{publication} {change[0]}", f"basic.return {change[1]}", publication.seq)
    elif change := changed(publication, event):
        allowed, seen = f"{publication} {change[0]}", f"basic.return {change[1]}"
        notes.find(of_content, event, allowed, seen, publication.seq, unless=(DELIVERED,))
    elif not publication.number:
        _of_form(publication, notes)


def _of_form(publication: Publication, notes: Notes) -> None:
    """It is right where it could have been wrong."""
    if publication.exchange and publication.routing_key:
        notes.exercise(ADDRESS)
    if publication.frames > 1:
        notes.show(CONTENT, LARGE, (LARGE, WORDY))
    if '"headers"' in publication.content:
        notes.show(CONTENT, WORDY, (LARGE, WORDY))


@judges(Confirmed, "CNF-008", "CNF-009", "CNF-011", "CNF-012", "CNF-021", "CNF-025")
def by_route(fact: Confirmed, notes: Notes) -> None:
    """What a publish is answered with depends on where it went."""
    for publication in fact.resolved:
        if publication.mandatory:
            _mandatory(fact, publication, notes)
        elif publication.routed is False:
            _unroutable(fact, publication, notes)
        if fact.event.method == "basic.nack":
            _refused(fact, publication, notes)
        elif publication.full is not None:
            rule = "CNF-011" if len(publication.copies) == 1 else "CNF-012"
            counted = fact.channel.counted or fact.number == fact.channel.published
            notes.find(
                rule,
                fact.event,
                f"basic.nack for {publication}: {publication.full.name} is full and rejects",
                f"basic.ack {fact.number}",
                publication.seq,
                certain=counted and confirming.full(fact.channel, publication, fact.resolved),
            )


def _mandatory(fact: Confirmed, publication: Publication, notes: Notes) -> None:
    if publication.routed is False and not publication.returned:
        if route.hangs_on_match(publication, notes):
            return
        notes.find(
            "CNF-009",
            fact.event,
            f"the return of {publication} before its confirm",
            f"{fact.event.method} {fact.number} first",
            publication.seq,
        )
    elif publication.returned and not publication.immediate and publication.routed is not True:
        notes.exercise("CNF-009")
        if fact.event.method == "basic.nack":
            notes.find(
                "CNF-009",
                fact.event,
                f"basic.ack for {publication}, which was returned",
                f"basic.nack {fact.number}",
                publication.seq,
                publication.returned,
                certain=publication.routed is False,
            )
    elif publication.routed:
        notes.exercise("CNF-025")


def _unroutable(fact: Confirmed, publication: Publication, notes: Notes) -> None:
    notes.exercise("CNF-008")
    if fact.event.method == "basic.nack":
        notes.find(
            "CNF-008",
            fact.event,
            f"basic.ack for {publication}, which no queue receives",
            f"basic.nack {fact.number}",
            publication.seq,
        )


def _refused(fact: Confirmed, publication: Publication, notes: Notes) -> None:
    """A refusal, its requeue bit, and whether a queue on the way may reject."""
    notes.exercise("CNF-021")
    notes.report("CNF-021", "requeue set" if fact.event.has("requeue") else "requeue not set")
    if any(copy.queue.room is not None for copy in publication.copies):
        notes.exercise("CNF-011" if len(publication.copies) == 1 else "CNF-012")
    elif publication.copies:
        notes.report("CNF-011", "refused for no visible reason")


@judges(Delivered, "CNF-010", "CNF-012", "CNF-021")
def where_it_is(fact: Delivered, notes: Notes) -> None:
    """A confirmed message is in all its queues; a refused one is not in the queue that rejected it."""
    copy, publication = fact.copy, fact.copy.publication
    if publication is None or copy.place != WAITING or copy.ambiguous or copy.seen:
        return
    if copy.confirmed and len(publication.copies) > 1:
        notes.exercise("CNF-010")
    elif publication.verdict == "basic.nack":
        rejecting = [one for one in publication.copies if one.queue.room is not None]
        if rejecting == [copy] and publication.turned_away:
            notes.find(
                "CNF-021",
                fact.event,
                f"{copy.id} is not in {copy.queue.name}: it was refused",
                f"{fact.event.method} of {copy.id}",
                publication.seq,
                publication.resolved,
            )
        elif rejecting and copy not in rejecting:
            notes.report("CNF-012", "kept where it was accepted")


@judges(Delivered, "CNF-013")
def survived(fact: Delivered, notes: Notes) -> None:
    """The broker was killed after the confirm, and here it is."""
    if fact.copy.survives:
        notes.exercise("CNF-013")


@judges(ClosedUnasked, "CNF-013")
def queue_lost(fact: ClosedUnasked, notes: Notes) -> None:
    """A durable queue that is not found after the crash has taken along what was promised. An exchange that is not
    found has not."""
    ids = ids_of(fact.event)
    if fact.event.args.get("reply_code") != NOT_FOUND or ids == PUBLISH or ids[0] == EXCHANGE:
        return
    for queue in [request.source for request in fact.channel.pending() if request.source is not None]:
        lost = [copy for copy in queue.missed.values() if copy.survives]
        if lost:
            notes.find(
                "CNF-013",
                fact.event,
                f"{queue.name}, with {len(lost)} confirmed persistent messages",
                closing(fact.event.args),
                lost[0].published,
                lost[0].confirmed,
                lost[0].survives,
            )


@judges(Unrecovered, "CNF-013")
def not_given_out(fact: Unrecovered, notes: Notes) -> None:
    """A queue that answers no get has kept its messages to itself."""
    copy = fact.copies[0]
    notes.find(
        "CNF-013",
        fact.event,
        f"{fact.queue.name}, with {len(fact.copies)} confirmed persistent messages",
        f"no answer to basic.get within {fact.event.args.get('waited_ms')} ms",
        copy.published,
        copy.confirmed,
        copy.survives,
    )


@judges(ClosedUnasked, "CNF-011")
def closed_over_a_full_queue(fact: ClosedUnasked, notes: Notes) -> None:
    """A full queue costs the publish, not the channel. Another publish may have missed its exchange."""
    if ids_of(fact.event) != PUBLISH or fact.channel.handled < fact.channel.may_have_missed:
        return
    for publication in fact.channel.unconfirmed.values():
        if any(copy.queue.room is not None for copy in publication.copies):
            notes.find(
                "CNF-011", fact.event, f"basic.nack for {publication}", closing(fact.event.args), publication.seq
            )
            return
