"""A first delivery is not shown to functions that speak of later ones alone. Would they have said anything?"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from benchmarks.application import ROUND, perform
from conformance.catalogue import profiles
from conformance.history.events import Event
from conformance.oracle.model.facts import Delivered, FirstDelivery
from conformance.oracle.monitors import judge, table


def history(kind: str, seed: int) -> list[Event]:
    """An application at work, told in full."""
    return [
        event._replace(connection=event.connection.replace(ROUND, str(at)))
        for at, part in enumerate(perform(kind, seed, 2, 40))
        for event in part
    ]


def damaged(events: list[Event], seed: int) -> Iterator[Event]:
    """The same by a broker that does wrong now and then."""
    chance = random.Random(seed)
    for event in events:
        fate = chance.random() if event.method in ("basic.deliver", "basic.ack") else 1.0
        if fate > 0.02:
            yield event
        elif fate < 0.01:
            yield from (event, event)
        elif event.method == "basic.deliver":
            yield event._replace(flags="" if event.flags else "redelivered")


@pytest.mark.parametrize("kind", ["shared", "classic", "quorum"])
def test_nothing_is_missed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profile, lawful = profiles.load("documented"), history(kind, 0)
    histories = [lawful, *([*damaged(lawful, seed)] for seed in range(8))]
    short = [judge(events, profile) for events in histories]
    monkeypatch.setitem(table.BY_FACT, FirstDelivery, table.BY_FACT[Delivered])
    assert short == [judge(events, profile) for events in histories]
    assert not short[0].findings
    assert sum(len(one.findings) for one in short) > 20


def test_most_functions_are_spared() -> None:
    assert len(table.BY_FACT[FirstDelivery]) * 3 < len(table.BY_FACT[Delivered]) * 2
