from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from codec import methods as m
from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.stage import Stage
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker


@pytest.fixture
def stage() -> Iterator[Stage]:
    with ReferenceBroker() as broker:
        made = Stage(Target.parse(broker.url), profiles.load("documented"), Recorder("run", "b"), "scene")
        yield made
        made.cleanup()


def test_what_is_deleted_is_nobodys_any_more(stage: Stage) -> None:
    first, second, exchange = stage.queue(), stage.queue(), stage.exchange()
    channel = stage.channel()
    with stage.batch():
        channel.delete(first)
        channel.delete_exchange(exchange)
        channel.delete(second)
    stage.quiesce()
    assert list(stage.belongings.queues) == []
    assert list(stage.belongings.exchanges) == []


def test_what_cannot_be_deleted_stays(stage: Stage) -> None:
    used, gone = stage.queue(), stage.queue()
    stage.channel().consume(used)
    stage.quiesce()
    channel = stage.channel()
    channel.send(m.QueueDelete(channel.number, queue=used, if_unused=True))
    stage.quiesce()
    stage.reopen(channel)
    channel.delete(gone)
    stage.quiesce()
    assert list(stage.belongings.queues) == [used]


def test_what_is_declared_again_after_its_deletion_is_to_be_removed_again(stage: Stage) -> None:
    queue, connection = stage.queue(), stage.connection
    deleter = stage.channel(connection=stage.connect("deleting"))
    with stage.batch():
        deleter.delete(queue)
        deleter.declare(queue)
    stage.quiesce()
    assert stage.belongings.queues == {queue: connection}


@pytest.mark.parametrize("at_once", [True, False])
def test_an_exchange_that_is_declared_again_is_to_be_removed_again(stage: Stage, at_once: bool) -> None:
    exchange, channel = stage.exchange(), stage.channel()
    with stage.batch() if at_once else contextlib.nullcontext():
        channel.delete_exchange(exchange)
        if not at_once:
            stage.quiesce()
            assert exchange not in stage.belongings.exchanges
        channel.declare_exchange(exchange, "direct")
    stage.quiesce()
    assert list(stage.belongings.exchanges) == [exchange]
    channel.delete_exchange(exchange)
    stage.quiesce()
    assert not stage.belongings.exchanges


def test_a_sweep_removes_what_is_left(stage: Stage) -> None:
    queue = stage.queue()
    stage.belongings.sweep(stage.guard, stage.target, 5)
    assert list(stage.belongings.queues) == []
    channel = stage.channel()
    channel.declare(queue, passive=True)
    stage.quiesce()
    assert stage.events[-1].method == "channel.close-ok"
