"""What a stranger's answers to questions cannot show is not promised, and what can be seen in another way is."""

from __future__ import annotations

import pytest

from codec import methods as m
from codec.errors import ReplyCode
from conformance.drive.drivers.target import Target
from conformance.drive.probing.probes import Inquiry
from conformance.drive.probing.questioned import OFFERED, REFUSED
from reference_broker import ReferenceBroker
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import raised
from reference_broker.core.parts import HANDLERS

PATIENCE = 0.3


def test_what_cannot_be_seen_is_not_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """This broker does not answer a get, so it may not know the arguments."""
    monkeypatch.setitem(HANDLERS, m.BasicGet, lambda channel, method: None)
    monkeypatch.setattr("conformance.drive.probing.probes.find_a_way", lambda broker: [])
    with ReferenceBroker() as broker:
        found = {one.feature: one for one in Inquiry(Target.parse(broker.url), PATIENCE, stranger=True).answers()}
    for name in ("x-expires", "x-dead-letter-exchange", "alternate-exchange", "x-max-length"):
        assert (found[name].state, found[name].words[:33]) == (REFUSED, "that it has an effect does not sh")


def test_who_serves_consumers_of_any_queue_offers_no_direct_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    consume = HANDLERS[m.BasicConsume]

    def any_queue(channel: Channel, method: m.BasicConsume) -> None:
        HANDLERS[m.QueueDeclare](channel, m.QueueDeclare(1, queue=method.queue, durable=True, no_wait=True))
        consume(channel, method)

    monkeypatch.setitem(HANDLERS, m.BasicConsume, any_queue)
    with ReferenceBroker() as broker:
        found = {one.feature: one for one in Inquiry(Target.parse(broker.url), PATIENCE, stranger=True).answers()}
    assert found["direct reply-to"].state == REFUSED


def test_who_fails_over_an_argument_alone_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    get = HANDLERS[m.BasicGet]

    def falls_silent(channel: Channel, method: m.BasicGet) -> None:
        queue = channel.vhost.queues.get(method.queue)
        if queue is None or queue.settings.max_length is None:
            get(channel, method)

    monkeypatch.setitem(HANDLERS, m.BasicGet, falls_silent)
    with ReferenceBroker() as broker:
        found = {one.feature: one for one in Inquiry(Target.parse(broker.url), PATIENCE, stranger=True).answers()}
    assert (found["x-max-length"].state, found["x-message-ttl"].state) == (OFFERED, OFFERED)


def test_who_compares_flags_when_a_queue_is_looked_for_is_asked_with_those_that_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    declare = HANDLERS[m.QueueDeclare]

    def comparing(channel: Channel, method: m.QueueDeclare) -> None:
        queue = channel.vhost.queues.get(method.queue)
        if method.passive and queue is not None and not method.durable:
            raise raised(ReplyCode.PRECONDITION_FAILED, "declared with different flags")
        declare(channel, method)

    monkeypatch.setitem(HANDLERS, m.QueueDeclare, comparing)
    with ReferenceBroker() as broker:
        found = {one.feature: one for one in Inquiry(Target.parse(broker.url), PATIENCE).answers()}
    assert found["passive queue.declare"].state == OFFERED
