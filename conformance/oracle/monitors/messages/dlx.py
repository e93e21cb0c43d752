"""DLX: dead letters: which messages become one, where they go, and what they tell of it.

What a delivery shows is compared with the way that the message must have gone since it was seen last (`deaths`). That a
dead letter is missing is said only of a queue that is found empty a good while after it must have been there.
"""

from __future__ import annotations

from typing import Any

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.channels import OPEN
from conformance.oracle.model.facts import (
    Accepted,
    Answered,
    ChannelClosed,
    Confirmed,
    FoundEmpty,
    Passed,
    Policed,
    Stopping,
)
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.messages.deaths import (
    ACKED,
    EXPIRED,
    GIVEN_UP,
    HELD,
    LENGTH,
    LEVELS,
    MAXLEN,
    MESSAGES,
    MILLISECOND,
    OCTETS,
    PLAIN,
    PUSHED,
    QUEUES,
    REJECTED,
    RETURNED,
    TTL,
    WAITING,
    Death,
    Graves,
    Mortal,
    Place,
    Step,
    after,
    properties,
    table_of,
)
from conformance.oracle.monitors.messages.ttl import Lives
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

OF_REASON = {REJECTED: "DLX-001", EXPIRED: "DLX-002", MAXLEN: "DLX-003", RETURNED: "DLX-004"}
ADDRESS, COUNTS, FIELDS, FIRST, EXPIRATION = "DLX-005", "DLX-006", "DLX-007", "DLX-008", "DLX-009"
COPIES, ENDLESS, ON_AND_ON, SETTLED = "DLX-010", "DLX-011", "DLX-012", "DLX-013"
LOSSY = frozenset({LENGTH, OCTETS, "x-single-active-consumer"})
"""In such queues messages may be lost, or gets find nothing."""
PERSISTENT = 2
"""The delivery mode of what is kept over a restart."""
PROMPT, SECONDS = 1_000 * MILLISECOND, 2
"""After this a dead letter has arrived; and what the broker's wall clock may differ by."""
SEEN = (*OF_REASON.values(), ADDRESS, COUNTS, FIELDS, FIRST, EXPIRATION, COPIES, ENDLESS, ON_AND_ON, SETTLED)


@follows("queue.declare", "queue.bind", "queue.unbind", "queue.delete", "queue.purge", "exchange.delete")
def arranged(fact: Passed, notes: Notes) -> None:
    """Where do the dead of a queue go?"""
    event, graves = fact.event, notes.memory(Graves)
    name = event.queue or ""
    if event.direction != TO_BROKER:
        return
    if event.exchange:
        _bound(fact, event.exchange, name, graves)
    elif event.method != "queue.declare":
        graves.places.pop(name, None)
        if event.method == "queue.delete":
            graves.unbind(name)
    elif fact.topology.policies or not name or event.has("auto_delete"):
        return
    elif fact.topology.queue(fact.connection.vhost, name) is None:
        arguments = {**(event.args.get("arguments") or {})}
        kind = str(arguments.get("x-queue-type") or "classic")
        graves.places[name] = Place(arguments, not notes.profile.queue(kind).messages_expire)
        if len(graves.places) > QUEUES:
            graves.places.popitem(last=False)


def _bound(fact: Passed, exchange: str, queue: str, graves: Graves) -> None:
    """A fanout exchange leads there with any key, as a topic exchange does by #; a direct one with the key that is
    said."""
    known, key = fact.topology.exchange(fact.connection.vhost, exchange), fact.event.routing_key or ""
    kind = known.kind if known is not None and fact.event.method == "queue.bind" else ""
    if kind == "fanout" or (kind == "topic" and key == "#"):
        graves.bind(exchange, None, queue)
    elif kind == "direct" and known is not None and not (known.shared or known.opaque):
        graves.bind(exchange, key, queue)
    else:
        graves.obscure(exchange)


@follows("exchange.bind", "exchange.unbind")
def chained(fact: Passed, notes: Notes) -> None:
    """An exchange leads to another one, too."""
    if fact.event.direction == TO_BROKER:
        notes.memory(Graves).obscure(str(fact.event.args.get("source") or ""))


@judges(Policed)
def ruled(fact: Policed, notes: Notes) -> None:
    """Any queue may send its dead elsewhere by policy."""
    graves = notes.memory(Graves)
    graves.messages.clear()
    graves.places.clear()


@judges(Stopping)
def stopped(fact: Stopping, notes: Notes) -> None:
    """Only persistent messages that had certainly come into their queue are there after a restart, and exchanges that
    are durable."""
    graves = notes.memory(Graves)
    durable = {name for (_, name), one in fact.topology.exchanges.items() if one.durable}
    for exchange in graves.bound.keys() - durable:
        graves.obscure(exchange)
    for message, mortal in graves.messages.items():
        if mortal is not None and not (mortal.persistent and mortal.certain_ns):
            graves.messages[message] = None


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """A message for a queue that has a dead letter exchange."""
    event, graves = fact.event, notes.memory(Graves)
    exchange, key = event.exchange or "", event.routing_key or ""
    again = bool(event.message) and event.message in graves.messages
    if again:
        graves.messages[event.message or ""] = None  # two messages have one id
    queue = graves.leads(exchange, key) if graves.places else None
    place = graves.places.get(queue or "")
    if queue is None or place is None or place.exchange is None or not event.message:
        return
    channel = fact.connection.channels.get(event.channel)
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    content = properties(event.arguments)
    headers = content.get("headers") or {}
    lawful = sound and channel is not None and not channel.transactional and "x-death" not in headers
    mortal = Mortal(
        queue,
        event.seq,
        event.time_ns,
        event.connection,
        content.get("expiration"),
        _names(headers.get("CC")),
        "BCC" in headers,
        exchange=exchange,
        key=key,
        persistent=content.get("delivery_mode") == PERSISTENT,
    )
    graves.messages[event.message] = mortal if lawful and not again else None
    place.came.append(event.message)
    if len(graves.messages) > MESSAGES:
        graves.messages.popitem(last=False)


def _names(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


@judges(Confirmed)
def certain(fact: Confirmed, notes: Notes) -> None:
    """It is in its queue by now."""
    known = notes.memory(Graves).messages
    for publication in fact.resolved if known and fact.event.method == "basic.ack" else ():
        mortal = known.get(publication.message)
        if mortal is not None:
            mortal.certain_ns = fact.event.time_ns


@follows("basic.ack", "basic.nack", "basic.reject")
def settled(fact: Passed, notes: Notes) -> None:
    """The client says what is to become of it, now or with the commit."""
    event, graves = fact.event, notes.memory(Graves)
    known = graves.messages
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or not known or channel is None:
        return
    tag, multiple = event.delivery_tag or 0, bool(event.multiple)
    for number, delivery in channel.unacked.items():
        mortal = known.get(delivery.message)
        hit = number == tag or (multiple and (tag == 0 or number <= tag))
        if mortal is None or not hit or mortal.queue != delivery.queue:
            continue
        back = event.method != "basic.ack" and event.has("requeue")
        if (channel.transactional and back) or channel.state != OPEN or channel.indeterminate:
            known[delivery.message] = None
            continue
        mortal.by = channel
        if channel.transactional:
            graves.put_off(channel, delivery.message, ACKED if event.method == "basic.ack" else GIVEN_UP)
        elif event.method == "basic.ack":
            mortal.fate = ACKED
        elif not back:
            mortal.fate = GIVEN_UP
        else:
            mortal.fate = WAITING
            mortal.failures += event.method == "basic.reject"


@judges(Accepted)
def accepted(fact: Accepted, notes: Notes) -> None:
    """The broker has taken what the client said."""
    known = notes.memory(Graves).messages
    for delivery in fact.settlement.covered if known else ():
        mortal = known.get(delivery.message)
        if mortal is not None and mortal.queue == delivery.queue and not (mortal.by and mortal.by.transactional):
            mortal.died_ns = fact.event.time_ns


@follows("tx.commit", "tx.rollback")
def decided(fact: Passed, notes: Notes) -> None:
    """What a transaction has settled is so, or is not."""
    event, graves = fact.event, notes.memory(Graves)
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or channel is None or not graves.uncommitted:
        return
    for mortal, fate in graves.take(channel):
        if event.method == "tx.commit":
            mortal.fate, mortal.committed, mortal.died_ns = fate, event.seq, 0


@judges(Answered)
def committed(fact: Answered, notes: Notes) -> None:
    """The broker has carried out the transaction."""
    known = notes.memory(Graves).messages if fact.request.method == "tx.commit" else {}
    for mortal in known.values():
        if mortal is not None and mortal.committed == fact.request.seq:
            mortal.died_ns = fact.event.time_ns


@judges(ChannelClosed)
def returned(fact: ChannelClosed, notes: Notes) -> None:
    """What it held is back in its queues, or there was no room for it."""
    graves = notes.memory(Graves)
    for mortal in graves.messages.values() if not fact.crossed else ():
        if mortal is not None and mortal.holder is fact.channel and mortal.fate == HELD:
            mortal.returned, mortal.returned_ns = fact.event.seq, fact.event.time_ns
            graves.failed(mortal, timed=fact.channel.timed)


@follows("basic.deliver", "basic.get-ok", rules=SEEN)
def came(fact: Passed, notes: Notes) -> None:
    """It is seen in a queue."""
    event, graves = fact.event, notes.memory(Graves)
    mortal = graves.messages.get(event.message or "")
    found = source_of(fact) if mortal is not None else None
    if mortal is None:
        return
    if found is None:
        graves.messages[event.message or ""] = None
        return
    queue, automatic = found
    content = properties(event.arguments)
    deaths = table_of(content.get("headers") or {})
    if not mortal.over and (deaths or mortal.deaths or queue != mortal.queue):
        _judge(event, mortal, queue, content, graves, notes)
    mortal.seen.add(queue)
    mortal.queue, mortal.exchange, mortal.key = queue, event.exchange or "", event.routing_key or ""
    mortal.deaths = tuple(_death(one) for one in deaths)
    mortal.fate, mortal.died_ns = (ACKED, event.time_ns) if automatic else (HELD, 0)
    mortal.committed, mortal.returned_ns = 0, 0
    mortal.holder = fact.connection.channels.get(event.channel)


def source_of(fact: Passed) -> tuple[str, bool] | None:
    """The queue that it comes from, and whether it is settled by that."""
    event = fact.event
    channel = fact.connection.channels.get(event.channel)
    if channel is None or channel.state != OPEN or not fact.connection.usable():
        return None
    if event.method == "basic.deliver":
        consumer = channel.consumers.get(event.consumer_tag or "")
        return (consumer.queue, consumer.no_ack) if consumer is not None else None
    asked = channel.requests.get(("basic.get", ""))
    source = asked[0].source if asked else None
    return (source.name, asked[0].no_ack) if asked and source is not None else None


def _death(one: Any) -> Death:
    count = one.get("count")
    return str(one.get("queue")), str(one.get("reason")), count if isinstance(count, int) else 0


def _judge(event: Event, mortal: Mortal, queue: str, content: Any, graves: Graves, notes: Notes) -> None:
    """A dead letter: what it tells, beside what has happened."""
    headers = content.get("headers") or {}
    told = tuple(_death(one) for one in table_of(headers))
    if mortal.undecided():
        mortal.over = True
        return
    if queue == mortal.queue and told == mortal.deaths and mortal.fate != GIVEN_UP:
        if mortal.fate == ACKED and mortal.died_ns and graves.alone(mortal):
            mortal.over = True
            notes.find(SETTLED, event, "not again: it was acknowledged", _words(told), mortal.sent)
        return  # it was given back
    if graves.alone(mortal) and not _goes_on(mortal.deaths, told):
        mortal.over = True
        allowed = f"{_words(mortal.deaths)}, and perhaps more"
        notes.find(COUNTS, event, allowed, _words(told), mortal.sent)
        return
    if mortal.fate == ACKED and mortal.died_ns and told != mortal.deaths:
        mortal.over = True
        notes.find(SETTLED, event, "no dead letter of what was acknowledged", _words(told), mortal.sent)
        return
    if all(reason != REJECTED for _, reason, _ in told) and any(name == queue for name, _, _ in told):
        mortal.over = True
        allowed = f"not in {queue} again: it has died there, and nobody has rejected it"
        notes.find(ENDLESS, event, allowed, _words(told), mortal.sent)
        return
    steps = graves.way(mortal, queue, event.time_ns)
    if not steps or not told or graves.goes_round(queue, event.routing_key or ""):
        mortal.over = True
        return
    _list(event, mortal, steps, told, queue, notes)
    _address(event, steps[-1], graves, notes)
    _fields(event, mortal, steps, table_of(headers), notes)
    _first(event, mortal, steps, headers, notes)
    _content(event, mortal, steps, content, notes)


def _goes_on(before: tuple[Death, ...], told: tuple[Death, ...]) -> bool:
    """Are all deaths still told, none of them less often?"""
    counts = {one[:2]: one[2] for one in told}
    return all(counts.get(one[:2], 0) >= one[2] for one in before)


def _words(deaths: tuple[Death, ...]) -> str:
    return f"x-death {', '.join(f'{queue} {reason} {count}' for queue, reason, count in deaths)}"


def _list(event: Event, mortal: Mortal, steps: list[Step], told: tuple[Death, ...], queue: str, notes: Notes) -> None:
    expected = after(mortal.deaths, steps)
    if told[0][:2] != expected[0][:2] and {*told} != {*expected}:
        notes.find(OF_REASON[expected[0][1]], event, _words(expected[:1]), _words(told[:1]), mortal.sent)
        return
    notes.exercise(OF_REASON[expected[0][1]])
    if told != expected:
        notes.find(COUNTS, event, _words(expected), _words(told), mortal.sent)
    elif len(expected) > 1:
        notes.exercise(COUNTS)
    if queue in mortal.seen:
        notes.exercise(ON_AND_ON)


def _address(event: Event, last: Step, graves: Graves, notes: Notes) -> None:
    place = graves.places[last.queue]
    expected = place.exchange, place.key if place.key is not None else last.keys[0]
    if (event.exchange, event.routing_key) == expected:
        notes.exercise(ADDRESS)
    else:
        notes.find(ADDRESS, event, f"exchange and key {expected!r}", f"{(event.exchange, event.routing_key)!r}")


def _fields(event: Event, mortal: Mortal, steps: list[Step], told: list[Any], notes: Notes) -> None:
    """The latest death, where it is the first of its kind."""
    last, newest = steps[-1], told[0]
    if newest.get("count") != 1 or (last.queue, last.reason) != (newest.get("queue"), newest.get("reason")):
        return
    original = mortal.expiration if len(steps) == 1 and not mortal.deaths else None
    expected = {"exchange": last.exchange, "routing-keys": [*last.keys], "original-expiration": original}
    wrong = [name for name, value in expected.items() if newest.get(name) != value]
    if len(last.keys) > 1 and (len(steps) > 1 or mortal.deaths):
        wrong = [name for name in wrong if name != "routing-keys"]
    time = newest.get("time")
    low, high = mortal.sent_ns // 10**9 - SECONDS, event.time_ns // 10**9 + SECONDS
    if not isinstance(time, int):
        wrong.append("time")
    if wrong:
        name = wrong[0]
        found = f"{name} {newest.get(name)!r}"
        notes.find(FIELDS, event, f"{name} {expected.get(name, (low, high))!r}", found, mortal.sent)
    else:
        notes.exercise(FIELDS)


def _first(event: Event, mortal: Mortal, steps: list[Step], headers: Any, notes: Notes) -> None:
    """Of its very first death the headers go on to tell."""
    if mortal.first is None and not mortal.deaths:
        mortal.first = steps[0].queue, steps[0].reason, steps[0].exchange
    if mortal.first is None:
        return
    told = tuple(headers.get(f"x-first-death-{name}") for name in ("queue", "reason", "exchange"))
    if told == mortal.first:
        notes.exercise(FIRST)
    else:
        notes.find(FIRST, event, f"x-first-death-* {mortal.first!r}", f"{told!r}", mortal.sent)


def _content(event: Event, mortal: Mortal, steps: list[Step], content: Any, notes: Notes) -> None:
    """What is taken away."""
    headers = content.get("headers") or {}
    if mortal.expiration is not None and not mortal.deaths:
        if content.get("expiration") is None:
            notes.exercise(EXPIRATION)
        else:
            notes.find(EXPIRATION, event, "no expiration", f"expiration {content['expiration']!r}", mortal.sent)
    rekeyed = mortal.rekeyed or any(step.rekeyed for step in steps)
    mortal.rekeyed = rekeyed
    if "BCC" in headers:
        notes.find(COPIES, event, "no header BCC", f"BCC {headers['BCC']!r}", mortal.sent)
    elif mortal.carbon and not rekeyed and _names(headers.get("CC")) != mortal.carbon:
        notes.find(COPIES, event, f"CC {[*mortal.carbon]!r}", f"CC {headers.get('CC')!r}", mortal.sent)
    elif mortal.carbon and rekeyed and "CC" in headers:
        notes.find(COPIES, event, "no header CC beside another key", f"CC {headers['CC']!r}", mortal.sent)
    elif mortal.carbon or mortal.blind:
        notes.exercise(COPIES)


# -- what never comes


@judges(FoundEmpty, *OF_REASON.values(), ENDLESS, ON_AND_ON, SETTLED)
def missing(fact: FoundEmpty, notes: Notes) -> None:
    """A queue is empty: is there a dead letter that must be in it?"""
    graves, queue, event = notes.memory(Graves), fact.queue, fact.event
    if graves.messages and queue.declared and not (queue.purged or queue.deleted) and queue.kind == "classic":
        _no_room(fact, graves, notes)
    if not graves.messages or queue.losers or queue.purged or queue.deleted or not queue.declared:
        return
    if not queue.others(queue.declared, fact.receiver) and not queue.sweepers:
        graves.swept(queue.name, fact.since)
    for message, mortal in graves.messages.items():
        if mortal is None or mortal.over or mortal.connection != event.connection:
            continue
        if queue.others(mortal.sent, fact.receiver):
            continue
        _absent(fact, message, mortal, graves, notes)


def _no_room(fact: FoundEmpty, graves: Graves, notes: Notes) -> None:
    """What was to come back to a queue with a limit, and is not there, was pushed out."""
    queue, event = fact.queue, fact.event
    for mortal in graves.given_back(queue.name, notes.memory(Lives).asked(fact.since)):
        alone = mortal.connection == event.connection and queue.losers <= {event.connection}
        if alone and not queue.others(mortal.returned, fact.receiver):
            mortal.fate, mortal.died_ns = PUSHED, event.time_ns


def _absent(fact: FoundEmpty, message: str, mortal: Mortal, graves: Graves, notes: Notes) -> None:
    name = fact.queue.name
    asked, final = notes.memory(Lives).asked(fact.since), graves.places.get(name)
    if final is None or not (LOSSY.isdisjoint(final.arguments) and PLAIN.issuperset(final.arguments)):
        return
    if mortal.fate == ACKED and 0 < mortal.died_ns < asked - PROMPT and _could_bury(mortal, name, graves):
        mortal.over = True
        notes.exercise(SETTLED)
        return
    steps = graves.way(mortal, name) if mortal.fate in (WAITING, GIVEN_UP, PUSHED) else None
    due = _due(mortal, steps, graves) if steps else 0
    if not steps or not due or asked < due + PROMPT:
        return
    round_again = name == mortal.queue or any(step.queue == name for step in steps) or name in mortal.seen
    if round_again and all(reason != REJECTED for _, reason, _ in after(mortal.deaths, steps)):
        mortal.over = True
        notes.exercise(ENDLESS)
    elif final.number(TTL) is None:
        mortal.over = True
        rule = ON_AND_ON if name in mortal.seen else OF_REASON[steps[-1].reason]
        deaths = _words(after(mortal.deaths, steps))
        allowed = f"{message} in {name}, {deaths}"
        notes.find(rule, fact.event, allowed, "the queue is empty", mortal.sent, unless=LOSING)


def _could_bury(mortal: Mortal, name: str, graves: Graves) -> bool:
    place = graves.places.get(mortal.queue)
    return place is not None and place.exchange is not None and graves.target(place, mortal.key) == name


def _due(mortal: Mortal, steps: list[Step], graves: Graves) -> int:
    """By when it has certainly died so often; 0: that is not known."""
    time = 0
    for step in steps:
        place = graves.places[step.queue]
        if step.reason == REJECTED:
            time = mortal.died_ns
        elif step.reason == EXPIRED:
            later = (place.number(TTL) or 0) * MILLISECOND
            ranked = LEVELS in place.arguments  # one that outranks it may stand in its way
            time = 0 if ranked else _expired(mortal, place, graves) if step is steps[0] else time + later
        elif step.reason == MAXLEN and mortal.fate == PUSHED and step is steps[0]:
            time = mortal.died_ns
        elif step.reason == MAXLEN:
            time = _pushed(mortal, place, graves) if step is steps[0] and not mortal.deaths else 0
        else:
            time = mortal.died_ns
        if not time:
            return 0
    return time


def _expired(mortal: Mortal, place: Place, graves: Graves) -> int:
    """In its first queue, where nobody has taken it, and all live equally long, so that none stands in its way."""
    others = [graves.messages.get(one) for one in place.came]
    if (
        mortal.seen
        or LEVELS in place.arguments
        or any(one is None or one.expiration != mortal.expiration for one in others)
    ):
        return 0
    lives = [place.number(TTL), int(mortal.expiration) if (mortal.expiration or "").isdecimal() else None]  # type: ignore[arg-type]
    known = [life for life in lives if life is not None]
    return mortal.certain_ns + min(known) * MILLISECOND if mortal.certain_ns and known else 0


def _pushed(mortal: Mortal, place: Place, graves: Graves) -> int:
    """When so many had come behind it that there was no room for it any more."""
    most, others = place.number(LENGTH), [graves.messages.get(one) for one in place.came]
    if (
        most is None
        or LEVELS in place.arguments
        or any(one is None or one.seen or not one.certain_ns for one in others)
    ):
        return 0
    behind = sorted(one.certain_ns for one in others if one is not None and one.sent > mortal.sent)
    return behind[most - 1] if 0 < most <= len(behind) else 0
