"""Methods that the broker must refuse, and methods that it must carry out: one judgement for all rules of that form.

A family says when: `refuses` enters a mistake, `grants` a claim (`topology.preconditions`). Then these judges speak for
its rule. A refusal closes the channel, or the connection, with its code, and names the method or none; it comes before
the answer to anything that was sent later.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from conformance.catalogue.rules import CATALOGUE
from conformance.history.events import METHOD, Event
from conformance.oracle.model.connections.closing import NOT_FOUND, PUBLISH, ids_of
from conformance.oracle.model.facts import Answered, ClosedUnasked, ConnectionFailed, Faulted, Overlooked, Unanswered
from conformance.oracle.model.owed import CLOSE
from conformance.oracle.model.records import Request
from conformance.oracle.monitors import silence
from conformance.oracle.monitors.deliveries import hard_errors
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.deliveries.hard_errors import NOT_IMPLEMENTED
from conformance.oracle.monitors.deliveries.naming import MISNAMED, misnamed
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import BY_RULE, judges
from conformance.oracle.topology.preconditions import (
    ACCESS_REFUSED,
    Applies,
    Mistake,
    Mistaken,
    Scope,
    enter_claim,
    enter_mistake,
)

DECLARE, MAKE, MAKING = "queue.declare", ("queue.declare", "exchange.declare"), {(50, 10), (40, 10)}
"""A broker may have no room for more, and say so by 403 or in words: then only claims about rights are contradicted."""
OF_ROUTES = frozenset({312, 313})
"""NO_ROUTE and NO_CONSUMERS."""
RESOURCE_ERROR = 506
"""The text: perhaps because of "too many of some type of entity"."""
LIMIT = re.compile(r"\blimit\b.*\b(reached|exceeded)\b|\b(reached|exceeded)\b.*\b(limit|quota)\b", re.IGNORECASE)
"""In these words brokers say that an operator has set a limit, so that there is no room; the code does not matter."""
RIGHTS = "AUTH"
ASKING: dict[str, str] = {}
"""By rules that say what is there: the rule about asking for it."""
MISSING = {"QUEUE-002": "QUEUE-001", "EXCH-006": "EXCH-001"}
"""By rules about asking for what is there: those about asking for what is not."""
BESIDE: set[str] = set()
"""Rules of claims that are about refusals."""
EXPLAINED: dict[str, tuple[str, ...]] = {}
"""By rules of claims: those that explain a refusal as well where the broker breaks them."""
PASSED_OVER: dict[str, tuple[str, ...]] = {}
"""By rules about mistakes: those that explain as well why one is passed over."""
BARE: set[str] = set()
"""Rules about mistakes that a broker refuses as well which knows nothing of what they speak of."""
ANY, INTERNAL_ERROR = 0, 541
"""The code of a refusal for which no text names one; and what is no refusal."""
OF_A_CHANNEL = ("CNF-016", "CNF-019", "TX-004", "TMO-001", "TMO-023")
"""Rules of this form whose mistakes the model finds by itself."""


@judges(Faulted, *OF_A_CHANNEL, "ERR-011", MISNAMED)
def closed_over_a_mistake(fact: Faulted, notes: Notes) -> None:
    """The broker closed the channel over a mistake: with its code, naming its method or none, before any answer.

    The rules give codes alone, or not even these. A header or a body is no method, so what is wrong with a content has
    no name. A 403 may be about rights or room: it does not show that the mistake was seen. Where the broker refuses
    what others offer, a close that names another declaration of the channel may be about an argument of that. A close
    that names what was sent before the mistake may be about that, where nobody knows whether it is one, too; also where
    both are the same method, and the code is that of another mistake. One that names what was not sent may be about
    what was under way.
    """
    error, event = fact.error, fact.event
    code, ids = int(event.args.get("reply_code", 0)), (error.class_id, error.method_id)
    if notes.profile.refused and ids_of(event) in (MAKING & fact.channel.sent.keys()) - {ids}:
        return
    meant = ids_of(event) == ids and code in error.codes
    if not meant and 0 < fact.channel.dubious.get(ids_of(event), 0) < error.seq:
        return
    if (code != ACCESS_REFUSED or error.code in (ACCESS_REFUSED, ANY)) and error.rule not in BARE:
        notes.exercise(error.rule)
    right = code in error.codes if error.code else code != INTERNAL_ERROR
    unsent = misnamed(event, ids, (fact.channel,), error.seq, notes)
    others = any(one.seq < error.seq for one in fact.channel.pending())
    fits = (others or right) if unsent else (right and ids_of(event) in (ids, (0, 0)))
    if not fits:
        notes.find(
            error.rule,
            event,
            f"channel.close {error.all_codes} {ids} for {error.what}",
            closing(event.args),
            error.seq,
        )
    if error.answered:
        late = error.answered[0]
        notes.find(
            "ERR-011",
            event,
            f"channel.close for {error.what} before the answer to any later method",
            f"{late.method} was sent later and answered first",
            error.seq,
            late.seq,
        )


@judges(Overlooked, *OF_A_CHANNEL)
def carried_out(fact: Overlooked, notes: Notes) -> None:
    """The broker did as asked; what the mode of the channel before may explain is CHAN-008's as well."""
    error, former = fact.error, fact.channel.previous
    unless = PASSED_OVER.get(error.rule, ())
    if error.rule == "TX-004" and former is not None and former.transactional:
        unless = ("CHAN-008",)
    allowed = f"channel.close {error.all_codes} for {error.what}"
    notes.find(error.rule, fact.event, allowed, fact.event.method, error.seq, unless=unless)


@judges(Unanswered, *OF_A_CHANNEL)
def never_closed(fact: Unanswered, notes: Notes) -> None:
    """The channel should have been closed, and was not."""
    error = fact.channel.method_error if fact.channel is not None else None
    if fact.obligation.kind == CLOSE and error is not None:
        notes.find(
            error.rule,
            fact.event,
            f"channel.close {error.all_codes} for {error.what}",
            "no channel.close comes",
            error.seq,
            unless=PASSED_OVER.get(error.rule, ()),
        )


@judges(ConnectionFailed, *OF_A_CHANNEL, "ERR-004")
def connection_lost_over_a_mistake(fact: ConnectionFailed, notes: Notes) -> None:
    """connection.close names what should have cost its channel only. By 540 it would say: not offered. Where no text
    names a code, it may be one that costs the connection. Who has not got what the mistake is about says nothing of its
    errors of channels; who breaks down over it whenever it is asked says nothing of the mistake, either."""
    event = fact.event
    if fact.error is not None or int(event.args.get("reply_code", 0)) == NOT_IMPLEMENTED:
        return
    over = [
        channel.method_error
        for channel in fact.connection.channels.values()
        if channel.method_error is not None and not channel.close_seen
    ]
    named = len(over) == 1 and event.kind == METHOD and ids_of(event) == (over[0].class_id, over[0].method_id)
    if named and over[0].code == ANY and int(event.args.get("reply_code", 0)) != INTERNAL_ERROR:
        notes.exercise(over[0].rule)
        return
    if named or (len(over) == 1 and is_over(fact, over[0].seq)):
        if event.args.get("reply_code") in over[0].instead:
            notes.exercise(over[0].rule)
            return
        missing = {*notes.profile.refused, *notes.profile.shunned}
        if breaks_down(over[0].rule, event, notes):
            return
        for rule in (over[0].rule, *(() if missing.intersection(CATALOGUE[over[0].rule].needs) else ("ERR-004",))):
            notes.find(
                rule,
                event,
                f"channel.close {over[0].all_codes} for {over[0].what}; the connection stays open",
                f"connection: {how_it_ended(event)}",
                over[0].seq,
            )


def is_over(fact: ConnectionFailed, *sent: int) -> bool:
    """Does the close name no method, or is there no close, while the broker has nothing else to do than what was sent
    there? A code that speaks of a route speaks of a publish. A publish has no answer: one that was sent after the last
    answer on its channel may be what it is over."""
    if fact.event.args.get("reply_code") in OF_ROUTES:
        return False
    channels = fact.connection.channels.values()
    pending = [one.seq for channel in channels for one in channel.pending()]
    pending += [one.sent[PUBLISH] for one in channels if PUBLISH in one.sent]
    if not set(pending) <= set(sent) or any(one.unconfirmed or one.unproven for one in channels):
        return False
    return ids_of(fact.event) == (0, 0) if fact.event.kind == METHOD else _is_without_a_word(fact, set(sent))


def _is_without_a_word(fact: ConnectionFailed, sent: set[int]) -> bool:
    """Did the broker end the connection over what was sent there, and say nothing? It listened after that, else the end
    has another cause. A client that is silent too long may lose it so, and one that has begun a content, over that; and
    of a capture, the words may be missing."""
    connection, handshake = fact.connection, fact.connection.handshake
    if connection.heartbeat or connection.overheard or not connection.whole or fact.event.args.get("unfinished"):
        return False
    if connection.refusals or connection.misused or (handshake.begun() and not handshake.entered):
        return False
    channels = connection.channels.values()
    return not any(one.unproven or not sent.issuperset(one.sent.values()) for one in channels)


def how_it_ended(event: Event) -> str:
    """The end of a connection in words."""
    return closing(event.args) if event.kind == METHOD else "it ends without connection.close"


@judges(Answered)
def granted(fact: Answered, notes: Notes) -> None:
    """The broker carried out what it had to."""
    notes.exercise(*(rule for rule in fact.request.claims if rule not in BESIDE))


@judges(ClosedUnasked)
def denied(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker closed the channel over a method that it had to carry out, be it without an answer, and for which the
    client has the rights."""
    request = _blamed(fact.channel.asked(), ids_of(fact.event))
    connection = fact.channel.connection
    doubtful = connection.overheard or connection.unreadable or (request and request.seq < connection.regranted)
    forbidden = fact.event.args.get("reply_code") == ACCESS_REFUSED
    if doubtful and forbidden:
        return
    if request is not None and fact.suspect is None:
        for rule in _contradicted(request, fact.event):
            full = (request.method == DECLARE and forbidden) or (request.method in MAKE and no_room(fact.event))
            if full and not rule.startswith(RIGHTS):
                continue
            unless, closed = EXPLAINED.get(rule, ()), closing(fact.event.args)
            notes.find(rule, fact.event, f"{request.method} is carried out", closed, request.seq, unless=unless)


@judges(ConnectionFailed)
def connection_denied(fact: ConnectionFailed, notes: Notes) -> None:
    """The broker closed the connection over a method that it had to carry out."""
    event = fact.event
    if fact.error is not None or fact.failing or hard_errors.over_misuse(fact):
        return
    pending = [one for channel in fact.connection.open_channels() for one in channel.pending()]
    asked = [one for channel in fact.connection.open_channels() for one in channel.asked()]
    request = _blamed(asked, ids_of(event))
    if request is None and pending and not fact.connection.recovered_gone and is_over(fact, pending[0].seq):
        request = pending[0]
    if request is not None:
        for rule in _contradicted(request, event):
            if request.method in MAKE and not rule.startswith(RIGHTS) and no_room(event):
                continue
            if breaks_down(rule, event, notes, request.method):
                continue
            notes.find(
                rule,
                event,
                f"{request.method} is carried out",
                f"connection: {how_it_ended(event)}",
                request.seq,
                unless=EXPLAINED.get(rule, ()),
            )


def breaks_down(rule: str, event: Event, notes: Notes, asked: str = "") -> bool:
    """Does the connection end without a reason over something of which the broker was found to end in no lawful way
    whenever it is asked, be it the method itself? ERR-012 speaks of that, and not each rule that needs the same."""
    needs = {*CATALOGUE[rule].needs, asked.replace("unbind", "bind")}
    reason = event.kind == METHOD and int(event.args.get("reply_code", 0)) != INTERNAL_ERROR
    return not reason and not notes.profile.shunned.keys().isdisjoint(needs)


def no_room(event: Event) -> bool:
    """Does the close say that there are too many already, by its code, or that a limit is reached that an operator has
    set?"""
    if event.args.get("reply_code") == RESOURCE_ERROR:
        return True
    return LIMIT.search(str(event.args.get("reply_text", ""))) is not None


def _contradicted(request: Request, event: Event) -> list[str]:
    """The claims of a request that a close contradicts. That something is not there, only 404 says: a broker that has
    another reason breaks what is claimed of asking for it."""
    if event.kind != METHOD or event.args.get("reply_code") == NOT_FOUND:
        return list(request.claims)
    return list(dict.fromkeys(ASKING.get(rule, rule) for rule in request.claims))


def _blamed(pending: list[Request], ids: tuple[int, int]) -> Request | None:
    """The request that a close names, if it can name no other."""
    named = [one for one in pending if (one.class_id, one.method_id) == ids]
    return named[0] if named and all(one.claims for one in named) else None


def refuses(
    rule: str,
    *methods: str,
    code: int,
    what: str,
    scope: Scope = "channel",
    also: tuple[int, ...] = (),
    hard: tuple[int, ...] = (),
    unless: tuple[str, ...] = (),
    counts: bool = True,
) -> Callable[[Mistaken], Mistaken]:
    """Enters a mistake that `methods` may make: the broker must refuse them with this code, as `rule` says, or with one
    of those that are right `also`. By a hard one it may close the connection instead. `unless`: rules that explain it
    as well where the mistake is passed over; without `counts` the rule is not held by refusals alone."""
    PASSED_OVER[rule] = unless
    if not counts:
        BARE.add(rule)
    of_connections = (hard_errors.hard_error, hard_errors.channel_instead, silence.hard_mistake_let_pass)
    of_channels = (closed_over_a_mistake, carried_out, never_closed, connection_lost_over_a_mistake)
    _speak(rule, *(of_channels if scope == "channel" else of_connections))

    def enter(made: Mistaken) -> Mistaken:
        enter_mistake(methods, Mistake(rule, (code, *also), what, scope, made, hard))
        return made

    return enter


def grants(
    rule: str, *methods: str, asking: str = "", unless: tuple[str, ...] = (), counts: bool = True
) -> Callable[[Applies], Applies]:
    """Enters a claim: where it applies and no mistake is possible, the broker must carry out `methods`. `asking`: the
    claim is that something is there, and this rule speaks where the broker refuses for another reason; `unless`: rules
    that explain a refusal as well; without `counts` the rule is about refusals, and not held by what is granted."""
    _speak(rule, granted, denied, connection_denied)
    EXPLAINED[rule] = unless
    if not counts:
        BESIDE.add(rule)
    if asking:
        ASKING[rule] = asking
        _speak(asking, denied, connection_denied)

    def enter(applies: Applies) -> Applies:
        enter_claim(methods, rule, applies)
        return applies

    return enter


def shown_by(rule: str) -> str:
    """The rule that must hold if this one is to be seen to: what is found shows nothing where anything is."""
    return MISSING.get(ASKING.get(rule, rule), "")


def _speak(rule: str, *functions: Callable[..., None]) -> None:
    """These functions speak for the rule as well."""
    BY_RULE.setdefault(rule, []).extend(one for one in functions if one not in BY_RULE.get(rule, ()))
