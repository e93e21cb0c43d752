"""CNF: how publishes are numbered and resolved.

A confirm is compared with what is unresolved when it comes. A number above the publishes so far, or one that was
resolved before, breaks the rule that forbids it. If the numbers show the cause, it also breaks the rule about the
cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.facts import AfterClose, Answered, Confirmed, Unanswered, Unrequested
from conformance.oracle.model.owed import CONFIRM
from conformance.oracle.model.publishing import confirming
from conformance.oracle.model.records import GONE, OUT, Publication
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

Kinds = dict[str, tuple[str, ...]]
FEW, SHARE = 10, 10
"""This many confirms of a channel may overtake others, and one in so many."""
EVERY = "CNF-004"
"""The rule that no publish is left without an answer, whatever it is like."""
SIZES = "empty", "large"
APART = {*SIZES, "held", "consumed", "settled"}
"""Kinds of publishes whose rule is borne out by others as well."""
NEAR = 64
"""This many unresolved publishes are looked at."""
OWN_COUNT, OWN_MODE = "each channel has its own count", "a channel without the mode has no confirms"
PER_CHANNEL = OWN_COUNT, OWN_MODE


@judges(
    Confirmed,
    "CNF-002",
    "CNF-003",
    "CNF-004",
    "CNF-005",
    "CNF-006",
    "CNF-010",
    "CNF-019",
    "CNF-023",
    "CNF-026",
    "ERR-007",
)
def numbers(fact: Confirmed, notes: Notes) -> None:
    """A confirm speaks of publishes that were sent and are not resolved."""
    channel, number = fact.channel, fact.number
    if channel.adopted:
        notes.exercise("CNF-004", "CNF-006")
    if not channel.confirm or channel.adopted:
        return
    if number == 0 and not channel.forgiven:
        notes.find("CNF-002", fact.event, "numbers from 1", f"{fact.event.method} 0")
    elif number > max(channel.published, channel.forgiven):
        _too_high(fact, notes)
    elif number > channel.forgiven:
        notes.exercise("CNF-006")
        if not fact.resolved:
            _again(fact, notes)
        elif channel.repeating:
            notes.find(
                "CNF-004",
                fact.event,
                f"no further confirm for {channel.repeating}: it is already resolved",
                f"it was confirmed again, and not for each of its queues, before {fact.event.method} {number}",
            )


LET_PASS = "CONTENT-006", "EXCH-013", "AUTH-010"
"""Rules by which a publish is a mistake: who breaks one of them carries it out, and confirms it rightly."""


def _too_high(fact: Confirmed, notes: Notes) -> None:
    """Publishes before the select may have been counted because a former life of the number was in confirm mode."""
    channel, number, error = fact.channel, fact.number, fact.channel.method_error
    if error is not None and error.number:
        allowed, seen = f"no answer to {error.what}", f"{fact.event.method} {number}"
        notes.find("CNF-019", fact.event, allowed, seen, error.seq, unless=LET_PASS)
        return
    former = channel.former_published
    if _goes_on(channel, number):
        notes.find(
            "ERR-007",
            fact.event,
            "numbers from 1 on a reopened channel",
            f"{fact.event.method} {number}, after {former} publishes in former lives of its number",
            channel.opened,
        )
        return
    above = number - channel.published
    elsewhere = sum(
        other.published + other.plain for other in channel.connection.channels.values() if other is not channel
    )
    unless = ("ERR-007",) if channel.former_confirm and above <= channel.plain else ()
    guesses = (("CNF-002", channel.plain), ("CNF-023", elsewhere), ("CNF-026", channel.oversize))
    for rule in ("CNF-006", *(rule for rule, count in guesses if above <= count)):
        notes.find(
            rule,
            fact.event,
            f"numbers up to {channel.published}, the count of complete publishes",
            f"{fact.event.method} {number}",
            unless=unless,
        )


def _goes_on(channel: ChannelLife, number: int) -> bool:
    """Does the number go on from the former lives of the channel? Then none of those that they had has come again, but
    for what had been left unresolved in them."""
    former = channel.former_published
    own = channel.published + (channel.plain if channel.former_confirm else 0)
    if channel.former_open:
        return number <= former + own
    return 0 < former < number <= former + own and all(
        low in channel.unconfirmed for low in range(1, min(former, channel.published, NEAR) + 1)
    )


def _again(fact: Confirmed, notes: Notes) -> None:
    """It resolves nothing: all that it speaks of was resolved before.

    One confirm for each of several queues says that the first came when not all of them had the message. With each that
    is fewer it is too early to tell; and who has repeated others says nothing of queues, nor does who repeats any. Who
    confirms without the mode may have done so with what was published before the select.
    """
    channel, number = fact.channel, fact.number
    before = "basic.nack" if number in channel.refused else "basic.ack"
    if _restarted(channel, number):
        rule = "CNF-003"
    elif not fact.multiple and before == fact.event.method and channel.spread.get(number) and not channel.twice:
        if channel.spread[number] > 1:
            return
        rule = "CNF-010"
    elif fact.multiple:
        rule = "CNF-006"
    else:
        rule = "CNF-004" if before == fact.event.method else "CNF-005"
    notes.find(
        rule,
        fact.event,
        f"no further confirm for {number}: {'everything up to it' if fact.multiple else 'it'} is already resolved",
        f"{fact.event.method} {number}{', multiple' if fact.multiple else ''}, after {before}",
        unless=("CNF-004",) if rule == "CNF-010" else ("CNF-023",) if channel.plain else (),
    )


def _restarted(channel: ChannelLife, number: int) -> bool:
    """Does the number fit what was published since the latest of several selects, all of which is unresolved?"""
    last = channel.selects[-1] if channel.selects else None
    if last is None or len(channel.selects) == 1 or not last.published or not channel.unconfirmed:
        return False
    first = next(iter(channel.unconfirmed))
    return first == last.published + 1 and number <= channel.published - last.published


@judges(
    Confirmed,
    "CNF-002",
    "CNF-003",
    "CNF-004",
    "CNF-005",
    "CNF-020",
    "CNF-022",
    "CNF-023",
    "CNF-026",
    "CNF-001",
    "CNF-017",
    "CNF-027",
)
def resolutions(fact: Confirmed, notes: Notes) -> None:
    """Each publish that is resolved bears out the rules that speak of its kind; that it was resolved once, what comes
    after it."""
    channel = fact.channel
    if not fact.resolved:
        return
    if _confirms_beside(channel):
        notes.show("CNF-023", OWN_COUNT, PER_CHANNEL)
    for publication in fact.resolved:
        if channel.numbered and publication.number == channel.numbered + 1:
            notes.find(
                "CNF-002",
                fact.event,
                f"number 1 for {publication.message}, the first publish after the select",
                f"{fact.event.method} {fact.number}: {channel.numbered} mandatory publishes from before the select "
                "are counted as well",
                publication.seq,
            )
        notes.exercise(*_borne_out(publication, channel))
    if (channel.accepted or channel.refused) and not channel.twice:
        notes.exercise("CNF-004")
    if channel.refused and channel.accepted:
        notes.exercise("CNF-005")
    for publication in fact.resolved:
        if _left_first(publication):
            if fact.event.method == "basic.ack":
                notes.exercise("CNF-017")
            notes.report("CNF-017", fact.event.method)


def _confirms_beside(channel: ChannelLife) -> bool:
    """Do other channels of the connection publish in confirm mode, too?"""
    return any(other.published for other in channel.connection.channels.values() if other is not channel)


def _borne_out(publication: Publication, channel: ChannelLife) -> list[str]:
    number, rules = publication.number, list[str]()
    if number == 1 and channel.plain:
        rules.append("CNF-002")
    if len(channel.selects) > 1 and any(
        select.published > channel.numbered and select.seq < publication.seq for select in channel.selects[1:]
    ):
        rules.append("CNF-003")
    if number == channel.published:
        rules.append("CNF-020")
    if publication.pipelined:
        rules.append("CNF-022")
        if not channel.selects[0].waits:
            rules.append("CNF-001")
    if publication.frames != 1:
        rules.append("CNF-026")
    if _settled_meanwhile(publication, channel):
        rules.append("CNF-027")
    return rules


def _left_first(publication: Publication) -> bool:
    """Has its message, or its queue, gone since it was published?"""
    for copy in publication.copies:
        if copy.place == GONE or max(copy.queue.deleted, copy.queue.purged) > publication.seq:
            return True
    return False


def _settled_meanwhile(publication: Publication, channel: ChannelLife) -> bool:
    """Has the client settled a delivery of the same number since it published?"""
    delivery = channel.deliveries.get(publication.number)
    settlement = delivery.settlement if delivery is not None else None
    return settlement is not None and settlement.seq > publication.seq


def _answered_alike(publication: Publication, channel: ChannelLife) -> bool:
    """Was another publish answered although a delivery of its number was settled in the same way?"""
    settlement = channel.deliveries[publication.number].settlement
    return settlement is not None and any(
        other.settlement is not None
        and number <= channel.published
        and number not in channel.unconfirmed
        and (other.settlement.method, other.settlement.multiple) == (settlement.method, settlement.multiple)
        for number, other in channel.deliveries.items()
    )


@judges(Confirmed, "CNF-007", "CNF-014", "CNF-015", "CNF-018")
def freedoms(fact: Confirmed, notes: Notes) -> None:
    """What is left open is reported: grouping, order, and whether the delivery or the confirm comes first."""
    if not fact.resolved:
        return
    first, channel = fact.resolved[0], fact.channel
    notes.exercise("CNF-014")
    if len(fact.resolved) == 1:
        notes.exercise("CNF-007")
        notes.report("CNF-007", f"one {fact.event.method}, {'multiple' if fact.multiple else 'single'}")
    in_order = first.number == next(iter(channel.unconfirmed))
    notes.report("CNF-014", "in order" if in_order else "out of order")
    for publication in fact.resolved:
        if confirming.ordered(publication):
            _in_order(publication, fact, notes)
        if publication.copies:
            notes.exercise("CNF-018")
            seen = [copy for copy in publication.copies if copy.seen]
            notes.report("CNF-018", "delivery first" if seen else "confirm first")


def _in_order(publication: Publication, fact: Confirmed, notes: Notes) -> None:
    """Most confirms of a kind come in the order of its publishes; that one overtakes another says nothing yet."""
    channel, event = fact.channel, fact.event
    if not confirming.overtakes(channel, publication, multiple=fact.multiple):
        notes.exercise("CNF-015")
        notes.report("CNF-015", "in order")
        return
    notes.report("CNF-015", "out of order")
    late, all_told = channel.overtaking + 1, channel.overtaking + channel.orderly + 1
    if late >= FEW and late * SHARE > all_told:
        notes.find(
            "CNF-015",
            event,
            f"most confirms in the order of the publishes: {publication} is not the oldest unconfirmed one of its kind",
            f"{late} of {all_told} overtake another",
            publication.seq,
            certain=False,
        )


@judges(
    Unanswered,
    "CNF-001",
    "CNF-004",
    "CNF-008",
    "CNF-009",
    "CNF-017",
    "CNF-018",
    "CNF-020",
    "CNF-022",
    "CNF-026",
    "CNF-027",
)
def missing(fact: Unanswered, notes: Notes) -> None:
    """Publishes in confirm mode that were neither confirmed nor refused. To a broker that starts anew with a repeated
    select, they have other numbers (CNF-003), and to one that begins with 0 (CNF-002) the last has been confirmed: then
    it is not certain that something was left out. Who does not answer the select may know no confirms."""
    channel = fact.channel
    if fact.obligation.kind != CONFIRM or channel is None:
        return
    unselected = any(select.waits and not select.answered for select in channel.selects[:1])
    lost = list(islice(channel.unconfirmed.values(), NEAR))
    again = any(select.published for select in channel.selects[1:])
    names = ", ".join(map(str, lost[:5])) + (", …" if len(lost) > 5 else "")
    shifted = channel.accepted > 0 and not channel.counted and [one.number for one in lost] == [channel.published]
    broken = dict(_of_missing([_kinds(one, channel) for one in lost], notes.judgement.exercised))
    if shifted:
        broken = {**dict.fromkeys(broken, False), EVERY: True}
    for rule, certain in broken.items():
        notes.find(
            rule,
            fact.event,
            f"an answer to {names}",
            "neither basic.ack nor basic.nack comes",
            *(one.seq for one in lost[:5]),
            certain=certain and not again,
            unless=("CNF-001",) if unselected and rule != "CNF-001" else (),
        )


def _of_missing(lost: Sequence[Kinds], exercised: Mapping[str, int]) -> Iterator[tuple[str, bool]]:
    """The rules that publishes of these kinds break together by their silence, and whether that is certain.

    What all of them have in common is the cause, unless more others like that were answered: so publishes of other
    kinds may well have all their answers. Of several likely causes none is certain; without any it may be any publish.
    """
    common = [kind for kind in lost[0] if all(kind in kinds for kinds in lost)]
    likely = [kind for kind in common if kind in APART or exercised.get(lost[0][kind][0], 0) <= len(lost)]
    if not likely:
        yield EVERY, True
    for kind in common:
        for rule in lost[0][kind]:
            yield rule, likely == [kind]


def _kinds(publication: Publication, channel: ChannelLife) -> Kinds:
    """What is special about a publish, and the rules that say in so many words that such a one is answered."""
    found: Kinds = {} if publication.frames == 1 else {SIZES[publication.frames > 0]: ("CNF-026",)}
    if publication.returned or (publication.mandatory and publication.routed is False):
        found["returned"] = ("CNF-009",)
    elif publication.routed is False:
        found["unroutable"] = ("CNF-008",)
    if publication.pipelined:
        unasked = not channel.selects[0].waits and not channel.accepted
        found["pipelined"] = ("CNF-022", "CNF-001") if unasked else ("CNF-022",)
    places = {copy.place for copy in publication.copies} - channel.met
    if OUT in places:
        found["held"] = ("CNF-018",)
    if _left_first(publication):
        found["consumed" if GONE in places else "gone"] = ("CNF-017",)
    if publication.number == channel.published and len(channel.unconfirmed) == 1 and channel.accepted:
        found["last"] = ("CNF-020",)
    if _settled_meanwhile(publication, channel) and not _answered_alike(publication, channel):
        found["settled"] = ("CNF-027",)
    return found


@judges(Answered, "CNF-001", "CNF-023", "CNF-024")
def answers(fact: Answered, notes: Notes) -> None:
    """select-ok; and the silence about publishes outside of confirm mode, which an answer to later methods shows."""
    channel = fact.channel
    if fact.request.method == "confirm.select":
        notes.exercise("CNF-001")
    elif channel.plain and not channel.confirm and not channel.transactional:
        if any(other.confirm for other in channel.connection.channels.values()):
            notes.show("CNF-023", OWN_MODE, PER_CHANNEL)
    elif fact.request.committed:
        notes.exercise("CNF-024")


@judges(Unrequested, "CNF-001")
def select_ok_unasked(fact: Unrequested, notes: Notes) -> None:
    """With nowait there is no select-ok."""
    selects = fact.channel.selects
    if fact.event.method == "confirm.select-ok" and selects:
        notes.find(
            "CNF-001", fact.event, "no answer to confirm.select with nowait", "confirm.select-ok", selects[-1].seq
        )


@judges(Confirmed, "CNF-024")
def confirms_in_a_transaction(fact: Confirmed, notes: Notes) -> None:
    """On a transactional channel there are no confirms."""
    if fact.channel.transactional and not fact.channel.confirm:
        notes.find(
            "CNF-024", fact.event, "no confirms on a transactional channel", f"{fact.event.method} {fact.number}"
        )


@judges(AfterClose, "CNF-019")
def confirm_after_the_close(fact: AfterClose, notes: Notes) -> None:
    """A publish that failed, and what came after it, is not confirmed after the close either."""
    channel, event = fact.channel, fact.event
    error = channel.method_error if channel is not None else None
    if channel is None or error is None or not error.number or event.method not in ("basic.ack", "basic.nack"):
        return
    if (event.delivery_tag or 0) >= error.number:
        notes.find(
            "CNF-019",
            event,
            f"no answer to {error.what}",
            f"{event.method} {event.delivery_tag}",
            error.seq,
            channel.close_seen,
        )
