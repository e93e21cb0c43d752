"""In which way a queue is declared, filled, emptied and removed, is found out first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import codec
from codec import methods as m
from codec.errors import ReplyCode
from conformance.catalogue.profiles import load
from conformance.catalogue.rules.features import AUTO_DELETE, DELETE, GET, GETS, LARGE, PASSIVE, TRANSIENT
from conformance.cli.doctor import STAYS, examine
from conformance.drive.drivers.target import Target
from conformance.drive.probing.offers import adapted
from conformance.drive.probing.probes import Inquiry
from conformance.drive.probing.questioned import LOST, OFFERED, REFUSED, SILENT, WRONG, Answer
from reference_broker import ReferenceBroker
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import AmqpException, ChannelException, ConnectionException
from reference_broker.core.parts import HANDLERS

PATIENCE = 0.3


def refusing(kind: type[AmqpException], code: ReplyCode = ReplyCode.NOT_IMPLEMENTED) -> Callable[..., None]:
    def handler(channel: Channel, method: Any) -> None:
        raise kind(code, "not here")

    return handler


def drop(channel: Channel, method: Any) -> None:
    channel.connection.finish()


def ignore(channel: Channel, method: Any) -> None:
    pass


WAYS = [
    (refusing(ChannelException), REFUSED),
    (refusing(ConnectionException), REFUSED),
    (drop, LOST),
    (ignore, SILENT),
]
Lack = Callable[..., None]


@pytest.fixture
def lack(monkeypatch: pytest.MonkeyPatch) -> Lack:
    """The broker does this about these methods."""

    def without(how: Callable[..., None], *methods: type[codec.Method]) -> None:
        for method in methods:
            monkeypatch.setitem(HANDLERS, method, how)

    return without


def answers(patience: float = PATIENCE) -> dict[str, Answer]:
    with ReferenceBroker() as broker:
        asked = Inquiry(Target.parse(broker.url), patience, stranger=True).answers()
    return {one.feature: one for one in asked}


def test_who_makes_the_queue_that_it_is_to_look_for_cannot_be_asked_whether_it_is_there(lack: Lack) -> None:
    declare = HANDLERS[m.QueueDeclare]

    def careless(channel: Channel, method: m.QueueDeclare) -> None:
        method.passive = False
        declare(channel, method)

    lack(careless, m.QueueDeclare)
    assert answers()[PASSIVE] == Answer(PASSIVE, WRONG, "it makes the queue that it is to look for")


OTHERS = ("basic.nack", "confirm.select", "expiration", "x-expires", "x-max-length", LARGE, AUTO_DELETE, TRANSIENT)


@pytest.mark.parametrize(("how", "state"), WAYS)
def test_without_gets_consumers_show_what_is_offered(how: Callable[..., None], state: str, lack: Lack) -> None:
    lack(how, m.BasicGet)
    found = answers()
    assert found[GET].state == state
    assert GETS not in found
    assert {one: found[one].state for one in OTHERS} == dict.fromkeys(OTHERS, OFFERED)
    fitting = adapted(load("documented"), list(found.values()), known=False)
    assert (GET in fitting.refused, GET in fitting.shunned) == (state == REFUSED, state != REFUSED)


def test_who_refuses_gets_by_another_code_is_asked_for_them_by_the_rules_about_them(lack: Lack) -> None:
    lack(refusing(ChannelException, ReplyCode.PRECONDITION_FAILED), m.BasicGet)
    fitting = adapted(load("documented"), list(answers().values()), known=False)
    assert GET in fitting.shunned


@pytest.mark.parametrize("how", [one for one, _ in WAYS])
def test_consumers_that_cannot_be_cancelled_stay(how: Callable[..., None], lack: Lack) -> None:
    lack(how, m.BasicGet, m.BasicCancel)
    found = answers()
    assert GET in found
    assert {one: found[one].state for one in OTHERS} == dict.fromkeys(OTHERS, OFFERED)


@pytest.mark.parametrize(("how", "state"), WAYS)
def test_queues_that_cannot_be_deleted_stay(
    how: Callable[..., None], state: str, lack: Lack, monkeypatch: pytest.MonkeyPatch
) -> None:
    lack(how, m.QueueDelete)
    monkeypatch.setattr("conformance.cli.doctor._PATIENCE", PATIENCE)
    with ReferenceBroker() as broker:
        diagnosis = examine(Target.parse(broker.url))
    assert diagnosis.failed is None
    assert diagnosis.passed[-1] == "queues"
    assert diagnosis.advice[-1] == STAYS
    assert any(line.startswith(f"{DELETE}: {state}") for line in diagnosis.offers)
    found = answers()
    assert {one: found[one].state for one in OTHERS} == dict.fromkeys(OTHERS, OFFERED)
