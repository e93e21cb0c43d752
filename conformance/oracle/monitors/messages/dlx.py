"""DLX: dead letters: why a message became one, where it went, and what it tells of that.

What a delivery shows is compared with the way that the message must have gone since it was seen last. `deadletters` has
the rest: `deaths` knows the ways, `dying` follows what brings a message onto one, and `due` judges what never comes.
"""

from __future__ import annotations

from typing import Any

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.doubts import races
from conformance.oracle.model.facts import Passed
from conformance.oracle.monitors.contents.content import (
    CHANGED_BY_DEATH,
    DEAD_LETTER,
    HEADERS,
    changed,
    retyped,
    types_of,
)
from conformance.oracle.monitors.messages.deadletters.deaths import (
    ACKED,
    EXPIRED,
    GIVEN_UP,
    HELD,
    MAXLEN,
    MILLISECOND,
    REJECTED,
    RETURNED,
    DeadLettering,
    Death,
    DeathStep,
    TrackedMessage,
    after,
    names_in,
    properties,
    table_of,
    words,
)
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows

OF_REASON = {REJECTED: "DLX-001", EXPIRED: "DLX-002", MAXLEN: "DLX-003", RETURNED: "DLX-004"}
ADDRESS, COUNTS, FIELDS, FIRST, EXPIRATION = "DLX-005", "DLX-006", "DLX-007", "DLX-008", "DLX-009"
COPIES, ENDLESS, ON_AND_ON, SETTLED = "DLX-010", "DLX-011", "DLX-012", "DLX-013"
AT_COMMIT = "TX-009"
SECONDS, TIMESTAMP = 2, "T"
"""What the broker's wall clock may differ by; and the letter of its type."""
STAYS = "TTL-004"
SEEN = (
    *OF_REASON.values(),
    STAYS,
    ADDRESS,
    COUNTS,
    FIELDS,
    FIRST,
    EXPIRATION,
    COPIES,
    ENDLESS,
    ON_AND_ON,
    SETTLED,
    DEAD_LETTER,
    AT_COMMIT,
)


@follows("basic.deliver", "basic.get-ok", rules=SEEN)
def came(fact: Passed, notes: Notes) -> None:
    """It is seen in a queue."""
    event, lettering = fact.event, notes.memory(DeadLettering)
    tracked = lettering.messages.get(event.message or "")
    found = source_of(fact) if tracked is not None else None
    if tracked is None:
        return
    if found is None:
        lettering.messages[event.message or ""] = None
        return
    queue, automatic = found
    content = properties(event.arguments)
    deaths = table_of(content.get("headers") or {})
    if not tracked.over and (deaths or tracked.deaths or queue != tracked.queue):
        _judge(event, tracked, queue, content, lettering, notes)
    tracked.sightings = tracked.sightings + 1 if queue == tracked.queue else 1
    tracked.seen.add(queue)
    tracked.seen_ns = event.time_ns
    tracked.queue, tracked.exchange, tracked.key = queue, event.exchange or "", event.routing_key or ""
    tracked.deaths = tuple(_death(one) for one in deaths)
    tracked.fate, tracked.died_ns = (ACKED, event.time_ns) if automatic else (HELD, 0)
    tracked.settling = ("MODE-002",) if automatic else ()
    tracked.committed, tracked.returned_ns = 0, 0
    tracked.holder, tracked.delivered = fact.connection.channels.get(event.channel), event.seq


def source_of(fact: Passed) -> tuple[str, bool] | None:
    """The queue that it comes from, and whether it is settled by that; None: that is not known, or the client may have
    settled it before."""
    event = fact.event
    channel = fact.connection.channels.get(event.channel)
    if channel is None or channel.state != OPEN or not fact.connection.usable():
        return None
    if races.may_be_settled(channel, event.delivery_tag or 0):
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


def _judge(
    event: Event, tracked: TrackedMessage, queue: str, content: Any, lettering: DeadLettering, notes: Notes
) -> None:
    """A dead letter: what it tells, beside what has happened."""
    headers = content.get("headers") or {}
    told = tuple(_death(one) for one in table_of(headers))
    if tracked.undecided():
        tracked.over = True
        return
    if queue == tracked.queue and told == tracked.deaths and tracked.fate != GIVEN_UP:
        if tracked.fate == ACKED and tracked.died_ns and lettering.alone(tracked):
            tracked.over = True
            allowed = "not again: it was acknowledged"
            notes.find(SETTLED, event, allowed, words(told), tracked.sent, unless=tracked.settling)
        return  # it was given back
    if lettering.alone(tracked) and not _goes_on(tracked.deaths, told):
        tracked.over = True
        allowed = f"{words(tracked.deaths)}, and perhaps more"
        notes.find(COUNTS, event, allowed, words(told), tracked.sent)
        return
    if tracked.fate == ACKED and tracked.died_ns and told != tracked.deaths:
        tracked.over = True
        allowed = "no dead letter of what was acknowledged"
        notes.find(SETTLED, event, allowed, words(told), tracked.sent, unless=tracked.settling)
        return
    rejected = told[:1] and told[0][:2] == (tracked.queue, REJECTED)
    if rejected and lettering.alone(tracked) and lettering.kept_back(tracked):
        tracked.over = True
        allowed = "no dead letter: its transaction is not committed"
        notes.find(AT_COMMIT, event, allowed, words(told), tracked.sent)
        return
    if all(reason != REJECTED for _, reason, _ in told) and any(name == queue for name, _, _ in told):
        tracked.over = True
        allowed = f"not in {queue} again: it has died there, and nobody has rejected it"
        notes.find(ENDLESS, event, allowed, words(told), tracked.sent)
        return
    if lettering.by_copy(tracked, queue) and told == ((tracked.queue, REJECTED, 1),):
        notes.exercise(COPIES)
    steps = lettering.way(tracked, queue, event.time_ns)
    if not steps or not told or lettering.goes_round(queue, event.routing_key or ""):
        if steps and lettering.alone(tracked):
            _untold(event, tracked, steps, headers, notes)
        tracked.over = True
        return
    _age(event, tracked, steps, lettering, notes)
    if _list(event, tracked, steps, told, queue, notes):
        _first(event, tracked, steps, headers, notes)
    _address(event, steps[-1], lettering, notes)
    _fields(event, tracked, steps, table_of(headers), notes)
    _content(event, tracked, steps, content, notes)
    _unchanged(event, tracked, notes)


def _goes_on(before: tuple[Death, ...], told: tuple[Death, ...]) -> bool:
    """Are all deaths still told, none of them less often?"""
    counts = {one[:2]: one[2] for one in told}
    return all(counts.get(one[:2], 0) >= one[2] for one in before)


def _age(event: Event, tracked: TrackedMessage, steps: list[DeathStep], lettering: DeadLettering, notes: Notes) -> None:
    """Where it has expired in several queues, one after the other, its time began anew in each of them."""
    early = lettering.not_before(tracked, steps) - event.time_ns
    if early > 0 and len(steps) > 1 and all(step.reason == EXPIRED for step in steps):
        allowed = f"{tracked.queue} and the next queues have it for as long as it has to live in each"
        each = early // MILLISECOND // len(steps) + 1
        notes.find(STAYS, event, allowed, f"out of each of {len(steps)} queues, {each} ms too early", tracked.sent)


def _untold(event: Event, tracked: TrackedMessage, steps: list[DeathStep], headers: Any, notes: Notes) -> None:
    """It has come by this way alone, and tells of no death. What its publisher calls so may stand in the way."""
    publication = tracked.publication
    if tracked.deaths or "x-death" in headers or publication is None or "x-death" in publication.content:
        return
    expected = after(tracked.deaths, steps)
    notes.find(OF_REASON[expected[0][1]], event, words(expected[:1]), "no x-death", tracked.sent)


def _list(
    event: Event, tracked: TrackedMessage, steps: list[DeathStep], told: tuple[Death, ...], queue: str, notes: Notes
) -> bool:
    """Does it tell of these deaths? One by a rejection may be that of what should have been given back."""
    expected = after(tracked.deaths, steps)
    if told[0][:2] != expected[0][:2] and {*told} != {*expected}:
        unless = ("ACK-012", "RQ-013") if told[0][1] == REJECTED else ()
        notes.find(OF_REASON[expected[0][1]], event, words(expected[:1]), words(told[:1]), tracked.sent, unless=unless)
        return False
    notes.exercise(OF_REASON[expected[0][1]])
    if told != expected:
        notes.find(COUNTS, event, words(expected), words(told), tracked.sent)
    elif len(expected) > 1:
        notes.exercise(COUNTS)
    if queue in tracked.seen:
        notes.exercise(ON_AND_ON)
    return True


def _address(event: Event, last: DeathStep, lettering: DeadLettering, notes: Notes) -> None:
    place = lettering.places[last.queue]
    expected = place.exchange, place.key if place.key is not None else last.keys[0]
    if (event.exchange, event.routing_key) == expected:
        notes.exercise(ADDRESS)
    else:
        notes.find(ADDRESS, event, f"exchange and key {expected!r}", f"{(event.exchange, event.routing_key)!r}")


def _fields(event: Event, tracked: TrackedMessage, steps: list[DeathStep], told: list[Any], notes: Notes) -> None:
    """The latest death, where it is the first of its kind."""
    last, newest = steps[-1], told[0]
    if newest.get("count") != 1 or (last.queue, last.reason) != (newest.get("queue"), newest.get("reason")):
        return
    original = tracked.expiration if len(steps) == 1 and not tracked.deaths else None
    expected = {"exchange": last.exchange, "routing-keys": [*last.keys], "original-expiration": original}
    wrong = [name for name, value in expected.items() if newest.get(name) != value]
    if len(last.keys) > 1 and (len(steps) > 1 or tracked.deaths):
        wrong = [name for name in wrong if name != "routing-keys"]
    time = newest.get("time")
    low, high = tracked.sent_ns // 10**9 - SECONDS, event.time_ns // 10**9 + SECONDS
    if not isinstance(time, int):
        wrong.append("time")
    kind = _kind_of_time(event)
    if not wrong and kind not in (None, TIMESTAMP):
        notes.find(FIELDS, event, f"time of type {TIMESTAMP}, a timestamp", f"time of type {kind}", tracked.sent)
    elif wrong:
        name = wrong[0]
        found = f"{name} {newest.get(name)!r}"
        notes.find(FIELDS, event, f"{name} {expected.get(name, (low, high))!r}", found, tracked.sent)
    else:
        notes.exercise(FIELDS)


def _kind_of_time(event: Event) -> str | None:
    """The letter of the type that the time of the latest death has, where that is recorded."""
    kinds = types_of(event.arguments).get("x-death")
    latest = kinds[0] if isinstance(kinds, list) and kinds else None
    kind = latest.get("time") if isinstance(latest, dict) else None
    return kind if isinstance(kind, str) else None


def _first(event: Event, tracked: TrackedMessage, steps: list[DeathStep], headers: Any, notes: Notes) -> None:
    """Of its very first death the headers go on to tell."""
    if tracked.first is None and not tracked.deaths:
        tracked.first = steps[0].queue, steps[0].reason, steps[0].exchange
    if tracked.first is None:
        return
    told = tuple(headers.get(f"x-first-death-{name}") for name in ("queue", "reason", "exchange"))
    if told == tracked.first:
        notes.exercise(FIRST)
    else:
        notes.find(FIRST, event, f"x-first-death-* {tracked.first!r}", f"{told!r}", tracked.sent)


def _unchanged(event: Event, tracked: TrackedMessage, notes: Notes) -> None:
    """All else is as it was published, also where no client has rejected it."""
    publication = tracked.publication
    if publication is None or tracked.fate == GIVEN_UP:
        return
    change = changed(publication, event, except_for=CHANGED_BY_DEATH) or retyped(publication.content, event.arguments)
    if change is not None:
        allowed = f"{publication.message} {change[0]}, as it was published"
        notes.find(DEAD_LETTER, event, allowed, f"{event.method} {change[1]}", publication.seq)
    elif HEADERS in publication.content:
        notes.exercise(DEAD_LETTER)


def _content(event: Event, tracked: TrackedMessage, steps: list[DeathStep], content: Any, notes: Notes) -> None:
    """What is taken away."""
    headers = content.get("headers") or {}
    if tracked.expiration is not None and not tracked.deaths:
        if content.get("expiration") is None:
            notes.exercise(EXPIRATION)
        else:
            notes.find(EXPIRATION, event, "no expiration", f"expiration {content['expiration']!r}", tracked.sent)
    rekeyed = tracked.rekeyed or any(step.rekeyed for step in steps)
    tracked.rekeyed = rekeyed
    if "BCC" in headers:
        notes.find(COPIES, event, "no header BCC", f"BCC {headers['BCC']!r}", tracked.sent)
    elif tracked.carbon and not rekeyed and names_in(headers.get("CC")) != tracked.carbon:
        notes.find(COPIES, event, f"CC {[*tracked.carbon]!r}", f"CC {headers.get('CC')!r}", tracked.sent)
    elif tracked.carbon and rekeyed and "CC" in headers:
        notes.find(COPIES, event, "no header CC beside another key", f"CC {headers['CC']!r}", tracked.sent)
    elif tracked.carbon or tracked.blind:
        notes.exercise(COPIES)
