"""The word that a capture shows all clients: it makes findings of doubts, and of nothing that it does not cover."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from benchmarks import traffic
from codec import methods as m
from conformance.catalogue import profiles
from conformance.history import events as ev
from conformance.history.events import Event
from conformance.oracle.verdicts import Judgement
from reports.judging.world import Closed, Torn, local
from reports.pipeline.check import fold_one
from reports.pipeline.ingest import to_events

FLAGLESS = "RQ-008"
PROFILE = profiles.load("documented")


def captured(events: Iterable[Event]) -> list[Event]:
    """The same history as an observer on the wire has it."""
    own = [event for event in events if event.kind != ev.SCENE]
    first = local(own[0], ev.OBSERVED, "", by="capture", others=True, ordered=True)
    return [event._replace(seq=number) for number, event in enumerate([first, *own], 1)]


def certain(judgement: Judgement) -> set[str]:
    return {finding.rule for finding in judgement.findings if finding.certain}


def told_whole(events: list[Event]) -> Judgement:
    """As `trace check --whole` judges it."""
    return fold_one(events, PROFILE, Closed(Torn.of(events).upto))


def unmarked(wire: Any, before: Callable[[Any], None] | None = None) -> list[Event]:
    """A message comes a second time after its channel was closed, and is not marked as redelivered."""
    one = wire("h")
    one.begins()
    if before is not None:
        before(one)
    one.carries(">", m.BasicPublish(1, 0, "", "q"), "m1")
    one.says(">", m.BasicGet(1, 0, "q"))
    one.carries("<", m.BasicGetOk(1, 1, False, "", "q", 0), "m1")
    one.says(">", m.BasicNack(1, 1, False, True), m.BasicGet(1, 0, "q"))
    one.carries("<", m.BasicGetOk(1, 2, False, "", "q", 0), "m1")
    one.says(">", m.BasicAck(1, 2, False))
    one.ends()
    return captured(one.events)


def test_a_doubt_becomes_a_finding(wire: Any) -> None:
    events = unmarked(wire)
    assert FLAGLESS not in certain(fold_one(events, PROFILE))
    assert certain(told_whole(events)) == {FLAGLESS}


def bound(one: Any) -> None:
    one.says(">", m.QueueBind(1, 0, "q", "amq.topic", "a.*"))
    one.says("<", m.QueueBindOk(1))


def published(one: Any) -> None:
    one.carries(">", m.BasicPublish(1, 0, "amq.topic", "a.b"), "other")


def dead_lettered(one: Any) -> None:
    one.says(">", m.QueueDeclare(1, 0, "r", arguments=[("x-dead-letter-exchange", "S", b"amq.topic")]))
    one.says("<", m.QueueDeclareOk(1, "r", 0, 0))


def refused(one: Any) -> None:
    one.says(">", m.ChannelOpen(2), m.ExchangeDeclare(2, 0, "x", "fanout"))
    one.says("<", m.ChannelOpenOk(2), m.ChannelClose(2, 406, "it is a topic exchange", 40, 10))


def led_elsewhere(one: Any) -> None:
    one.says(">", m.ExchangeDeclare(1, 0, "x", "fanout"), m.ExchangeBind(1, 0, "x", "other", ""))
    one.says("<", m.ExchangeDeclareOk(1), m.ExchangeBindOk(1))


def with_alternate(one: Any) -> None:
    one.says(">", m.ExchangeDeclare(1, 0, "x", "fanout", arguments=[("alternate-exchange", "S", b"other")]))
    one.says("<", m.ExchangeDeclareOk(1))


def lost(one: Any) -> None:
    one.local(ev.GAP, direction="<", octets=None, reason="test")


@pytest.mark.parametrize("before", [bound, published, dead_lettered, refused, led_elsewhere, with_alternate, lost])
def test_what_the_word_does_not_cover_stays_in_doubt(wire: Any, before: Callable[[Any], None]) -> None:
    assert FLAGLESS not in certain(told_whole(unmarked(wire, before)))


@pytest.mark.parametrize("queue", ["q", "r"])
def test_where_exchanges_of_the_capture_lead_is_judged(wire: Any, queue: str) -> None:
    """It shows the exchange from its declaration on: what is published goes to q, which is bound, and not to r."""
    one = wire("h")
    one.begins()
    one.says(">", m.ExchangeDeclare(1, 0, "x", "fanout"), m.QueueDeclare(1, 0, "q"), m.QueueDeclare(1, 0, "r"))
    one.says("<", m.ExchangeDeclareOk(1), m.QueueDeclareOk(1, "q", 0, 0), m.QueueDeclareOk(1, "r", 0, 0))
    one.says(">", m.QueueBind(1, 0, "q", "x"), m.ConfirmSelect(1))
    one.says("<", m.QueueBindOk(1), m.ConfirmSelectOk(1))
    one.carries(">", m.BasicPublish(1, 0, "x", "any"), "m1")
    one.says("<", m.BasicAck(1, 1, False))
    one.says(">", m.BasicGet(1, 0, queue, True))
    one.carries("<", m.BasicGetOk(1, 1, False, "x", "any", 0), "m1")
    one.ends()
    events = captured(one.events)
    told, open_ = told_whole(events), fold_one(events, PROFILE)
    assert certain(open_) == set()
    assert open_.exercised["ROUTE-002"] == 0
    assert certain(told) == (set() if queue == "q" else {"ROUTE-015"})
    assert told.exercised["ROUTE-002" if queue == "q" else "ROUTE-015"] == 1


def test_of_messages_that_an_exchange_led_nothing_is_claimed(wire: Any) -> None:
    """To a queue go, in turn, messages of their own and such as an exchange leads there, and so they come out."""
    one = wire("h")
    one.begins()
    bound(one)
    one.says(">", m.ConfirmSelect(1))
    one.says("<", m.ConfirmSelectOk(1))
    for number in range(1, 9):
        place = ("amq.topic", "a.b") if number % 2 else ("", "q")
        one.carries(">", m.BasicPublish(1, 0, *place), f"m{number}")
        one.says("<", m.BasicAck(1, number, False))
    one.says(">", m.BasicConsume(1, 0, "q", "c"))
    one.says("<", m.BasicConsumeOk(1, "c"))
    for number in range(1, 9):
        place = ("amq.topic", "a.b") if number % 2 else ("", "q")
        one.carries("<", m.BasicDeliver(1, "c", number, False, *place), f"m{number}")
        one.says(">", m.BasicAck(1, number, False))
    one.ends()
    assert certain(told_whole(captured(one.events))) == set()


@pytest.mark.parametrize("kind", ["classic", "shared", "quorum"])
def test_lawful_traffic_of_many_clients_is_accused_of_nothing(kind: str) -> None:
    """Publishers with confirms, workers that settle and nack, cancels and reconnects: whole, from its middle, and with
    a part of it missing."""
    played = traffic.batches(traffic.History("h", kind, 2_000))
    events = captured(event for batch in played for event in to_events(batch))
    told, open_ = told_whole(events), fold_one(events, PROFILE)
    assert certain(told) == certain(open_) == set()
    assert told.exercised["RQ-006"] > open_.exercised["RQ-006"]
    for begin in range(200, len(events), 557):
        rest = list(joined(events, begin))
        assert certain(told_whole(rest)) == set(), begin


def joined(events: list[Event], begin: int) -> Iterable[Event]:
    """From there on, as a capture that begins there."""
    known: set[str] = set()
    seq = 1
    yield events[0]._replace(seq=seq)
    for event in events[begin:]:
        if event.connection and event.connection not in known:
            known.add(event.connection)
            if event.kind != ev.OPEN:
                yield local(event, ev.JOINED, event.connection, reason="test")._replace(seq=(seq := seq + 1))
        yield event._replace(seq=(seq := seq + 1))


def test_the_word_is_put_in_place_of_the_doubt_once(wire: Any) -> None:
    world = Closed()
    said = [one for event in unmarked(wire, published) for one in world.judge_in_order(event)]
    observed = [json.loads(event.arguments) for event in said if event.kind == ev.OBSERVED]
    assert observed == [
        {"by": "capture", "others": False, "ordered": True},
        {"by": "user", "others": True, "ordered": True},
    ]
