"""What tests of machines share: a broker and a world on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines.campaign import Campaign
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.world import World
from conformance.drive.stage import Stage
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker
from tests.support.worlds import Until


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with ReferenceBroker() as broker:
        yield Target.parse(broker.url)


@pytest.fixture
def world(target: Target) -> Iterator[World]:
    """Two queues, on which the test must do nothing that is not lawful."""
    yield from played(target, Shape(queues=2))


@pytest.fixture
def wide(target: Target) -> Iterator[World]:
    """Likewise, ten times as wide, and each channel on a connection of its own."""
    yield from played(target, Shape(wide=10, apart=True))


def played(target: Target, shape: Shape) -> Iterator[World]:
    stage = Stage(target, profiles.load("documented"), Recorder("run", "reference"), "machine")
    yield World(stage, shape)
    assert stage.finish().findings == []
    stage.cleanup()


@pytest.fixture
def until(monkeypatch: pytest.MonkeyPatch) -> Until:
    """What a search looks for after that takes it long, and shows nothing."""
    settle = Campaign.settle_round

    def ends(rule: str) -> None:
        def settled(self: Campaign) -> None:
            settle(self)
            self.over = self.over or any(one.startswith(rule) for one in self.outcome.broken)

        monkeypatch.setattr(Campaign, "settle_round", settled)

    return ends
